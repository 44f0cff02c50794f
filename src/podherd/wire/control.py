"""Lanes that every actor knows: hello after a start, questions with answers, and orders of the agent."""

from dataclasses import dataclass

ANSWER_S = 5.0
"""An asker waits so long; a question that is older need not be delivered any more."""

ACTIVE_PODS = "active pods"
"""What the node actor asks a shard when the machine shuts down. Answer: uid, namespace, name, priority of each pod of
which something runs or is mounted."""


@dataclass(frozen=True, slots=True)
class Hello:
    """`actor` has (re)started and knows nothing: whoever owns facts that it needs sends them whole, then a roster."""

    actor: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question of the server or the node actor; `what` names it (`pod`, `node`, `images`…), `args` is msgpack."""

    id: int
    what: str
    args: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to Ask `id`: msgpack in `body`, or an error text."""

    id: int
    body: bytes
    error: str = ""


@dataclass(frozen=True, slots=True)
class Drain:
    """Stop every pod gracefully (`--drain-on-exit`); the shard answers with Drained when none is left."""


@dataclass(frozen=True, slots=True)
class Drained:
    """The shard named here has no running pod any more."""

    actor: str
