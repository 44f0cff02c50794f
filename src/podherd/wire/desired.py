"""DOWN lane: what should run, from the sources actor to the pod shards (the kubelet's config channel)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Desired:
    """A pod should exist as `body` says: msgpack of the defaulted v1.Pod. The last one for a uid wins."""

    uid: str
    namespace: str
    name: str
    source: str
    body: bytes
    cause: str
    """What made this so, for people: `file /etc/podherd/web.yaml created`."""
    refused: str = ""
    """Reason of the Failed status that the node's admission gives the pod (`OutOfcpu`); empty: it may run."""
    refused_message: str = ""
    """Why, without `Pod was rejected: `, which the status puts before it."""
    resize_pending: str = ""
    """`Deferred` or `Infeasible`: the spec asks for resources that `body` does not grant; empty: it grants all."""
    resize_message: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """The source no longer has this pod (the kubelet's REMOVE)."""

    uid: str
    namespace: str
    name: str
    cause: str


@dataclass(frozen=True, slots=True)
class Roster:
    """Every uid that the sources want on the receiving shard; sent after each first full read and after a Hello.

    complete: every configured source was seen; only then may a shard end pods that are not listed
    (kubelet behaviour, section 1: nothing is deleted until every configured source was seen).
    """

    uids: tuple[str, ...]
    complete: bool
