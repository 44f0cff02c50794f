"""Words of a runtime never lead a path elsewhere."""

from pathlib import Path

import pytest

from podherd.cgroups.paths import pod_cgroup
from podherd.errors import PodherdError
from podherd.model.path_part import path_part
from podherd.model.settings import Settings

BAD = ("", ".", "..", "../x", "a/b", "/", "a\0b")
SETTINGS = Settings("n1", Path("/r"), "unix:///cri", pod_logs_dir=Path("/l"))


@pytest.mark.parametrize("word", BAD)
def test_a_word_that_leads_elsewhere_makes_no_directory_and_no_cgroup(word: str) -> None:
    for made in (
        lambda: SETTINGS.pod_dir(word),
        lambda: SETTINGS.pod_log_dir(word, "web", "u1"),
        lambda: SETTINGS.pod_log_dir("shop", word, "u1"),
        lambda: SETTINGS.pod_log_dir("shop", "web", word),
        lambda: pod_cgroup(word, "BestEffort", "cgroupfs"),
        lambda: pod_cgroup(word, "BestEffort", "systemd"),
    ):
        with pytest.raises(PodherdError, match="cannot be part of a path"):
            made()


@pytest.mark.parametrize("word", ["...", "a..b", "-", "x" * 128])
def test_any_other_word_is_taken_as_it_is(word: str) -> None:
    assert path_part("pod uid", word) == word
    assert SETTINGS.pod_dir(word) == Path("/r/pods") / word


def test_directories_have_the_kubelets_names() -> None:
    assert SETTINGS.pod_dir("u1") == Path("/r/pods/u1")
    assert SETTINGS.pod_log_dir("shop", "web", "u1") == Path("/l/shop_web_u1")
