"""What holds for every test."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.kit.cluster_fixtures import *  # noqa: F403 the fixtures and hooks of tests with a control plane

from podherd.actors.shell import Shell

# A shell starts what runs in the background with SIGINT ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: how long an example takes says how busy the machine is.
settings.register_profile("default", deadline=None)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def fatal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Why actors of this process wanted to end it: nothing may, unless the test expects it and clears the list."""
    texts: list[str] = []
    monkeypatch.setattr(Shell, "fatal", lambda _self, text: texts.append(text))
    yield texts
    assert texts == []
