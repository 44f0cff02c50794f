"""What a test run does about the control plane's programs: find them, build them, or say in one line that it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kit import binaries

ROOT = Path(__file__).parents[2]
TEST = "tests/cluster/test_control_plane.py::test_kubectl_talks_to_it"


def made(place: Path, *names: str) -> Path:
    """A directory with programs of these names."""
    place.mkdir()
    for name in names:
        (place / name).write_text("#!/bin/sh\n")
        (place / name).chmod(0o755)
    return place


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no $KUBEBUILDER_ASSETS."""
    monkeypatch.delenv(binaries.ASSETS, raising=False)
    monkeypatch.setenv("PODHERD_CONTROL_PLANE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_programs_of_the_assets_go_before_those_of_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(cache, *binaries.NAMES)
    assert binaries.path_of("etcd") == cache / "etcd"
    monkeypatch.setenv(binaries.ASSETS, str(made(tmp_path / "assets", "etcd")))
    assert binaries.path_of("etcd") == tmp_path / "assets" / "etcd"
    assert binaries.path_of("kube-scheduler") == cache / "kube-scheduler"
    assert binaries.missing() == []


def test_the_cache_is_where_the_script_puts_it(cache: Path) -> None:
    made(cache, *binaries.NAMES)
    told = subprocess.run([binaries.SCRIPT], capture_output=True, text=True, check=True).stdout
    assert told == f"{cache}\n"


def test_the_script_and_the_tests_agree_on_the_cache_and_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PODHERD_CONTROL_PLANE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "podherd").mkdir()
    made(binaries.cache_dir(), *binaries.NAMES)
    told = subprocess.run([binaries.SCRIPT], capture_output=True, text=True, check=True).stdout
    assert told == f"{binaries.cache_dir()}\n"


def test_a_build_that_fails_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = made(tmp_path / "bin", "script") / "script"
    script.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
    monkeypatch.setattr(binaries, "SCRIPT", script)
    build = binaries.Build()
    with pytest.raises(binaries.NoControlPlaneError, match=r"no etcd kube-apiserver .*: no such module"):
        build.finish()
    build.stop()


def test_nothing_is_built_when_all_is_there(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(cache, *binaries.NAMES)
    monkeypatch.setattr(binaries, "SCRIPT", tmp_path / "nowhere")
    build = binaries.Build()
    build.begin()
    build.finish()
    build.stop()


@pytest.mark.parametrize(
    ("go", "reason"),
    [("exit 1", "no Go here to build"), ("echo go1.19.8", "go1.19.8 is too old")],
    ids=["no go", "an old go"],
)
def test_without_a_usable_go_one_line_says_so_and_the_other_tests_run(tmp_path: Path, go: str, reason: str) -> None:
    place = made(tmp_path / "bin", "go")
    (place / "go").write_text(f"#!/bin/sh\n{go}\n")
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", TEST, "tests/cluster/test_audit.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "control plane" in line)
    assert line.startswith(f"no test that needs a Kubernetes control plane runs: {reason}")
    assert "6 passed, 2 deselected" in done.stdout
