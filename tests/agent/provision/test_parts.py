"""The parts of provisioning that decide without a runtime."""

import os
import socket
import tarfile
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from podherd.agent.provision import ProvisionError, config, find_socket, network, packages
from podherd.agent.provision.cleaning import mounts_under
from podherd.agent.provision.images import NAMES, write_archive
from podherd.agent.provision.sockets import listens


@pytest.fixture
def listening(tmp_path):
    """A unix socket on which somebody listens."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "live.sock"))
        server.listen()
        yield tmp_path / "live.sock"


def test_the_first_usual_socket_that_answers_is_found(tmp_path, listening):
    dead = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(dead))
    assert not listens(dead)
    assert find_socket(usual=(tmp_path / "absent", dead, listening)) == listening
    assert find_socket(usual=(tmp_path / "absent", dead)) is None


@pytest.mark.parametrize("given", ["/run/mine.sock", "unix:///run/mine.sock"])
def test_an_explicit_socket_is_taken_unseen(given):
    assert find_socket(given) == Path("/run/mine.sock")


def test_two_roots_have_two_bridges_and_names_that_fit_the_kernel(tmp_path):
    names = {network.bridge_of(tmp_path / name) for name in "ab"}
    assert len(names) == 2
    assert all(len(name) <= 15 for name in names)


def test_a_taken_subnet_is_passed_over(tmp_path):
    first = network.free_subnet(tmp_path, [])
    second = network.free_subnet(tmp_path, [first])
    assert (first.prefixlen, second.prefixlen) == (24, 24)
    assert not first.overlaps(second)
    assert not network.free_subnet(tmp_path, [IPv4Network("10.64.0.0/10")]).overlaps(IPv4Network("10.64.0.0/10"))


def test_routes_are_read_without_the_default_one():
    table = (
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n"
    )
    assert network.routes(table) == [IPv4Network("192.0.2.0/24")]


def test_a_network_once_chosen_stays(tmp_path):
    first = network.settle(tmp_path, tmp_path / "cni")
    again = network.settle(tmp_path / "another name of it", tmp_path / "cni")
    assert first == again
    assert first.gateway == str(first.subnet[1])


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", 1),
        ("containerd github.com/containerd/containerd/v2 v2.4.2 abcdef", 2),
    ],
)
def test_the_major_version_is_read(printed, major):
    assert config.major_version(printed) == major


def test_a_containerd_without_a_version_is_refused():
    with pytest.raises(ProvisionError, match="prints no version"):
        config.major_version("something else")


@pytest.mark.parametrize(("major", "version"), [(1, 2), (2, 3)])
def test_both_config_formats_say_the_same_of_this_machine(major, version):
    tomllib = pytest.importorskip("tomllib")
    text = config.text(major, Path("/r/containerd"), Path("/usr/lib/cni"), config.Ability(oom=False, apparmor=True))
    data = tomllib.loads(text)
    assert data["version"] == version
    assert data["grpc"]["address"] == "/r/containerd/containerd.sock"
    runtime = data["plugins"]["io.containerd.grpc.v1.cri" if major == 1 else "io.containerd.cri.v1.runtime"]
    assert (runtime["disable_apparmor"], runtime["restrict_oom_score_adj"]) == (False, True)
    assert runtime["cni"]["conf_dir"] == "/r/containerd/cni"


@pytest.mark.parametrize(("bits", "oom"), [("000001ffffffffff", True), ("000001fffeffffff", False)])
def test_ability_follows_the_capability(tmp_path, bits, oom):
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{bits}\n")
    assert config.ability(tmp_path / "status", tmp_path / "none") == config.Ability(oom, apparmor=False)


def test_the_archive_holds_both_images_and_is_the_same_each_time(tmp_path):
    busybox = packages.static_busybox()
    assert busybox is not None
    write_archive(tmp_path / "one.tar", busybox)
    write_archive(tmp_path / "two.tar", busybox)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as tar:
        index = tar.extractfile("index.json").read().decode()
    assert all(name in index for name in NAMES)


def test_a_shared_binary_is_not_static():
    assert not packages.is_static(Path("/bin/sh").resolve())


def test_installing_without_root_says_what_to_do(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ProvisionError, match=r"needs root .*--runtime"):
        packages.install(["containerd"], print)


def test_installing_where_there_is_no_apt_says_what_to_do(monkeypatch):
    monkeypatch.setattr(packages, "command", lambda _name: None)
    with pytest.raises(ProvisionError, match=r"no Debian or Ubuntu.*--runtime"):
        packages.install(["containerd"], print)


def test_nothing_to_install_asks_for_nothing(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    packages.install([], print)


def test_mounts_below_the_home_alone_are_found():
    info = (
        "24 1 0:1 / /r/containerd/state/a rw - tmpfs tmpfs rw\n"
        "25 1 0:1 / /r/containerd2/state rw - tmpfs tmpfs rw\n"
        "26 1 0:1 / /r/containerd/with\\040space rw - tmpfs tmpfs rw\n"
    )
    assert mounts_under(Path("/r/containerd"), info) == ["/r/containerd/state/a", "/r/containerd/with space"]
