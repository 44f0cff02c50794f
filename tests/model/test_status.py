"""Times and durations as the API and the kubelet write them."""

import pytest

from podherd.model.status import go_duration, go_duration_ms, rfc3339, rfc3339_micro


def test_times_are_cut_to_whole_seconds() -> None:
    assert rfc3339(1_800_000_000.999) == "2027-01-15T08:00:00Z"
    assert rfc3339_micro(1_800_000_000.5) == "2027-01-15T08:00:00.500000Z"


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (80.4, "1m20s"), (300, "5m0s"), (60, "1m0s"), (3600, "1h0m0s"), (0, "0s")]
)
def test_durations_read_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0s"), (0.012, "12ms"), (1.5, "1.5s"), (2.0, "2s"), (123.25, "2m3.25s"), (3600, "1h0m0s")],
)
def test_durations_of_events_show_milliseconds(seconds: float, text: str) -> None:
    assert go_duration_ms(seconds) == text
