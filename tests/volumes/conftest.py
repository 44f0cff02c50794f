"""A pod's directory that leaves no mount behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.volumes import unmounted_after


@pytest.fixture
def pod_dir(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "pods" / "u1"
    path.mkdir(parents=True)
    with unmounted_after(tmp_path):
        yield str(path)
