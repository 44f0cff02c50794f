"""Between what sources want and what shards are told: the node's word on each pod, asked in the kubelet's order."""

from typing import NamedTuple

from podherd.errors import PodherdError
from podherd.machines.admission import Admission, Ask, Verdict, ask_of
from podherd.machines.admission.admission import UNEXPECTED
from podherd.machines.admission.resize import standing
from podherd.machines.sources.claims import Choice
from podherd.model.keys import SOURCE_API
from podherd.model.pod import Body
from podherd.wire import codec

_BROKEN = (PodherdError, KeyError, TypeError, ValueError, AttributeError)


class Caller(NamedTuple):
    """A pod before the gate. ask: None for one whose body says nothing that could be understood, for `trouble`."""

    choice: Choice
    cause: str
    body: Body
    ask: Ask | None
    trouble: str = ""


def caller(choice: Choice, cause: str) -> Caller:
    """With what it asks for."""
    claim, pod = choice
    body: Body = {}
    try:
        body = codec.unpack(pod.body)
        return Caller(choice, cause, body, ask_of(body, static=claim.source != SOURCE_API))
    except _BROKEN as error:
        return Caller(choice, cause, body, None, f"{type(error).__name__}: {error}")


def turn_of(one: Caller) -> tuple[int, str]:
    """Who was here before comes first, by age; then static pods; then those that the API server has anew, by age."""
    if one.ask is None:
        return 3, ""
    return (0 if one.ask.accepted else 1 if one.ask.static else 2), one.ask.created


def rank_of(one: Caller) -> int:
    """The lower the more important."""
    return -((one.ask.priority if one.ask else None) or 0)


class Outcome(NamedTuple):
    """body: what the shard gets in place of the pod's own, empty for that. pending, why: as in Desired's resize."""

    verdict: Verdict
    body: bytes = b""
    pending: str = ""
    why: str = ""


def outcome_of(one: Caller, admission: Admission, problem: tuple[str, str], told: bytes) -> Outcome:
    """The node's word. told: the body that the shard has, empty for none. A pod that makes no sense is refused."""
    if one.ask is None:
        return Outcome(Verdict(UNEXPECTED, one.trouble))
    try:
        return _outcome(one.ask, one.body, admission, problem, told)
    except _BROKEN as error:
        return Outcome(Verdict(UNEXPECTED, f"{type(error).__name__}: {error}"))


def _outcome(ask: Ask, body: Body, admission: Admission, problem: tuple[str, str], told: bytes) -> Outcome:
    """Resources that a running pod asks for anew are granted, or it keeps those that it has."""
    stands = body if ask.static or ask.over else standing(body, codec.unpack(told) if told else None)
    if stands is body:
        return Outcome(admission.judge(ask, body, problem))
    verdict = admission.judge(ask_of(stands, static=False), stands, problem)
    pending, why = ("", "") if verdict.refused or verdict.waits else admission.resize(ask)
    return Outcome(verdict, codec.pack(stands), pending, why) if pending else Outcome(verdict)
