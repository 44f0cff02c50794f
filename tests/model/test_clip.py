"""What is kept of a text that is too long."""

from podherd.model.clip import LONGEST, clipped


def test_a_text_of_the_largest_length_stays_and_a_longer_one_keeps_its_ends():
    assert clipped("x" * LONGEST) == "x" * LONGEST
    cut = clipped("begin" + "x" * LONGEST + "end")
    assert (len(cut), cut[:5], cut[-3:]) == (LONGEST, "begin", "end")
    assert "…" in cut
