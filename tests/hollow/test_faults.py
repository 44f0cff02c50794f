"""Which call a fault takes, and how often."""

from podherd.hollow.faults import Faults, parse_fault

WEB = ("default", "web-1", "app", "img")


def test_a_fault_takes_only_calls_that_fit_all_its_globs() -> None:
    faults = Faults()
    faults.add(parse_fault("f", {"method": "Run*", "pod": "web-*", "code": "UNAVAILABLE"}))
    assert faults.take("StopPodSandbox", WEB) is None
    assert faults.take("RunPodSandbox", ("default", "db", "", "")) is None
    assert faults.take("RunPodSandbox", WEB) is not None


def test_a_fault_is_over_after_its_times() -> None:
    faults = Faults()
    faults.add(parse_fault("f", {"delay": 1, "times": 2}))
    assert [faults.take("Version", WEB) is not None for _ in range(3)] == [True, True, False]
    assert not faults.armed


def test_the_first_live_fault_takes_the_call_and_clearing_is_harmless_twice() -> None:
    faults = Faults()
    first = faults.add(parse_fault("f", {"code": "ABORTED"}))
    second = faults.add(parse_fault("f", {"code": "INTERNAL"}))
    taken = faults.take("Version", WEB)
    assert taken is not None
    assert taken.fault_id == first
    faults.clear(first)
    faults.clear(first)
    taken = faults.take("Version", WEB)
    assert taken is not None
    assert taken.fault_id == second
    faults.clear()
    assert faults.take("Version", WEB) is None
