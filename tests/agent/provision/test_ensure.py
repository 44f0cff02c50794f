"""Which runtime is taken."""

import os

import pytest
from tests.kit.hollow import own_hollow

from podherd.agent.provision import Endpoint, ProvisionError, ensure, ensure_runtime


def test_the_hosts_runtime_is_used_when_there_is_one(tmp_path, monkeypatch):
    said: list[str] = []
    with own_hollow() as runtime:
        monkeypatch.setattr(ensure, "find_socket", lambda: runtime.socket)
        assert ensure_runtime(tmp_path, said.append) == Endpoint(runtime.endpoint)
    assert said == [f"using the runtime at {runtime.socket}"]
    assert not (tmp_path / "containerd").exists()


def test_a_hosts_runtime_that_is_of_no_use_is_named_and_passed_over(tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(ensure, "find_socket", lambda: tmp_path / "dead.sock")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ProvisionError, match="needs root"):
        ensure_runtime(tmp_path, said.append)
    assert said[0].startswith(f"{tmp_path}/dead.sock cannot be used: CRI Version: ")
