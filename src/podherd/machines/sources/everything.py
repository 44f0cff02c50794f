"""All that the sources machine has told, for whoever begins anew, with what the API server has learnt since."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from podherd.machines.sources.api_pods import ApiPods
from podherd.machines.sources.claims import Name
from podherd.machines.sources.instructions import Instruction, List, Preempt, Upsert
from podherd.model.keys import shard_of
from podherd.wire import codec
from podherd.wire.desired import Desired, Roster
from podherd.wire.evict import Evict

Wanted = Iterable[tuple[Name, str]]
"""Names and uids of the pods that should run."""


def rosters(wanted: Wanted, shards: int, complete: bool) -> list[Instruction]:
    """One for each shard."""
    uids: list[list[str]] = [[] for _ in range(shards)]
    for name, uid in wanted:
        uids[shard_of(*name, shards)].append(uid)
    return [List(shard, Roster(tuple(of), complete)) for shard, of in enumerate(uids)]


def whole(
    shard: int,
    shards: int,
    published: Mapping[Name, tuple[Desired, str]],
    wanted: Wanted,
    evicting: Mapping[str, Evict],
    complete: bool,
    api: ApiPods,
) -> list[Instruction]:
    """The pods of one shard, its roster, and which of them are to give way."""
    told = (desired for name, (desired, _) in published.items() if shard_of(*name, shards) == shard)
    mine = [Upsert(shard, as_known(desired, api)) for desired in told]
    uids = tuple(uid for name, uid in wanted if shard_of(*name, shards) == shard)
    orders = (order for order in evicting.values() if shard_of(order.namespace, order.name, shards) == shard)
    return [*mine, List(shard, Roster(uids, complete)), *(Preempt(shard, order) for order in orders)]


def as_known(desired: Desired, api: ApiPods) -> Desired:
    """With the newest status: the one that came with the spec says nothing of restarts and ends since then."""
    if not (status := api.status(desired.uid)):
        return desired
    body = codec.unpack(desired.body)
    body["status"] = codec.unpack(status)
    return replace(desired, body=codec.pack(body))
