"""What a sync did to the runtime, call by call, for people who ask why (`podherd story`)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from podherd.cri.client import Cri
from podherd.errors import CriError, PodherdError
from podherd.machines.pod.instructions import Sync

T = TypeVar("T")

CALLS = {
    "run_sandbox": "RunPodSandbox",
    "stop_sandbox": "StopPodSandbox",
    "remove_sandbox": "RemovePodSandbox",
    "create_container": "CreateContainer",
    "start_container": "StartContainer",
    "stop_container": "StopContainer",
    "remove_container": "RemoveContainer",
    "update_resources": "UpdateContainerResources",
    "exec_sync": "ExecSync",
}
"""Methods of Cri that change something, and the CRI's names for them."""
BROKEN_OFF = "broken off"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing done for a pod. at: when it began. call: what was done, `CreateContainer` or `preStop httpGet`.

    target: the container's name or the id that it was done to, empty for none. result: the id of what was made.
    error: empty when it went well.
    """

    uid: str
    namespace: str
    name: str
    call: str
    target: str
    at: float
    took_s: float
    result: str = ""
    error: str = ""


Note = Callable[[Deed], None]
"""Takes a deed; never fails."""


def unnoted(_deed: Deed) -> None:
    """A Note for where none are kept."""


class NotedCri:
    """Looks like the Cri that it wraps; tells `note` of every call of one sync that changes something."""

    def __init__(self, cri: Cri, sync: Sync, note: Note, clock: Callable[[], float]) -> None:
        self._cri = cri
        self._sync = sync
        self._note = note
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cri, name)
        if (call := CALLS.get(name)) is None:
            return method
        sync, note, clock = self._sync, self._note, self._clock
        return lambda *args, **words: noted(call, target_of(args), method(*args, **words), sync, note, clock)


async def noted(call: str, target: str, work: Awaitable[T], sync: Sync, note: Note, clock: Callable[[], float]) -> T:
    """Await `work` and tell of it, however it ends."""
    at, result, error = clock(), "", BROKEN_OFF
    try:
        reply = await work
        result, error = reply if isinstance(reply, str) else "", ""
    except CriError as failed:
        error = failed.reason
        raise
    except PodherdError as failed:
        error = str(failed)
        raise
    else:
        return reply
    finally:
        note(Deed(sync.uid, sync.namespace, sync.name, call, target, at, clock() - at, result, error))


def target_of(args: tuple[Any, ...]) -> str:
    """The container's name where a config is among the arguments, else the id that comes first."""
    if len(args) > 1 and hasattr(args[1], "metadata"):
        return str(args[1].metadata.name)
    return args[0] if args and isinstance(args[0], str) else ""
