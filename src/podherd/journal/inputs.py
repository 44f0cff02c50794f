"""A frame as the events of its receiver's machine: the same code for the actor and for a replay."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from podherd.errors import PodherdError
from podherd.machines.pod import events as heard
from podherd.model.view import pod_of
from podherd.wire import codec
from podherd.wire.control import Ask, Hello
from podherd.wire.desired import Desired, Roster
from podherd.wire.node import NodeFacts
from podherd.wire.objects import ObjectState
from podherd.wire.routes import POD_SHARD, role_of


def events_of(actor: str, messages: Iterable[codec.Message]) -> list[Any]:
    """What the actor's machine hears of these messages: questions, and a shard's facts, are its shell's."""
    if role_of(actor) != POD_SHARD:
        return list(messages)
    messages = _with_later(list(messages))
    return [
        wanted_of(message) if isinstance(message, Desired) else message
        for message in messages
        if not isinstance(message, Ask | Hello | NodeFacts | ObjectState)
    ]


def _with_later(messages: list[Any]) -> list[Any]:
    """The messages, each roster with all that its frame wants: a frame may come twice, and what follows a roster in it
    is then known already, and must not end by it.
    """
    if not any(isinstance(message, Roster) for message in messages):
        return messages
    later = [message.uid for message in messages if isinstance(message, Desired)]
    return [
        replace(message, uids=tuple(dict.fromkeys((*message.uids, *later)))) if isinstance(message, Roster) else message
        for message in messages
    ]


def wanted_of(desired: Desired) -> heard.Event:
    """The pod of the message, or why it cannot be read: whatever is wrong with one body is no other's trouble."""
    try:
        return heard.Wanted(
            pod_of(codec.unpack(desired.body)),
            desired.cause,
            desired.refused,
            desired.refused_message,
            desired.resize_pending,
            desired.resize_message,
        )
    except PodherdError as error:
        problem = str(error)
    except Exception as error:
        problem = f"its body cannot be read ({type(error).__name__}: {error})"
    return heard.Unreadable(desired.uid, desired.namespace, desired.name, problem)
