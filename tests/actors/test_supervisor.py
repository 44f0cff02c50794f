"""What the supervisor decides about directories and Ray's flags, without a Ray that runs."""

import os
from pathlib import Path

import pytest

from podherd.actors import ray_settings, supervisor
from podherd.actors.supervisor import RayStartError
from podherd.errors import PodherdError
from podherd.model.settings import Settings


def test_ray_lives_in_the_root_dir_when_its_sockets_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_settings, "SOCKET_DIR_BYTES", 200)
    assert ray_settings.ray_dir_of(tmp_path) == tmp_path / "run" / "ray"


def test_a_long_root_dir_gets_one_and_the_same_short_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_settings.tempfile, "gettempdir", lambda: str(tmp_path))
    root = tmp_path / ("x" * 60)
    place = ray_settings.ray_dir_of(root)
    assert place.parent.parent == tmp_path
    assert place == ray_settings.ray_dir_of(root)
    assert place != ray_settings.ray_dir_of(tmp_path / ("y" * 60))
    assert place.parent.stat().st_mode & 0o777 == 0o700
    place.mkdir(mode=0o777)
    assert place == ray_settings.ray_dir_of(root), "Ray's own opening of its directory must not stop the next start"


def test_a_place_that_others_can_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_settings.tempfile, "gettempdir", lambda: str(tmp_path))
    place = ray_settings.ray_dir_of(tmp_path / ("x" * 60))
    place.parent.chmod(0o755)
    with pytest.raises(PodherdError, match="not ours alone"):
        ray_settings.ray_dir_of(tmp_path / ("x" * 60))


def test_a_place_outside_the_root_goes_with_the_agent_and_one_inside_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_settings.tempfile, "gettempdir", lambda: str(tmp_path))
    long_root = tmp_path / ("x" * 60)
    place = ray_settings.ray_dir_of(long_root)
    (place / "session").mkdir(parents=True)
    place.chmod(0o777)  # as Ray does
    ray_settings.remove_outside_dir(long_root)
    ray_settings.remove_outside_dir(long_root)
    assert not place.parent.exists()
    monkeypatch.setattr(ray_settings, "SOCKET_DIR_BYTES", 200)
    inside = ray_settings.ray_dir_of(tmp_path)
    inside.mkdir()
    ray_settings.remove_outside_dir(tmp_path)
    assert inside.exists()


def test_old_sessions_go_but_for_the_last(tmp_path: Path) -> None:
    for day in ("01", "02", "03"):
        (tmp_path / f"session_2026-12-{day}_00-00-00_000000_1" / "logs").mkdir(parents=True)
    (tmp_path / "session_latest").symlink_to(tmp_path / "session_2026-12-03_00-00-00_000000_1")
    supervisor.remove_old_sessions(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["session_2026-12-03_00-00-00_000000_1", "session_latest"]


def test_the_raylets_agents_are_replaced_and_changed_flags_are_an_error() -> None:
    command = ["raylet", "--dashboard_agent_command=python a", "--runtime_env_agent_command=python b", "--head"]
    assert supervisor._without_agents(command) == [
        "raylet",
        '--dashboard_agent_command=/bin/sh -c "exec cat"',
        '--runtime_env_agent_command=/bin/sh -c "exec cat"',
        "--head",
    ]
    with pytest.raises(RayStartError, match="flags have changed"):
        supervisor._without_agents(["raylet", "--dashboard_agent_command=python a"])


def test_the_driver_gets_our_ray_settings_and_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    monkeypatch.setenv("RAY_event_stats", "1")
    monkeypatch.setenv("KEPT", "yes")
    token = ray_settings.new_token(tmp_path)
    environment = ray_settings.environment(token, "7-abc.1")
    assert "RAY_ADDRESS" not in environment
    assert (environment["RAY_event_stats"], environment["KEPT"]) == ("0", "yes")
    assert (environment["RAY_AUTH_MODE"], environment["RAY_AUTH_TOKEN_PATH"]) == ("token", str(token))
    assert environment[ray_settings.MARKER] == "7-abc.1"


def test_each_start_has_a_token_of_its_own_that_only_the_owner_reads(tmp_path: Path) -> None:
    first = ray_settings.new_token(tmp_path).read_text()
    path = ray_settings.new_token(tmp_path)
    assert path.read_text() != first
    assert len(path.read_text()) >= 32
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_actors_time_is_that_of_its_pid_and_not_of_its_last_answer(tmp_path: Path) -> None:
    now = [1.0]
    reports: list[tuple[float, int, bool]] = []
    settings = Settings(node_name="n1", root_dir=tmp_path, runtime_endpoint="")
    watcher = supervisor.Supervisor(
        settings, lambda seen, new: reports.append((seen[0].at, seen[0].restarts, new)), lambda: now[0]
    )
    for at, pid in ((1.0, 7), (2.0, 7), (3.0, 8), (4.0, 8)):
        now[0] = at
        watcher._note("pleg", pid)
    assert reports == [(1.0, 0, True), (1.0, 0, False), (3.0, 1, True), (3.0, 1, False)]


async def test_an_actor_that_gets_stuck_on_its_way_back_is_killed_through_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, killed = [0.0], []
    settings = Settings(node_name="n1", root_dir=tmp_path, runtime_endpoint="")
    watcher = supervisor.Supervisor(settings, lambda *_: None, lambda: now[0])
    watcher._handles = {"pleg": "handle"}
    monkeypatch.setattr(supervisor.ray, "kill", lambda handle, no_restart: killed.append((handle, no_restart)))
    monkeypatch.setattr(supervisor, "RETRY_S", 0.0)
    for now[0] in (0.0, supervisor.PING_WITHIN_S, supervisor.PING_WITHIN_S + 1):
        await watcher._unavailable("pleg")
    assert killed == [("handle", False)]
    now[0] += 5
    await watcher._unavailable("pleg")
    watcher._note("pleg", 9)
    now[0] += supervisor.PING_WITHIN_S + 1
    await watcher._unavailable("pleg")
    assert len(killed) == 1, "an answer in between begins the time anew"


def test_a_pid_that_went_to_a_stranger_is_not_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = []
    settings = Settings(node_name="n1", root_dir=tmp_path, runtime_endpoint="")
    watcher = supervisor.Supervisor(settings, lambda *_: None, lambda: 0.0)
    watcher._handles = {"pleg": "handle"}
    watcher._note("pleg", os.getpid())
    monkeypatch.setattr(supervisor.ray, "kill", lambda handle, **_: killed.append(handle))
    watcher._kill("pleg")
    assert killed == ["handle"]
