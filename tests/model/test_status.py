"""Times and durations as the API and the kubelet write them."""

import pytest

from podherd.model.status import go_duration, rfc3339


def test_times_are_cut_to_whole_seconds() -> None:
    assert rfc3339(1_800_000_000.999) == "2027-01-15T08:00:00Z"


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (80.4, "1m20s"), (300, "5m0s"), (60, "1m0s"), (3600, "1h0m0s"), (0, "0s")]
)
def test_durations_read_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
