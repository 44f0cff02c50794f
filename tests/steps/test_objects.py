"""Pods of an API server whose start waits for what they refer to."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.objects import packed
from tests.kit.virtual_loop import run_virtually
from tests.kit.volumes import unmounted_after

from podherd.errors import CriError
from podherd.machines.objects import references
from podherd.machines.pod.events import SandboxFailed, Started, StartFailed, StepFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps.known_objects import KnownObjects
from podherd.steps.objects import DEADLINE_S
from podherd.steps.runner import perform
from podherd.wire.codec import pack
from podherd.wire.objects import Needs, ObjectState, Ref

MAP = Ref("ConfigMap", "shop", "c")
SECRET = Ref("Secret", "shop", "s")
OWN, DEFAULT = Ref("Services", "shop", ""), Ref("Services", "default", "")
START = Plan(sandbox_id="s0", start=(StartContainer("web", 0),))
FROM_MAP = {"name": "V", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}


def state(ref: Ref, body: Any = None, problem: str = "", missing: bool = False) -> ObjectState:
    return ObjectState((ref,), b"" if body is None else pack(body), problem, missing)


def data(**values: str) -> dict[str, Any]:
    return {"data": values}


@pytest.fixture(autouse=True)
def sent(bench: Any) -> list[Needs]:
    """What the objects actor was asked for; services are known."""
    asked: list[Needs] = []
    bench.tools.objects = KnownObjects(asked.append)
    return asked


def tell(bench: Any, *states: ObjectState) -> list[tuple[str, ...]]:
    return [bench.tools.objects.take(each) for each in states]


def held(file: Path) -> bytes:
    return file.read_bytes()


def tell_services(bench: Any) -> None:
    ports = [{"name": "", "port": 443, "protocol": "TCP"}]
    kubernetes = {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": "10.0.0.1", "ports": ports}}
    tell(bench, state(OWN, []), state(DEFAULT, [kubernetes]))


def config_of(bench: Any) -> Any:
    return next(call[2] for call in bench.cri.calls if call[0] == "create_container")


def test_what_plugins_of_the_tools_must_be_told_is_asked_for_too(bench: Any, make_pod: Any, sent: list[Needs]) -> None:
    account = Ref("ServiceAccount", "shop", "default")
    tools = replace(bench.tools, objects=KnownObjects(sent.append))
    assert tools.objects.also == tools.credentials.refs
    bench.tools.objects.also = lambda _pod, _look: (account,)
    bench.tools.objects.want(make_pod())
    assert account in sent[-1].refs


async def test_a_start_waits_until_everything_is_told(bench: Any, make_pod: Any, sent: list[Needs]) -> None:
    pod = make_pod({}, {"name": "web", "env": [FROM_MAP]})
    assert set(references.references(pod)) == {MAP, OWN, DEFAULT}
    work = asyncio.ensure_future(perform(bench.context(START, pod)))
    await bench.until(lambda: sent)
    assert sent == [Needs("u1", references.references(pod))]
    tell_services(bench)
    assert bench.cri.calls == []
    assert tell(bench, state(MAP, data(k="v"))) == [("u1",)]
    synced = await work
    assert isinstance(synced.results[0], Started)
    variables = {each.key: each.value for each in config_of(bench).envs}
    assert variables["V"] == "v"
    assert variables["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"
    assert len(sent) == 1


async def test_services_are_waited_for_while_the_sandbox_is_made(bench: Any, make_pod: Any) -> None:
    work = asyncio.ensure_future(perform(bench.context(replace(START, sandbox_id="", make_sandbox=0), make_pod())))
    await bench.until(lambda: "run_sandbox" in bench.cri.methods())
    assert "create_container" not in bench.cri.methods()
    tell_services(bench)
    assert isinstance((await work).results[-1], Started)


async def test_what_a_variable_needs_is_waited_for_before_the_sandbox(
    bench: Any, make_pod: Any, sent: list[Needs]
) -> None:
    pod = make_pod({}, {"name": "web", "env": [FROM_MAP]})
    work = asyncio.ensure_future(perform(bench.context(replace(START, sandbox_id="", make_sandbox=0), pod)))
    await bench.until(lambda: sent)
    tell_services(bench)
    await asyncio.sleep(0)
    assert bench.cri.calls == []
    tell(bench, state(MAP, data(k="v")))
    assert isinstance((await work).results[-1], Started)


def test_waiting_ends_with_the_last_answer_not_by_polling(bench: Any, make_pod: Any, sent: list[Needs]) -> None:
    pod = make_pod({}, {"name": "web", "env": [FROM_MAP]})

    async def story() -> tuple[Ref, ...]:
        known = asyncio.ensure_future(bench.tools.objects.known(pod, 1000))
        await asyncio.sleep(0)
        tell_services(bench)
        await asyncio.sleep(0)
        assert not known.done()
        tell(bench, state(MAP, problem='configmap "c" not found', missing=True))
        late: tuple[Ref, ...] = await known
        assert asyncio.get_running_loop().time() == 0
        return late

    assert run_virtually(story()) == ()
    assert len(sent) == 1


def test_what_is_not_told_in_time_fails_only_what_needs_it(bench: Any, make_pod: Any) -> None:
    pod = make_pod({}, {"name": "web", "env": [FROM_MAP]}, {"name": "free"})
    plan = Plan(sandbox_id="s0", start=(StartContainer("web", 0), StartContainer("free", 0)))

    async def story() -> Any:
        bench.tools.objects.want(pod)
        tell_services(bench)
        synced = await perform(bench.context(plan, pod))
        assert asyncio.get_running_loop().time() == pytest.approx(DEADLINE_S, abs=0.1)
        return synced

    failed, started = run_virtually(story()).results
    words = "failed to sync configmap cache: timed out waiting for the condition"
    assert failed == StartFailed("web", "CreateContainerConfigError", words)
    assert isinstance(started, Started)


def test_services_that_are_not_known_are_a_config_error(bench: Any, make_pod: Any) -> None:
    synced = run_virtually(perform(bench.context(START, make_pod())))
    words = "services have not yet been read at least once, cannot construct envvars"
    assert synced.results == (StartFailed("web", "CreateContainerConfigError", words),)
    assert ("Warning", "Failed", f"Error: {words}") in bench.told()


async def test_a_missing_object_is_one_containers_config_error(bench: Any, make_pod: Any) -> None:
    pod = make_pod({}, {"name": "web", "env": [FROM_MAP]})
    bench.tools.objects.want(pod)
    tell_services(bench)
    tell(bench, state(MAP, problem='configmap "c" not found', missing=True))
    synced = await perform(bench.context(START, pod))
    assert synced.results == (StartFailed("web", "CreateContainerConfigError", 'configmap "c" not found'),)
    assert ("Warning", "Failed", 'Error: configmap "c" not found') in bench.told()


async def test_static_pods_wait_for_nothing_and_need_nothing(bench: Any, make_pod: Any, sent: list[Needs]) -> None:
    pod = make_pod(annotations={"kubernetes.io/config.source": "file"})
    assert isinstance((await perform(bench.context(START, pod))).results[0], Started)
    assert sent == []


async def test_a_missing_volume_halts_the_start_in_the_kubelets_words(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 420}}]})
    bench.tools.objects.want(pod)
    tell_services(bench)
    tell(bench, state(MAP, problem='configmap "c" not found', missing=True))
    synced = await perform(bench.context(START, pod))
    assert isinstance(synced.results[0], StepFailed)
    assert bench.told() == [
        ("Warning", "FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "c" not found')
    ]


async def test_a_refresh_writes_changed_files_and_its_failure_stops_nothing(
    bench: Any, make_pod: Any, tmp_path: Path
) -> None:
    pod = make_pod({"volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}]})
    bench.tools.objects.want(pod)
    tell_services(bench)
    tell(bench, state(SECRET, {"data": packed({"k": b"1"})}))
    refresh = replace(START, start=(), refresh=True)
    with unmounted_after(tmp_path):
        assert isinstance((await perform(bench.context(START, pod))).results[0], Started)
        file = Path(bench.settings.root_dir, "pods/u1/volumes/kubernetes.io~secret/v/k")
        assert held(file) == b"1"
        assert tell(bench, state(SECRET, {"data": packed({"k": b"2"})})) == [("u1",)]
        assert (await perform(bench.context(refresh, pod))).results == ()
        assert held(file) == b"2"
        tell(bench, state(SECRET, problem='secret "s" not found', missing=True))
        context = bench.context(refresh, pod)
        (failed,) = (await perform(context)).results
        assert isinstance(failed, StepFailed)
        assert not context.halted
        assert held(file) == b"2"
    assert "FailedMount" in bench.reasons()


async def test_what_a_claim_leads_to_is_asked_for_as_it_becomes_known(
    bench: Any, make_pod: Any, sent: list[Needs]
) -> None:
    pod = make_pod({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]})
    objects = bench.tools.objects
    objects.want(pod)
    claim, volume = Ref("PersistentVolumeClaim", "shop", "data"), Ref("PersistentVolume", "", "pv")
    tell(bench, state(claim, {"spec": {"volumeName": "pv"}}))
    assert volume in sent[-1].refs
    csi = {"driver": "d.test", "nodePublishSecretRef": {"namespace": "kube-system", "name": "p"}}
    tell(bench, state(volume, {"spec": {"csi": csi}}))
    tell(bench, state(Ref("CSIDriver", "", "d.test"), {"spec": {"tokenRequests": [{"audience": "a"}]}}))
    assert Ref("Secret", "kube-system", "p") in sent[-1].refs
    assert "ServiceAccountToken" in [ref.kind for ref in sent[-1].refs]
    assert objects.needs() == (sent[-1],)
    objects.drop(pod.uid)
    assert sent[-1] == Needs("u1", ())
    assert objects.needs() == ()
    assert tell(bench, state(claim, {})) == [()]


async def test_a_change_of_services_alone_concerns_no_running_pod(bench: Any, make_pod: Any) -> None:
    bench.tools.objects.want(make_pod())
    assert tell(bench, state(OWN, []), state(OWN, [{"metadata": {"name": "x"}}])) == [("u1",), ()]


async def test_the_handler_is_what_the_runtime_class_says(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"runtimeClassName": "gvisor"})
    bench.tools.objects.want(pod)
    tell_services(bench)
    tell(bench, state(references.runtime_class("gvisor"), {"handler": "runsc"}))
    await perform(bench.context(Plan(make_sandbox=0), pod))
    assert next(call[2] for call in bench.cri.calls if call[0] == "run_sandbox") == "runsc"


async def test_an_unknown_runtime_class_makes_no_sandbox(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"runtimeClassName": "gvisor"})
    bench.tools.objects.want(pod)
    tell_services(bench)
    words = 'runtimeclass.node.k8s.io "gvisor" not found'
    tell(bench, state(references.runtime_class("gvisor"), problem=words, missing=True))
    synced = await perform(bench.context(Plan(make_sandbox=0), pod))
    assert synced.results == (SandboxFailed(words),)
    assert "run_sandbox" not in bench.cri.methods()
    assert bench.told()[-1] == ("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {words}")


async def test_a_refused_pull_names_the_secrets_that_were_missing(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"imagePullSecrets": [{"name": "s"}]}, {"name": "web", "image": "reg.test/private:1"})
    bench.tools.objects.want(pod)
    tell_services(bench)
    tell(bench, state(SECRET, problem='secret "s" not found', missing=True))
    bench.cri.fail["pull_image"] = CriError("CRI PullImage", "UNKNOWN", "401 Unauthorized")
    await perform(bench.context(START, pod))
    assert (
        "Warning",
        "FailedToRetrieveImagePullSecret",
        "Unable to retrieve some image pull secrets (s); attempting to pull the image may not succeed.",
    ) in bench.told()
