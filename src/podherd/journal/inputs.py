"""A frame as the events of its receiver's machine: the same code for the actor and for a replay."""

from collections.abc import Iterable
from typing import Any

from podherd.errors import PodherdError
from podherd.machines.pod import events as heard
from podherd.model.view import pod_of
from podherd.wire import codec
from podherd.wire.control import Ask, Hello
from podherd.wire.desired import Desired
from podherd.wire.routes import POD_SHARD, role_of


def events_of(actor: str, messages: Iterable[codec.Message]) -> list[Any]:
    """What the actor's machine hears of these messages: questions and, in a shard, greetings are the shell's alone."""
    if role_of(actor) != POD_SHARD:
        return list(messages)
    return [
        wanted_of(message) if isinstance(message, Desired) else message
        for message in messages
        if not isinstance(message, Ask | Hello)
    ]


def wanted_of(desired: Desired) -> heard.Event:
    """The pod of the message, or why it cannot be read: whatever is wrong with one body is no other's trouble."""
    try:
        return heard.Wanted(pod_of(codec.unpack(desired.body)), desired.cause)
    except PodherdError as error:
        problem = str(error)
    except Exception as error:
        problem = f"its body cannot be read ({type(error).__name__}: {error})"
    return heard.Unreadable(desired.uid, desired.namespace, desired.name, problem)
