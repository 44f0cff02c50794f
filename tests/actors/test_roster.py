"""Names, roles and classes of the actors."""

import pytest

from podherd.actors import roster
from podherd.actors.shell import Shell
from podherd.wire.routes import ROUTES, role_of


def test_every_role_of_the_routes_has_an_actor_and_no_other() -> None:
    named = {role_of(name) for name in roster.actor_names(3, serves_api=True)}
    assert named == set(roster.ROLES) == {role for pair in ROUTES for role in pair}


def test_there_is_one_actor_a_shard() -> None:
    assert roster.peers(roster.actor_names(3), "pod_shard") == ("pod_shard-0", "pod_shard-1", "pod_shard-2")


@pytest.mark.parametrize("name", roster.actor_names(1, serves_api=True))
def test_each_class_is_there_and_a_shell(name: str) -> None:
    assert issubclass(roster.shell_class(name), Shell)
