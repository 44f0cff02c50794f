"""One pod in the PLEG: what the lists say of it, what was told of it, and what is under way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from podherd.machines.kept_ips import with_kept_ips
from podherd.machines.times import NEVER_AT
from podherd.native.changes import ABSENT, Change
from podherd.wire.observed import Observed


def states_of(seen: Observed) -> dict[str, str]:
    """State by id, in the words of the relist table."""
    states = {sandbox.id: "ready" if sandbox.ready else "notready" for sandbox in seen.sandboxes}
    states.update((container.id, container.state) for container in seen.containers)
    return states


@dataclass(slots=True, eq=False)
class Lane:
    """One pod uid. Times are the shell's clock.

    table: state by id as of the last relist. located, located_at: the same by a later list of this pod alone, until a
    relist that began after it. seen: what was told last and was not stale; its `at` is that of the list it was made
    from. told: something was told, stale or not. looking_since: a Locate or an Inspect is in flight. wanted_after:
    somebody waits for a view made from a list that began after this.
    """

    uid: str
    namespace: str
    name: str
    table: dict[str, str] = field(default_factory=dict)
    located: Mapping[str, str] | None = None
    located_at: float = NEVER_AT
    seen: Observed | None = None
    told: bool = False
    looking_since: float | None = None
    wanted_after: float | None = None
    failures: int = 0
    retry_at: float = NEVER_AT
    stale: str = ""

    def apply(self, change: Change) -> None:
        """Take a change of the relist table."""
        if change.new_state == ABSENT:
            self.table.pop(change.id, None)
        else:
            self.table[change.id] = change.new_state

    def listed(self, relisted_at: float) -> tuple[float, Mapping[str, str]]:
        """The newest list of this pod: when it began, and state by id."""
        if self.located is not None and self.located_at > relisted_at:
            return self.located_at, self.located
        return relisted_at, self.table

    def differs(self, states: Mapping[str, str]) -> bool:
        """Whether a list shows anything but what was told."""
        return bool(self.stale) or self.seen is None or states_of(self.seen) != states

    def view(self, at: float, reason: str = "") -> Observed:
        """What was told last, as of `at`; nothing if nothing was. reason: why it is stale."""
        seen = self.seen or Observed(self.uid, self.namespace, self.name, at, (), ())
        return replace(seen, at=max(seen.at, at), stale=reason)

    def take(self, observed: Observed) -> Observed:
        """Note a view that is to be told; addresses of a stopped sandbox stay known (section 4)."""
        if self.seen is not None:
            observed = replace(observed, sandboxes=with_kept_ips(observed.sandboxes, self.seen.sandboxes))
        self.seen, self.told = observed, True
        self.stale, self.failures, self.retry_at = "", 0, NEVER_AT
        if self.wanted_after is not None and observed.at > self.wanted_after:
            self.wanted_after = None
        return observed

    def is_over(self) -> bool:
        """Whether the runtime holds nothing of it, that was told, and nobody waits."""
        held = self.table or self.located or self.seen is None or self.seen.sandboxes or self.seen.containers
        return not held and not self.stale and self.looking_since is None and self.wanted_after is None
