"""Completion: what bash offers where, from the real commands; names of pods from an agent that may be away."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import FakeAgent, Podherd

Offered = Callable[..., list[str]]

ASK = """
PATH="$1:$PATH"
source "$2"
shift 2
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_podherd
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(agent: FakeAgent, podherd: Podherd, tmp_path: Path) -> Offered:
    """What bash offers for the last of the words; `podherd` on its PATH is this one."""
    code, script, err = podherd("completion", "bash")
    assert (code, err) == (0, "")
    (tmp_path / "script").write_text(script)
    door = tmp_path / "bin" / "podherd"
    door.parent.mkdir()
    door.write_text(f'#!/bin/sh\nexec {sys.executable} -m podherd.agent.cli "$@"\n')
    door.chmod(0o755)
    bash = shutil.which("bash") or "/bin/bash"

    def ask(*words: str) -> list[str]:
        env = {**os.environ, "PODHERD_ROOT": str(agent.root_dir)}
        command = [bash, "--norc", "-c", ASK, "bash", str(door.parent), str(tmp_path / "script"), "podherd", *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return ask


PODS = [{"name": "web-n1", "namespace": "default"}, {"name": "db-n1", "namespace": "prod"}]
CONTAINERS = {"initContainers": [{"name": "first"}], "containers": [{"name": "app"}, {"name": "side"}]}


def test_what_stands_behind_an_option_is_offered(agent: FakeAgent, offered: Offered) -> None:
    agent.say("/v1/pods", {"items": PODS})
    agent.say("/v1/pod", {"pod": {"spec": CONTAINERS}})
    assert offered("logs", "web", "-c", "") == ["app", "side", "first"]
    assert offered("exec", "-i", "pod/web", "-n", "prod", "--container", "a") == ["app"]
    assert agent.asked[-1] == ("/v1/pod", {"pod": "web", "namespace": "prod"})
    assert offered("get", "pods", "-n", "") == ["default", "prod"]
    assert offered("get", "pods", "--namespace", "=", "p") == ["prod"]
    assert offered("get", "pods", "-o", "") == ["table", "wide", "json", "yaml", "name"]
    assert offered("top", "--sort", "") == ["cpu", "memory"]
    assert offered("top", "--sort", "cpu", "-o", "j") == ["json"]
    assert offered("logs", "web", "--tail", "") == []


def test_pods_are_those_of_the_namespace_and_in_the_form_that_was_begun(agent: FakeAgent, offered: Offered) -> None:
    agent.say("/v1/pods", {"items": PODS})
    assert offered("logs", "-n", "prod", "d") == ["db-n1"]
    assert agent.asked[-1] == ("/v1/pods", {"namespace": "prod"})
    assert offered("logs", "prod/") == ["prod/db-n1"]
    assert offered("logs", "pod/w") == ["pod/web-n1"]
    assert offered("describe", "pod/d") == ["pod/db-n1"]
    assert offered("get", "pods", "web-n1", "d") == ["db-n1"]


def test_where_no_pod_belongs_none_is_offered(agent: FakeAgent, offered: Offered) -> None:
    agent.say("/v1/pods", {"items": PODS})
    assert offered("exec", "web-n1", "--", "") == []
    assert offered("exec", "web-n1", "--", "sh", "-c", "") == []
    assert offered("logs", "web-n1", "") == []
    assert offered("get", "node", "") == []
    assert offered("describe", "pod/web-n1", "") == []
    assert offered("delete", "pod", "web-n1", "") == []


def test_commands_kinds_options_and_pods_are_offered(agent: FakeAgent, offered: Offered) -> None:
    agent.say("/v1/pods", {"items": PODS})
    assert offered("de") == ["delete", "describe"]
    assert {"exec", "attach", "top", "logs", "run", "completion"} <= set(offered(""))
    assert offered("get", "") == ["pods", "node", "images"]
    assert offered("get", "pods", "w") == ["web-n1"]
    assert offered("exec", "") == ["web-n1", "db-n1"]
    assert offered("exec", "--t") == ["--tty"]
    assert offered("run", "--no-") == ["--no-register-node", "--no-watch"]
    assert offered("delete", "pod", "d") == ["db-n1"]
    assert offered("top", "no") == ["node"]
    assert offered("completion", "f") == ["fish"]
    assert offered("exec", "web", "--", "l") == []


def test_without_an_agent_there_are_no_names_and_no_words(offered: Offered, agent: FakeAgent) -> None:
    (agent.root_dir / "podherd.sock").unlink()
    assert offered("logs", "") == []


def test_the_scripts_of_the_other_shells_know_the_same_commands(podherd: Podherd) -> None:
    zsh = podherd("completion", "zsh")[1]
    assert "bashcompinit" in zsh
    assert zsh.endswith(podherd("completion", "bash")[1])
    fish = podherd("completion", "fish")[1].splitlines()
    seen = "complete -c podherd -n '__fish_seen_subcommand_from {}; and not contains -- -- (commandline -opc)'"
    assert f"{seen.format('exec')} -l container -s c -x -a '(__podherd_containers)'" in fish
    assert f"{seen.format('top')} -l sort -x -a 'cpu memory'" in fish
    words = "pods node images (podherd pod-names --begun (commandline -ct) 2>/dev/null)"
    assert f"{seen.format('get')} -a '{words}'" in fish


def test_an_unknown_shell_is_a_usage_error(podherd: Podherd) -> None:
    code, _, err = podherd("completion", "tcsh")
    assert (code, "is none of bash, zsh, fish" in err) == (2, True)
