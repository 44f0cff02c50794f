"""Resources of containers that run on (kubelet behaviour, section 3.2)."""

from tests.steps.conftest import Bench, ScriptedCri, make_pod

from podherd.errors import CriError
from podherd.machines.pod.events import StepFailed
from podherd.machines.pod.instructions import Plan, ResizeContainer
from podherd.model.pod import Pod
from podherd.steps.runner import perform

MIB = 1 << 20
PLAN = Plan(sandbox_id="s0", resize=(ResizeContainer("a-0", "a"), ResizeContainer("b-0", "b")))


def sized() -> Pod:
    """`a` may have 64 MiB, `b` 32."""
    limits = {"a": "64Mi", "b": "32Mi"}
    return make_pod(
        {}, *({"name": name, "resources": {"limits": {"memory": limit, "cpu": "1"}}} for name, limit in limits.items())
    )


def given(cri: ScriptedCri) -> dict[str, int]:
    """Memory limits by container id, in MiB."""
    return {call[1]: call[2].memory_limit_in_bytes // MIB for call in cri.calls if call[0] == "update_resources"}


async def test_each_container_is_given_what_its_spec_grants(bench: Bench, cri: ScriptedCri) -> None:
    assert (await perform(bench.context(PLAN, sized()))).results == ()
    assert given(cri) == {"a-0": 64, "b-0": 32}


async def test_memory_that_is_in_use_is_not_taken_away_and_others_are_resized(bench: Bench, cri: ScriptedCri) -> None:
    cri.used_bytes = 40 * MIB
    (failed,) = (await perform(bench.context(PLAN, sized()))).results
    why = f'attempting to set container "b" memory limit ({32 * MIB}) below current usage ({40 * MIB})'
    assert failed == StepFailed("resize", f'container "b": cannot decrease memory limits: {why}')
    assert given(cri) == {"a-0": 64}


async def test_what_the_runtime_says_against_it_is_told(bench: Bench, cri: ScriptedCri) -> None:
    cri.fail["update_resources"] = CriError("CRI UpdateContainerResources", "UNKNOWN", "device busy")
    results = (await perform(bench.context(PLAN, sized()))).results
    assert [each.message for each in results if isinstance(each, StepFailed)] == [
        'container "a": device busy', 'container "b": device busy',
    ]  # fmt: skip
