"""The end of every schedule: all goes well from now on, and what must then be true."""

from typing import Any

from tests.flow.laws import law
from tests.flow.script import runs_again
from tests.flow.world import World

from podherd.model.pod import Container, ContainerKind, Pod
from podherd.model.status import TERMINAL
from podherd.server.pod_table import status_of
from podherd.wire import codec

STEP_S = 10.0
QUIET_S = 100.0
PATIENCE_S = 1500.0


def settle(world: World) -> None:
    """Let everything work until nothing has been done for a while."""
    _mend(world)
    runtime, timeline = world.runtime, world.timeline
    end, quiet_since, done = timeline.now + PATIENCE_S, timeline.now, -1
    while timeline.now < quiet_since + QUIET_S:
        law(timeline.now < end, "it never comes to rest")
        timeline.run_until(timeline.now + STEP_S)
        if runtime.changes != done or any(shard.flights for shard in world.shard_actors):
            quiet_since, done = timeline.now, runtime.changes


def _mend(world: World) -> None:
    timeline, runtime, bus = world.timeline, world.runtime, world.bus
    timeline.run_until(timeline.now + 65.0)  # what was to come back by itself is back
    runtime.calm = True
    runtime.p_slow = runtime.p_fail = bus.p_lost = bus.p_twice = 0.0
    runtime.away, runtime.network, world.url_away = False, True, False
    runtime.lacking.clear()
    bus.delays.clear()
    for path in [path for path, manifest in world.files.items() if manifest is None]:
        world.write(path, world.was[path])
    for proc in runtime.procs.values():
        pod = world.specs.get(proc.box.uid)
        inits = [] if pod is None else [each.name for each in pod.init_containers if each.kind is ContainerKind.INIT]
        if proc.state == "running" and proc.name in inits and proc.program.life_s is None:
            runtime.end(proc, 0)  # it was a sidecar before an edit under the same uid


def check_rest(world: World) -> None:
    if world.draining:
        live = [proc.name for proc in world.runtime.procs.values() if proc.state == "running"]
        law(not live, f"{live} run after the drain")
        law(world.observer.drained == set(world.peers("pod_shard")), "the end of the drain was never told")
        return
    wanted = {pod.uid: pod.namespace for pod in world.truth().values()} | dict.fromkeys(world.api, "default")
    rows = {row.uid: row for row in world.observer.pods.rows()}
    deleted = [uid for uid, body in world.api.items() if "deletionTimestamp" in body["metadata"]]
    law(not deleted, f"deleted, and never let go: {deleted}")
    law(world.volumes <= set(wanted), f"volumes left: {sorted(world.volumes - set(wanted))}")
    held = {box.uid for box in world.runtime.boxes.values()}
    law(set(rows) == set(wanted), f"the server knows {sorted(rows)}, wanted are {sorted(wanted)}")
    law(held <= set(wanted), f"left in the runtime: {sorted(held - set(wanted))}")
    law(
        world.dirs <= set(wanted) or not world.tells_left_behind,
        f"left on the disk: {sorted(world.dirs - set(wanted))}",
    )
    for shard in world.shard_actors:
        law(not shard.unsent, f"{shard.name} has news that nobody has heard")
    for uid, row in rows.items():
        _check_spec(world, uid)
        _check_pod(world, uid, status_of(row))


def _check_spec(world: World, uid: str) -> None:
    """The last edit has won."""
    want = next((pod for pod in world.truth().values() if pod.uid == uid), None)
    body = world.api[uid] if want is None else codec.unpack(want.body)
    law(world.specs[uid].body["spec"] == body["spec"], f"{uid} is not as last wanted")


def _check_pod(world: World, uid: str, status: dict[str, Any]) -> None:
    pod, phase = world.specs[uid], status["phase"]
    running = {proc.name: proc for proc in world.runtime.of(uid) if proc.state == "running"}
    law(not (phase in TERMINAL and running), f"{uid} has ended and runs")
    law(phase not in TERMINAL or uid not in world.volumes, f"{uid} has ended and holds volumes")
    law(phase in TERMINAL or uid not in world.refusals, f"{uid} was refused and is {phase}")
    if not status.get("containerStatuses"):
        law(uid in world.refusals, f"{uid} has no statuses of its containers")
        return
    late = pod.active_deadline_s and world.clock_off_s >= 0
    law(phase in TERMINAL or not late, f"{pod.name} is active after its deadline")
    for container, told in _told(pod, status):
        state, proc = told["state"], running.get(container.name)
        where = f"{container.name} of {pod.name}"
        law(("running" in state) == (proc is not None), f"{where} is not {state}")
        if proc is not None:
            law(told["restartCount"] == proc.attempt, f"{where}: restart count {told['restartCount']}")
            law(told["containerID"].endswith(f"//{proc.id}"), f"{where}: another container")
            law(told["ready"] or container.kind not in (ContainerKind.REGULAR, ContainerKind.SIDECAR), where)
        elif phase not in TERMINAL:
            _check_stopped(world, pod, container, state)
    ready = [box for box in world.runtime.boxes.values() if box.uid == uid and box.ready]
    law(not running or status.get("podIP") == ready[0].ip, f"{pod.name}: podIP {status.get('podIP')}")


def _told(pod: Pod, status: dict[str, Any]) -> list[tuple[Container, dict[str, Any]]]:
    """Each container of the spec with its status."""
    lists = (
        (pod.init_containers, "initContainerStatuses"),
        (pod.containers, "containerStatuses"),
        (pod.ephemeral_containers, "ephemeralContainerStatuses"),
    )
    found = []
    for containers, kind in lists:
        by_name = {told["name"]: told for told in status.get(kind) or ()}
        law(set(by_name) == {each.name for each in containers}, f"{kind} of {pod.name}: {sorted(by_name)}")
        found += [(container, by_name[container.name]) for container in containers]
    return found


def _check_stopped(world: World, pod: Pod, container: Container, state: dict[str, Any]) -> None:
    """A container that does not run at rest: it is done by its policy, or the status says why."""
    where = f"{container.name} of {pod.name}: {state}"
    if ended := state.get("terminated"):
        if container.kind is ContainerKind.REGULAR:
            again = runs_again(container.body, pod.restart_policy, ended["exitCode"])
            law(not again, f"not restarted: {where}")
        else:
            # A pod of policy Never that lost its sandbox gets no second one (kubelet behaviour, section 3.1).
            sidecar = container.kind is ContainerKind.SIDECAR
            law(not sidecar or pod.restart_policy == "Never", f"a sidecar is down: {where}")
    else:
        reason, never = (state.get("waiting") or {}).get("reason", ""), pod.restart_policy == "Never"
        law(reason or never, f"does not say why it waits: {where}")
        lasting = never or container.kind is ContainerKind.EPHEMERAL
        law(lasting and reason != "CrashLoopBackOff", f"waits for ever: {where}")
    law(world.runtime.calm, where)
