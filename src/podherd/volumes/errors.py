"""What a volume may fail with."""

from podherd.errors import PodherdError


class VolumeError(PodherdError):
    """A volume cannot be given to the pod; `thing` names the volume or path.

    words: the kubelet's own sentence where it has one, for events and status that tools match; else all of the error.
    """

    def __init__(self, thing: str, reason: str, mend: str = "", words: str = "") -> None:
        super().__init__(thing, reason, mend)
        self.words = words or str(self)
