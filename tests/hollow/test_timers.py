"""One heap for all that happens later."""

from tests.hollow.conftest import VirtualClock


def test_timers_run_in_order_of_time_and_then_of_making() -> None:
    clock, ran = VirtualClock(), []
    for name, delay_s in (("late", 2.0), ("first", 1.0), ("second", 1.0)):
        clock.timers.after(delay_s, lambda name=name: ran.append(name))
    clock.pass_s(0.999)
    assert ran == []
    clock.pass_s(2)
    assert ran == ["first", "second", "late"]


def test_a_cancelled_timer_never_runs_and_does_not_hold_up_the_next() -> None:
    clock, ran = VirtualClock(), []
    clock.timers.after(1, lambda: ran.append("cancelled")).cancel()
    clock.timers.after(2, lambda: ran.append("kept"))
    clock.pass_s(3)
    assert ran == ["kept"]


def test_a_timer_may_set_another() -> None:
    clock, ran = VirtualClock(), []
    clock.timers.after(1, lambda: clock.timers.after(1, lambda: ran.append(clock.now_ns)))
    begun = clock.now_ns
    clock.pass_s(5)
    assert ran == [begun + 2_000_000_000]
