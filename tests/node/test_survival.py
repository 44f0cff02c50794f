"""Anything of the agent may be killed at any moment: no container restarts, and the next edit acts."""

import re
import time
from collections.abc import Callable

import pytest
from tests.kit.agent import Agent, alive, kill, looping
from tests.kit.processes import command_line
from tests.kit.waiting import until

from podherd.agent.provision import Containerd

ACTORS = ("sources", "pleg", "pod_shard-0", "pod_shard-1", "node", "server")
RAY = ("raylet", "gcs_server", "driver")
WAIT_S = 60.0
LOOPING = re.compile(rb"echo (\S+); while")


class Running:
    """What truly runs, read from the runtime and never from the agent."""

    def __init__(self, runtime: Containerd) -> None:
        self._runtime = runtime

    def words(self) -> dict[str, int]:
        """The word of each running `looping` container and its process id."""
        found = {}
        for line in self._runtime.ctr("tasks", "ls").splitlines()[1:]:
            _id, pid, state = line.split()
            if state == "RUNNING" and (match := LOOPING.search(command_line(int(pid)))):
                found[match[1].decode()] = int(pid)
        return found


@pytest.fixture
def running(runtime: Containerd) -> Running:
    """The runtime's own word on what runs."""
    return Running(runtime)


async def edit(agent: Agent, running: Running, word: str) -> float:
    """Change the `edited` pod's command and wait until only the new one runs beside `kept`; seconds to the start."""
    begin = time.monotonic()
    agent.put("edited", looping("edited", word))
    await until(lambda: word in running.words(), WAIT_S)
    took_s = time.monotonic() - begin
    await until(lambda: set(running.words()) == {"kept", word}, WAIT_S)
    return took_s


async def begin(agent: Agent, running: Running) -> int:
    """Two pods, `kept` and `edited`; the process of `kept`, which nothing may end from here on."""
    agent.put("kept", looping("kept", "kept"))
    await edit(agent, running, "first")
    return running.words()["kept"]


@pytest.mark.timeout(400)
async def test_a_dead_actor_restarts_no_container_and_the_next_edit_acts(
    agent: Agent, running: Running, figure: Callable[[str], None]
) -> None:
    kept = await begin(agent, running)
    figure(f"manifest edit to the new container running: {await edit(agent, running, 'second'):.1f} s")
    for name in ACTORS:
        kill(agent.processes()[name])
        figure(f"edit right after SIGKILL of {name}: acted after {await edit(agent, running, f'after-{name}'):.1f} s")
        assert running.words()["kept"] == kept


@pytest.mark.timeout(400)
async def test_a_dead_ray_process_restarts_no_container_and_the_next_edit_acts(
    agent: Agent, running: Running, figure: Callable[[str], None]
) -> None:
    kept = await begin(agent, running)
    for name in RAY:
        victim = agent.processes()[name]
        kill(victim)
        figure(f"edit right after SIGKILL of {name}: acted after {await edit(agent, running, f'after-{name}'):.1f} s")
        assert running.words()["kept"] == kept
        await until(lambda dead=victim: not alive(dead), WAIT_S)


@pytest.mark.timeout(400)
async def test_a_runtime_that_dies_and_returns_costs_no_container(
    agent: Agent, running: Running, runtime: Containerd, figure: Callable[[str], None]
) -> None:
    kept = await begin(agent, running)
    runtime.kill9()
    agent.put("edited", looping("edited", "while-away"))
    runtime.start()
    back = time.monotonic()
    await until(lambda: set(running.words()) == {"kept", "while-away"}, WAIT_S)
    figure(f"edit while containerd was dead: acted {time.monotonic() - back:.1f} s after its return")
    assert running.words()["kept"] == kept
    await edit(agent, running, "afterwards")
    assert running.words()["kept"] == kept


@pytest.mark.timeout(400)
async def test_a_stopped_agent_leaves_containers_and_the_next_adopts_them(
    agent: Agent, running: Running, runtime: Containerd
) -> None:
    kept = await begin(agent, running)
    assert await agent.stop() == 0
    assert running.words()["kept"] == kept
    agent.start()
    await edit(agent, running, "second")
    assert running.words()["kept"] == kept
    for name in ("kept", "edited"):
        (agent.manifests / f"{name}.yaml").unlink()
    await until(lambda: not runtime.ctr("containers", "ls", "-q").split(), WAIT_S)
    await until(lambda: not list((agent.root / "agent" / "pods").iterdir()), WAIT_S)
    await until(lambda: not list((agent.root / "logs" / "pods").iterdir()), WAIT_S)


@pytest.mark.timeout(400)
async def test_an_agent_whose_parent_is_killed_leaves_no_process_and_no_container_ends(
    agent: Agent, running: Running
) -> None:
    kept = await begin(agent, running)
    processes = agent.processes()
    kill(agent.pid)
    await until(lambda: not any(alive(pid) for pid in processes.values()), 30.0)
    assert running.words()["kept"] == kept
    agent.start()
    await edit(agent, running, "second")
    assert running.words()["kept"] == kept


@pytest.mark.timeout(400)
async def test_a_drained_agent_leaves_nothing_running(agent: Agent, running: Running) -> None:
    await begin(agent, running)
    await agent.stop()
    agent.start("--drain-on-exit")
    await edit(agent, running, "second")
    assert await agent.stop() == 0
    assert running.words() == {}
