"""A seeded fault in each rule is caught by some seed; without one the same seeds hold (`test_flow`)."""

import pytest
from tests.flow.schedule import failure_of, schedule_of
from tests.flow.seeded import FAULTS

MOST_SEEDS = 500


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong(getattr(where, name)))
    assert any(failure_of(seed, schedule_of(seed)) for seed in range(MOST_SEEDS))
