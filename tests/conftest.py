"""What holds for every test."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from podherd.actors.shell import Shell

settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def fatal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Why actors of this process wanted to end it: nothing may, unless the test expects it and clears the list."""
    texts: list[str] = []
    monkeypatch.setattr(Shell, "fatal", lambda _self, text: texts.append(text))
    yield texts
    assert texts == []
