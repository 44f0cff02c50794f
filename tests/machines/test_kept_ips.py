"""Addresses of stopped sandboxes."""

import pytest

from podherd.machines.kept_ips import with_kept_ips
from podherd.wire.observed import SandboxSeen


def _sandbox(name: str = "s", ready: bool = False, ips: tuple[str, ...] = ()) -> SandboxSeen:
    return SandboxSeen(name, 0, ready, 1.0, False, ips)


@pytest.mark.parametrize("ips", [(), ("",)])
def test_a_stopped_sandbox_keeps_its_addresses_however_the_runtime_says_that_it_has_none(ips: tuple[str, ...]) -> None:
    before = (_sandbox("new", True, ("10.0.0.2",)), _sandbox("old", True, ("10.0.0.1", "fd00::1")))
    now = (_sandbox("new", ips=ips), _sandbox("old", ips=ips))
    assert [each.ips for each in with_kept_ips(now, before)] == [("10.0.0.2",), ("10.0.0.1", "fd00::1")]


@pytest.mark.parametrize("now", [_sandbox(ready=True, ips=("",)), _sandbox(ips=("10.0.0.9",)), _sandbox("other")])
def test_what_runs_has_an_address_or_is_another_sandbox_stays_as_it_is(now: SandboxSeen) -> None:
    assert with_kept_ips((now,), (_sandbox(ready=True, ips=("10.0.0.1",)),)) == (now,)
    assert with_kept_ips((now,), ()) == (now,)
