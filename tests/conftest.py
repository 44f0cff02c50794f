"""What holds for every test."""

from collections.abc import Iterator

import pytest

from podherd.actors.shell import Shell


@pytest.fixture(autouse=True)
def fatal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Why actors of this process wanted to end it: nothing may, unless the test expects it and clears the list."""
    texts: list[str] = []
    monkeypatch.setattr(Shell, "fatal", lambda _self, text: texts.append(text))
    yield texts
    assert texts == []
