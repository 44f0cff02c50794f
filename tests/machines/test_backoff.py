"""Back-off as the kubelet counts it (kubelet behaviour, section 3.5)."""

from podherd.machines.backoff import BackOff, BackOffRule

RULE = BackOffRule(start_s=10, max_s=300, reset_s=600)


def test_without_an_entry_the_next_try_is_at_once() -> None:
    assert RULE.until(None, 1000.0) == 0.0


def test_the_delay_counts_from_the_failure_and_not_from_the_last_raise() -> None:
    assert RULE.until(BackOff(40, 1000.0), 1100.0) == 1140.0


def test_each_raise_doubles_up_to_the_ceiling() -> None:
    entry, delays = None, []
    for _ in range(7):
        entry = RULE.raised(entry, 1000.0, 1000.0)
        delays.append(entry.delay_s)
    assert delays == [10, 20, 40, 80, 160, 300, 300]


def test_a_ceiling_below_the_first_delay_lowers_it() -> None:
    assert BackOffRule(10, 2, 600).raised(None, 0.0, 0.0) == BackOff(2, 0.0)


def test_a_failure_long_after_the_last_raise_counts_as_the_first() -> None:
    entry = BackOff(300, 1000.0)
    assert RULE.until(entry, 1601.0) == 0.0
    assert RULE.raised(entry, 1601.0, 1602.0) == BackOff(10, 1602.0)
    assert RULE.until(entry, 1600.0) == 1900.0
