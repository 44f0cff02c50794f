"""Which sysctls a pod may set (kubelet behaviour, section 3.11)."""

import pytest

from podherd.model.sysctls import SAFE, dotted, forbidden, namespace_of

NEW = (6, 1)


def _spec(*names, **spec):
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in names]}, **spec}


def test_a_pod_without_sysctls_is_not_asked():
    assert forbidden({}, (), (0, 0)) == forbidden({"securityContext": {}}, (), (0, 0)) == ""


def test_every_safe_sysctl_may_be_set_on_a_kernel_of_today():
    assert forbidden(_spec(*SAFE), (), NEW) == ""


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("net.ipv4.tcp_syncookies", (0, 0)), ("net.ipv4.ip_local_reserved_ports", (3, 16)),
        ("net.ipv4.tcp_keepalive_time", (4, 5)), ("net.ipv4.tcp_fin_timeout", (4, 6)),
        ("net.ipv4.tcp_notsent_lowat", (4, 6)), ("net.ipv4.tcp_rmem", (4, 15)),
        ("net.ipv4.tcp_slow_start_after_idle", (4, 15)),
    ],
)  # fmt: skip
def test_a_sysctl_is_safe_from_the_kernel_on_that_keeps_it_apart(name, first):
    assert forbidden(_spec(name), (), first) == ""
    if first != (0, 0):
        older = (first[0], first[1] - 1)
        assert forbidden(_spec(name), (), older) == f'forbidden sysctl: "{name}" not allowlisted'
        assert forbidden(_spec(name), (), (0, 0))


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("kernel.msgmax", (), True),
        ("kernel.msgmax", ("kernel.msg*",), False),
        ("kernel/msgmax", ("kernel.msg*",), False),
        ("kernel.msgmax", ("kernel/msgmax",), False),
        ("kernel.msgmax", ("kernel.msgmnb", "net.*"), True),
        ("net.core.somaxconn", ("net.core",), True),
        ("net.core.somaxconn", ("net.*",), False),
        ("net.ipv4.conf.eth0/7.forwarding", ("net.ipv4.conf.*",), False),
    ],
)
def test_others_are_allowed_by_name_or_prefix(name, allowed, refused):
    assert bool(forbidden(_spec(name), allowed, NEW)) is refused


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (_spec("net.ipv4.tcp_wmem", hostNetwork=True), '"net.ipv4.tcp_wmem" not allowed with host Net enabled'),
        (_spec("kernel.shm_rmid_forced", hostIPC=True), '"kernel.shm_rmid_forced" not allowed with host IPC enabled'),
        (_spec("user.max_user_namespaces"), '"user.max_user_namespaces" not allowed with host User enabled'),
        (_spec("user.max_user_namespaces", hostUsers=False), ""),
        (_spec("kernel.shm_rmid_forced", hostNetwork=True), ""),
    ],
)  # fmt: skip
def test_no_sysctl_of_a_namespace_that_is_the_hosts(spec, why):
    assert forbidden(spec, ("user.*",), NEW) == (f"forbidden sysctl: {why}" if why else "")


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("kernel.sem", "IPC"), ("kernel.shm*", "IPC"), ("fs.mqueue.msg_max", "IPC"), ("net.*", "Net"),
        ("net/ipv4/tcp_mem", "Net"), ("kernel.domainname", "UTS"), ("user.max_ipc_namespaces", "User"),
        ("vm.swappiness", ""), ("kernel.*", ""), ("network.x", ""),
    ],
)  # fmt: skip
def test_names_and_patterns_belong_to_a_namespace_or_to_none(name, namespace):
    assert namespace_of(name) == namespace


@pytest.mark.parametrize(
    ("written", "name"),
    [("net/ipv4/conf/eth0.7/forwarding", "net.ipv4.conf.eth0/7.forwarding"), ("a.b/c.d", "a.b/c.d"), ("one", "one")],
)
def test_slashes_may_stand_for_dots(written, name):
    assert dotted(written) == name
