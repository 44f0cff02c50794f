"""What a volume may fail with."""

from podherd.errors import PodherdError


class VolumeError(PodherdError):
    """A volume cannot be given to the pod; `thing` names the volume or path.

    A file's name may be any bytes; in the error's text those that are no UTF-8 stand escaped, as it goes over the wire.
    words: the kubelet's own sentence where it has one, for events and status that tools match; else all of the error.
    said: the whole text of the FailedMount event where it is not `MountVolume.SetUp failed for volume…`, else empty.
    waits: nothing is wrong yet, somebody else does his part; users are told when that takes long.
    """

    def __init__(
        self, thing: str, reason: str, mend: str = "", words: str = "", said: str = "", *, waits: bool = False
    ) -> None:
        super().__init__(_printable(thing), _printable(reason), mend)
        self.words = _printable(words) or str(self)
        self.said = _printable(said)
        self.waits = waits


def _printable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
