"""A pod that the runtime names, an orphan say, is cleared away without leaving its own directories."""

from typing import Any

import pytest

from podherd.machines.pod.events import StepFailed
from podherd.machines.pod.instructions import Plan, Sync
from podherd.steps.context import Context
from podherd.steps.runner import perform


@pytest.mark.parametrize(
    ("namespace", "name", "uid"),
    [("shop", "web", ".."), ("shop", "web", "../../etc"), ("../..", "web", "u1"), ("shop", "/web", "u1")],
)
async def test_a_clean_up_whose_names_lead_elsewhere_fails_and_removes_nothing(
    bench: Any, namespace: str, name: str, uid: str
) -> None:
    kept = [bench.settings.root_dir / "pods" / "u9" / "file", bench.settings.pod_logs_dir / "a_b_u9" / "0.log"]
    for path in kept:
        path.parent.mkdir(parents=True)
        path.touch()
    synced = await perform(Context(Sync(uid, namespace, name, 1, None, Plan(clean_up=True)), bench.tools))
    assert [type(result) for result in synced.results] == [StepFailed]
    assert "cannot be part of a path" in synced.results[0].message
    assert all(path.exists() for path in kept)
    assert bench.faults == []
