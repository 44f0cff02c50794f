"""When Ray is built again."""

from podherd.agent.rebuild import LONGEST_S, WELL_S, BackOff


def test_the_first_death_is_mended_at_once_and_further_ones_ever_later() -> None:
    back_off = BackOff()
    waits = [back_off.after_death(0.0, 1.0) for _ in range(8)]
    assert waits == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, LONGEST_S, LONGEST_S]


def test_a_long_life_ends_the_row() -> None:
    back_off = BackOff()
    for _ in range(5):
        back_off.after_death(0.0, 1.0)
    assert back_off.after_death(0.0, WELL_S) == 0.0
    assert back_off.after_death(0.0, 1.0) == 0.5
