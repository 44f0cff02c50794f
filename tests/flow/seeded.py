"""Seeded faults: one wrong line in a rule of each machine and of the transport."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from podherd.actors.outbox import Outbox
from podherd.machines.backoff import BackOffRule
from podherd.machines.node_machine import NodeMachine
from podherd.machines.pleg.lane import Lane
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pod import advance, deadline, plan, restart, stop_order
from podherd.machines.pod.hear import Hear
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.record import Record
from podherd.machines.sources.machine import SourcesMachine
from podherd.wire.coalesce import key_of

Wrong = Callable[[Any], Any]
"""The real thing to what takes its place."""
Fault = tuple[Any, str, Wrong]


def always(value: Any) -> Wrong:
    return lambda _real: lambda *_args, **_words: value


def _no_news(real: Any) -> Any:
    return lambda *args, **words: real(*args, **words) and []


def _throws(*_: object) -> None:
    raise RuntimeError("a fault")


SOURCES: dict[str, Fault] = {
    "an edit leaves the old pod": (SourcesMachine, "_take_away", _no_news),
    "what was not read yet counts as gone": (SourcesMachine, "complete", lambda _real: property(lambda _self: True)),
    "a shard that begins anew is not told what is wanted": (SourcesMachine, "_whole", always([])),
}
PLEG: dict[str, Fault] = {
    "a shard that begins anew is not told what runs": (PlegMachine, "_hello", always(None)),
    "who waits for a view gets none": (PlegMachine, "_demanded", always(None)),
    "a failed look is the last": (PlegMachine, "_look_failed", always(None)),
    "a change is overlooked": (
        Lane, "differs", lambda real: lambda self, states: self.seen is None and real(self, states)),
    "an old list counts as new": (
        Lane, "listed", lambda real: lambda self, at: (real(self, at)[0] + 30.0, real(self, at)[1])),
}  # fmt: skip
NODE: dict[str, Fault] = {
    "what became of the runtime is told nobody": (NodeMachine, "_news", always([])),
}
TRANSPORT: dict[str, Fault] = {
    "the first of two messages wins": (Outbox, "put", lambda real: lambda self, message: (
        None if key_of(message) in self._waiting else real(self, message))),
    "what comes while a frame flies is lost": (Outbox, "put", lambda real: lambda self, message: (
        None if self._flying else real(self, message))),
}  # fmt: skip
POD: dict[str, Fault] = {
    "a view older than the last deed counts": (
        Record, "fresh", lambda _real: property(lambda self: self.known_at is not None)),
    "editions of one pod do not wait": (advance, "must_wait", always(False)),
    "an ending pod is left as it is": (advance, "_end", always(Plan())),
    "a running container is started again": (plan, "judge", always(restart.START)),
    "a decision throws": (advance, "plan", lambda _real: _throws),
    "directories that were left stay": (Hear, "left_behind", always([])),
    "a change of the wish ends no sync": (advance, "_while_running", always([])),
    "there is no back-off": (BackOffRule, "until", always(0.0)),
    "a hook runs with every order": (stop_order, "kill_of", lambda real: lambda record, *args: replace(
        real(record, *args), hook=stop_order._hook(record.pod, args[2]))),
    "every order has its whole grace": (advance, "note_kills", always(None)),
    "sidecars stop with all others": (stop_order, "turns", always({})),
    "a deadline is never over": (deadline, "deadline_at", always(None)),
    "a clock that is set back is not noticed": (Herd, "set_clock_back", always(None)),
}  # fmt: skip
FAULTS = {**SOURCES, **PLEG, **NODE, **TRANSPORT, **POD}
