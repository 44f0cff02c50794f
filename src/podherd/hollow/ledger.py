"""Every sandbox and container there is, found by id, with the names they hold and the ready-made lists of them."""

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TypeVar

from podherd.hollow.behaviour import UNSCRIPTED, Behaviour
from podherd.hollow.journal import Journal
from podherd.hollow.records import Container, Sandbox
from podherd.hollow.refusal import RefusedError
from podherd.hollow.script import Script, Subject
from podherd.hollow.shelf import Shelf
from podherd.hollow.timers import Timers

CREATED_EVENT, STARTED_EVENT, STOPPED_EVENT, DELETED_EVENT = 0, 1, 2, 3
"""Values of runtime.v1.ContainerEventType."""
Tell = Callable[[int, str, Sandbox], None]
"""Takes an event: its type, the id it is about (a sandbox's own id for a sandbox) and the sandbox."""
Record = TypeVar("Record", Sandbox, Container)


class Ledger:
    """The tables, and the few changes that keep them together. No clock but `timers.clock`, no I/O."""

    def __init__(self, timers: Timers, random: Random, shuffle: bool = False) -> None:
        self.timers = timers
        self.random = random
        self.script = Script()
        self.tell: Tell = lambda _kind, _id, _sandbox: None
        self.journal = Journal()
        self.sandboxes: dict[str, Sandbox] = {}
        self.containers: dict[str, Container] = {}
        self.sandbox_list = Shelf(random if shuffle else None)
        self.container_list = Shelf(random if shuffle else None)
        self.doubled: list[str] = []
        """Full names (container, pod, namespace) that ever had two running containers, one entry per time."""
        self._names: dict[str, str] = {}
        self._running: dict[tuple[str, str, str], int] = {}
        self._addresses = 1

    def now_ns(self) -> int:
        """Wall time."""
        return self.timers.clock()

    def new_id(self) -> str:
        """64 hex digits."""
        return f"{self.random.getrandbits(256):064x}"

    def new_ip(self) -> str:
        """The next address of 10.128.0.0/9."""
        self._addresses += 1
        n = self._addresses % (1 << 23)
        return f"10.{128 + (n >> 16)}.{n >> 8 & 255}.{n & 255}"

    def reserve(self, kind: str, name: str, holder: str) -> None:
        """Give a name to one id. Raises RefusedError, with containerd's text, while another id holds it."""
        other = self._names.setdefault(f"{kind} {name}", holder)
        if other != holder:
            held = f'name "{name}" is reserved for "{other}"'
            raise RefusedError("UNKNOWN", f'failed to reserve {kind} name "{name}": {held}')

    def release(self, kind: str, name: str) -> None:
        """Let a name be taken again."""
        self._names.pop(f"{kind} {name}", None)

    def sandbox(self, sandbox_id: str) -> Sandbox | None:
        """By id or a prefix of it that no other has."""
        return self.sandboxes.get(sandbox_id) or _by_prefix(self.sandboxes, sandbox_id)

    def container(self, container_id: str) -> Container | None:
        """By id or a prefix of it that no other has."""
        return self.containers.get(container_id) or _by_prefix(self.containers, container_id)

    def behaviour(self, sandbox: Sandbox, container: Container | None = None) -> Behaviour:
        """What the script of now says; a mark that cannot be read was refused at creation. Raises ConfigError."""
        if not sandbox.marks and not self.script.rules and (container is None or not container.marks):
            return UNSCRIPTED
        if container is None:
            return self.script.behaviour(Subject(sandbox.namespace, sandbox.name), sandbox.marks)
        subject = Subject(sandbox.namespace, sandbox.name, container.name, container.image)
        return self.script.behaviour(subject, sandbox.marks, container.marks)

    def touch(self, container: Container) -> None:
        """A container changed: its entry in the list is made anew."""
        if not container.removed:
            self.container_list.put(container.id, container.entry())

    def count_running(self, container: Container, change: int) -> None:
        """One more (1) or fewer (-1) running under the container's full name."""
        sandbox = container.sandbox
        name = (container.name, sandbox.name, sandbox.namespace)
        running = self._running.get(name, 0) + change
        if running:
            self._running[name] = running
        else:
            del self._running[name]
        if change > 0 and running > 1:
            self.doubled.append("_".join(name))

    def clear(self) -> None:
        """Forget every sandbox and container, as if none had ever been. Calls that wait for an exit are let go."""
        for container in self.containers.values():
            container.removed = True
            if container.own_exit is not None:
                container.own_exit.cancel()
            release_waiting(container)
        for table in (self.sandboxes, self.containers, self._names, self._running):
            table.clear()
        self.sandbox_list.clear()
        self.container_list.clear()


def release_waiting(container: Container) -> None:
    """Let go whoever waits for the container's exit."""
    waiting, container.on_exit = container.on_exit, []
    for call in waiting:
        call()


def carries(labels: Mapping[str, str], selector: Iterable[tuple[str, str]]) -> bool:
    """Whether the labels have every pair of the selector."""
    return all(labels.get(key) == value for key, value in selector)


def _by_prefix(table: Mapping[str, Record], prefix: str) -> Record | None:
    if not 0 < len(prefix) < 64:
        return None
    found = [key for key in table if key.startswith(prefix)]
    return table[found[0]] if len(found) == 1 else None
