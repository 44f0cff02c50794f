"""Events and instructions of every machine as msgpack arrays `[kind number, field…]`, and back.

Two things are not kept whole. A Sync holds whether it has a pod, not the pod: that is known from what was heard. A
Fault holds its error's text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from hashlib import sha256
from operator import attrgetter
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

import msgpack

from podherd.errors import PodherdError, WireError
from podherd.journal.fits import checked
from podherd.machines import node as node_facts
from podherd.machines import node_events, node_instructions, shutdown
from podherd.machines.pleg import events as pleg_events
from podherd.machines.pleg import instructions as pleg_instructions
from podherd.machines.pod import events as pod_events
from podherd.machines.pod import instructions as pod_instructions
from podherd.machines.pod.policy import Policy
from podherd.machines.sources import events as sources_events
from podherd.machines.sources import instructions as sources_instructions
from podherd.machines.status import events as status_events
from podherd.machines.status import instructions as status_instructions
from podherd.model.view import pod_of
from podherd.native.changes import Change
from podherd.steps.deeds import Deed
from podherd.wire import api, codec, control, desired, evict, node, observed, status

# A number once given stays: append.
_KINDS: tuple[type, ...] = (
    Policy, Deed,
    control.Hello, control.Drain,
    desired.Desired, desired.Gone, desired.Roster,
    observed.SandboxSeen, observed.ContainerSeen, observed.Observed, observed.ObservedRoster, observed.Reinspect,
    node.PlegHealth, node.NodeState, node.RuntimeState,
    status.PodEvent, status.SourceProblem,
    pod_events.Wanted, pod_events.Unreadable, pod_events.Woke, pod_events.LeftBehind, pod_events.RuntimeBack,
    pod_events.SandboxFailed, pod_events.StartFailed, pod_events.Started, pod_events.HookEnded, pod_events.StepFailed,
    pod_events.Synced,
    pod_instructions.KillContainer, pod_instructions.StartContainer, pod_instructions.Plan, pod_instructions.Sync,
    pod_instructions.CancelSync, pod_instructions.Publish, pod_instructions.Forget, pod_instructions.Record,
    pod_instructions.WakeAt, pod_instructions.LookAgain, pod_instructions.AllStopped, pod_instructions.Fault,
    sources_events.StaticPod, sources_events.OriginRead, sources_events.OriginBad, sources_events.OriginGone,
    sources_events.SourceListed, sources_events.Noted, sources_events.Started, sources_events.ShardStarted,
    sources_events.ServerStarted,
    sources_instructions.Upsert, sources_instructions.Remove, sources_instructions.List, sources_instructions.Warn,
    pleg_events.Woke, pleg_events.Relisted, pleg_events.RelistFailed, pleg_events.Located, pleg_events.Inspected,
    pleg_events.LookFailed, pleg_events.Stopped,
    pleg_instructions.Relist, pleg_instructions.Locate, pleg_instructions.Inspect, pleg_instructions.Tell,
    pleg_instructions.TellRoster, pleg_instructions.TellHealth, pleg_instructions.WakeAt,
    node_events.Looked, node_events.NotLooked, node_events.Refused, node_events.Addresses,
    node_events.ShardStarted, node_events.ServerStarted, node_instructions.TellShards, node_instructions.TellShard,
    node_instructions.TellServer,
    evict.Evict, pod_events.ObjectsChanged, pod_instructions.Over, pod_instructions.ResizeContainer,
    status_events.Patched, status_events.Deleted, status_events.MirrorMade, status_events.Failed, status_events.Woke,
    status_instructions.PatchStatus, status_instructions.DeletePod, status_instructions.CreateMirror,
    status_instructions.WakeAt,
    node.Taint, node.NodeFacts, status.PodOver, api.ApiPod, api.ApiPodGone, api.ApiRoster,
    sources_events.ApiItem, sources_events.ApiListed, sources_events.ApiPut, sources_events.ApiDropped,
    sources_events.StatusStarted, sources_events.NodeLooked,
    sources_instructions.Preempt, sources_instructions.TellStatus, sources_instructions.LookAtNode,
    node_events.Images, node_events.ApiNode, node_events.ReportFailed, node_events.FactsWanted,
    node_instructions.TellFacts, node_instructions.Report, node_instructions.Emit, node.VolumesInUse, status.NodeEvent,
    node_facts.Image, node_facts.Handler,
    node_events.CsiSockets, node_events.CsiNodeState, pod_events.NodeVolumesChanged, pod_events.RepublishDue,
    node_events.Reported, node_events.ShuttingDown, node_events.ActivePods, node_events.Woke,
    shutdown.ActivePod, shutdown.AskPods, shutdown.EndPod, shutdown.WakeAt, shutdown.LetShutDown,
    shutdown.HoldShutDown,
)  # fmt: skip
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}

Packed: TypeAlias = tuple[Any, ...]
"""A packed event or instruction: its kind's number and its fields, nested ones packed too."""


def _packer(kind: type) -> Callable[[Any], Packed]:
    number, names = _NUMBER[kind], [field.name for field in fields(kind)]
    if not names:
        return lambda _it: (number,)
    get = attrgetter(*names)
    return (lambda it: (number, *get(it))) if len(names) > 1 else (lambda it: (number, get(it)))


_PACK: dict[type, Callable[[Any], Packed]] = {kind: _packer(kind) for kind in _KINDS}
_PACK[pod_events.Wanted] = lambda it: (
    _NUMBER[pod_events.Wanted], codec.pack(it.pod.body), it.cause,
    it.refused, it.refused_message, it.resize_pending, it.resize_message,
)  # fmt: skip
_PACK[pod_instructions.Sync] = lambda it: (
    _NUMBER[pod_instructions.Sync], it.uid, it.namespace, it.name, it.plan_id, it.pod is not None, it.plan,
)  # fmt: skip
_PACK[pod_instructions.Fault] = lambda it: (
    _NUMBER[pod_instructions.Fault], it.uid, f"{type(it.error).__name__}: {it.error}",
)  # fmt: skip


def packed(it: Any) -> Packed:
    """msgpack's `default`: the array of anything that is registered. Raises TypeError for what is not."""
    try:
        return _PACK[type(it)](it)
    except KeyError:
        raise TypeError(f"{type(it).__name__} is not registered in journal/kinds.py") from None


@cache
def fingerprint() -> str:
    """Of the kinds and their fields in order: what other code wrote, though under the same version, has another one."""
    shapes = (f"{kind.__name__}({','.join(field.name for field in fields(kind))})" for kind in _KINDS)
    return sha256("\n".join(shapes).encode()).hexdigest()[:12]


def packer() -> msgpack.Packer:
    """What writes entries. Text may hold lone surrogates: it comes from the outside."""
    return msgpack.Packer(default=packed, unicode_errors="surrogatepass")


def plain(it: Any) -> Any:
    """An event or instruction as a reader of the journal gets it: arrays all the way down."""
    return msgpack.unpackb(packer().pack(it), use_list=False, strict_map_key=False, unicode_errors="surrogatepass")


def kind_name(array: Packed) -> str:
    """The name of the kind of a packed event or instruction."""
    return _kind(array).__name__


def field_names(array: Packed) -> tuple[str, ...]:
    """The names of its fields, in order."""
    return tuple(field.name for field in fields(_kind(array)))


def is_packed(value: Any) -> bool:
    """Whether this is an array as `packed` writes it, of whatever kind."""
    return isinstance(value, tuple) and len(value) > 0 and type(value[0]) is int


def _kind(array: Packed) -> type:
    if is_packed(array) and 0 <= array[0] < len(_KINDS):
        return _KINDS[array[0]]
    raise WireError("journal", f"holds a kind that this podherd does not know: {array!r:.80}")


def built(array: Packed) -> Any:
    """The event or instruction again; a Sync has no pod. Raises WireError for what `packed` did not write."""
    kind = _kind(array)
    try:
        if kind is pod_events.Wanted:
            return checked(pod_events.Wanted(pod_of(codec.unpack(array[1])), *array[2:]))
        values = [read(value) for read, value in zip(_readers(kind), array[1:], strict=False)]
        if kind is pod_instructions.Sync:
            values[4] = None
        return checked(kind(*values))
    except WireError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, PodherdError) as error:
        raise WireError("journal", f"a {kind.__name__} in it cannot be read: {error}") from error


Reader: TypeAlias = Callable[[Any], Any]


@cache
def _readers(kind: type) -> tuple[Reader, ...]:
    return tuple(_reader(field.type) for field in fields(kind))


def _reader(hint: Any) -> Reader:
    if hint is Change:
        return lambda value: Change(*value)
    if _is_registered(hint):
        return built
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and any(_is_registered(each) for each in inner):
        return lambda value: built(value) if isinstance(value, tuple) else value
    if origin in (tuple, Sequence) and inner:
        read = _reader(inner[0])
        return lambda value: tuple(read(each) for each in value)
    return _mapping if origin in (dict, Mapping) else _same


def _is_registered(hint: Any) -> bool:
    return isinstance(hint, type) and hint in _NUMBER


def _same(value: Any) -> Any:
    return value


def _mapping(value: Any) -> Any:
    return dict(value)
