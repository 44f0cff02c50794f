"""Which actors make an agent, by name, and the shell class of each role.

Classes are named by dotted path and imported only where they run, so that each process loads its own room alone.
"""

from importlib import import_module

from podherd.actors.shell import Shell
from podherd.wire.routes import EVENTS, NODE, OBJECTS, PLEG, POD_SHARD, SERVER, SOURCES, STATUS, role_of

ROLES: dict[str, str] = {
    SOURCES: "podherd.actors.sources:SourcesActor",
    PLEG: "podherd.actors.pleg:PlegActor",
    POD_SHARD: "podherd.actors.pod_shard:PodShardActor",
    NODE: "podherd.actors.node:NodeActor",
    SERVER: "podherd.actors.server:ServerActor",
    STATUS: "podherd.actors.status:StatusActor",
    EVENTS: "podherd.actors.events:EventsActor",
    OBJECTS: "podherd.actors.objects:ObjectsActor",
}


def actor_names(shards: int, serves_api: bool = False) -> tuple[str, ...]:
    """Every actor of an agent; the ones that take longest to load come first."""
    names = (*(f"{POD_SHARD}-{number}" for number in range(shards)), PLEG, SOURCES, SERVER, NODE)
    return (*names, STATUS, OBJECTS, EVENTS) if serves_api else names


def shell_class(name: str) -> type[Shell]:
    """The shell of the actor of this name; imports its module."""
    module, _, attribute = ROLES[role_of(name)].partition(":")
    found: type[Shell] = getattr(import_module(module), attribute)
    return found


def peers(topology: tuple[str, ...], role: str) -> tuple[str, ...]:
    """The names in `topology` that have this role."""
    return tuple(name for name in topology if role_of(name) == role)
