"""Which attachable volumes the shard's pods use, or still hold: the cluster detaches none of them (section 7)."""

from collections.abc import Callable, Iterable, Mapping

from podherd.model.settings import Settings
from podherd.volumes.csi import places


class InUse:
    """Lives in the actor's loop. tell: hears the names each time that they change, and first when `begin` was called.

    A name is a volume's in the node's status, `kubernetes.io/csi/<driver>^<handle>`.
    """

    def __init__(self, tell: Callable[[tuple[str, ...]], None]) -> None:
        self._tell = tell
        self._of: dict[str, set[str]] = {}
        self._told: tuple[str, ...] | None = None
        self._begun = False

    def begin(self, held: Mapping[str, Iterable[str]]) -> None:
        """What pods held before the start: uid to names. Before, nothing is told, since it would be less."""
        self._begun = True
        for uid, names in held.items():
            self._of.setdefault(uid, set()).update(names)
        self._settle()

    def use(self, uid: str, names: Iterable[str]) -> None:
        """The pod uses these too, until it is dropped: a claim that is gone meanwhile takes no volume away."""
        if fresh := set(names) - self._of.get(uid, set()):
            self._of.setdefault(uid, set()).update(fresh)
            self._settle()

    def drop(self, uid: str) -> None:
        """The pod has given everything back."""
        if self._of.pop(uid, None):
            self._settle()

    def again(self) -> None:
        """Whoever is told knows nothing any more."""
        self._told = None
        self._settle()

    def _settle(self) -> None:
        names = tuple(sorted({name for names in self._of.values() for name in names}))
        if self._begun and names != self._told:
            self._told = names
            self._tell(names)


def held_before(settings: Settings, uids: Iterable[str]) -> dict[str, list[str]]:
    """By pod, the volumes that its directory holds, published or half so. Blocking.

    Those of drivers that attach nothing are among them: that is known to the API alone, and does no harm.
    """
    held: dict[str, list[str]] = {}
    for uid in uids:
        found = [places.held(each) for each in places.directories(str(settings.pod_dir(uid)))]
        if names := [each.attached_as for each in found if each is not None and not each.ephemeral]:
            held[uid] = names
    return held
