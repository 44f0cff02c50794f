"""Namespaces, users and profiles (kubelet behaviour, section 3.11)."""

from dataclasses import replace

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.cri.conftest import HOST, container_of, sandbox_of, settings
from tests.kit.pods import pod, pod_with

from podherd.cri.convert.security import check_strict_groups
from podherd.errors import ContainerConfigError


def _security(made, **more):
    return container_of(made, **more).linux.security_context


@pytest.mark.parametrize(
    ("spec", "network", "pid", "ipc"),
    [
        ({}, pb.POD, pb.CONTAINER, pb.POD),
        ({"hostNetwork": True}, pb.NODE, pb.CONTAINER, pb.POD),
        ({"hostPID": True}, pb.POD, pb.NODE, pb.POD),
        ({"hostIPC": True}, pb.POD, pb.CONTAINER, pb.NODE),
        ({"shareProcessNamespace": True}, pb.POD, pb.POD, pb.POD),
    ],
)
def test_namespaces_are_the_same_for_sandbox_and_container(spec, network, pid, ipc):
    made = pod(spec)
    for options in (
        sandbox_of(made).linux.security_context.namespace_options,
        _security(made).namespace_options,
    ):
        assert (options.network, options.pid, options.ipc) == (network, pid, ipc)


EPHEMERAL = {"name": "debug", "image": "a:1", "targetContainerName": "app"}


@pytest.mark.parametrize(
    ("spec", "pid", "target"),
    [
        ({}, pb.TARGET, "c1"),
        ({"shareProcessNamespace": True}, pb.POD, ""),
        ({"hostPID": True}, pb.NODE, ""),
    ],
)
def test_an_ephemeral_container_sees_its_targets_processes_unless_it_sees_all_anyway(spec, pid, target):
    made = pod({**spec, "ephemeralContainers": [EPHEMERAL]})
    options = _security(made, index=1, target_id="c1").namespace_options
    assert (options.pid, options.target_id) == (pid, target)


def test_a_target_that_does_not_run_is_a_config_error_and_no_target_is_none():
    made = pod({"ephemeralContainers": [EPHEMERAL, {"name": "free", "image": "a:1"}]})
    with pytest.raises(ContainerConfigError, match='unable to find target container "app" in pod prod/web'):
        container_of(made, index=1)
    assert _security(made, index=2, target_id="c1").namespace_options.pid == pb.CONTAINER
    assert _security(made, target_id="c1").namespace_options.pid == pb.CONTAINER


@pytest.mark.parametrize("field", ["initContainers", "ephemeralContainers"])
def test_the_sandbox_is_privileged_when_any_container_of_any_kind_is(field):
    other = {"name": "x", "image": "a:1", "securityContext": {"privileged": True}}
    assert sandbox_of(pod({field: [other]})).linux.security_context.privileged
    assert not sandbox_of(pod({field: [{"name": "x", "image": "a:1"}]})).linux.security_context.privileged


@pytest.mark.parametrize(
    ("whole", "own", "image", "uid", "name"),
    [
        ({}, {}, pb.Image(), 0, ""),
        ({}, {}, pb.Image(uid=pb.Int64Value(value=70)), 70, ""),
        ({}, {}, pb.Image(username="www"), None, "www"),
        ({"runAsUser": 5}, {}, pb.Image(username="www"), 5, ""),
        ({"runAsUser": 5}, {"runAsUser": 0}, pb.Image(), 0, ""),
        ({}, {}, None, None, ""),
    ],
)
def test_the_user_is_the_containers_then_the_pods_then_the_images(whole, own, image, uid, name):
    context = _security(pod_with({"securityContext": whole}, securityContext=own), image=image)
    assert (context.run_as_user.value if context.HasField("run_as_user") else None) == uid
    assert context.run_as_username == name


@pytest.mark.parametrize(
    ("whole", "own", "image", "words"),
    [
        ({"runAsNonRoot": True}, {}, pb.Image(), "image will run as root"),
        ({}, {"runAsNonRoot": True}, pb.Image(uid=pb.Int64Value(value=0)), "image will run as root"),
        ({}, {"runAsNonRoot": True}, pb.Image(username="www"), r"non-numeric user \(www\)"),
        ({"runAsUser": 0}, {"runAsNonRoot": True}, pb.Image(), "runAsUser breaks non-root policy"),
        ({"runAsNonRoot": True}, {}, None, "image's user is not known yet, cannot verify user is non-root"),
        ({"runAsUser": 0}, {"runAsNonRoot": True}, None, "runAsUser breaks non-root policy"),
    ],
)
def test_run_as_non_root_is_refused_with_the_kubelets_words(whole, own, image, words):
    with pytest.raises(ContainerConfigError, match=words):
        container_of(pod_with({"securityContext": whole}, securityContext=own), image=image)


@pytest.mark.parametrize(
    ("whole", "own", "image"),
    [
        ({"runAsNonRoot": True, "runAsUser": 7}, {}, pb.Image()),
        ({"runAsNonRoot": True, "runAsUser": 7}, {}, None),
        ({"runAsNonRoot": True}, {}, pb.Image(uid=pb.Int64Value(value=7))),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False}, pb.Image()),
        ({"runAsUser": 0}, {"runAsNonRoot": True, "runAsUser": 7}, pb.Image()),
    ],
)
def test_run_as_non_root_is_content_with_any_other_number(whole, own, image):
    container_of(pod_with({"securityContext": whole}, securityContext=own), image=image)


def test_groups_are_fs_group_and_supplemental_each_once():
    made = pod({"securityContext": {"fsGroup": 9, "supplementalGroups": [7, 9], "supplementalGroupsPolicy": "Strict"}})
    for context in (sandbox_of(made).linux.security_context, _security(made)):
        assert list(context.supplemental_groups) == [9, 7]
        assert context.supplemental_groups_policy == pb.Strict


def test_flags_of_the_container():
    own = {
        "privileged": True,
        "readOnlyRootFilesystem": True,
        "runAsGroup": 8,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seLinuxOptions": {"level": "s0:c1"},
    }
    made = pod_with(securityContext=own)
    context = _security(made)
    assert (context.privileged, context.readonly_rootfs, context.run_as_group.value) == (True, True, 8)
    assert list(context.capabilities.add_capabilities) == ["NET_ADMIN"]
    assert list(context.capabilities.drop_capabilities) == ["ALL"]
    assert context.selinux_options.level == "s0:c1"
    assert sandbox_of(made).linux.security_context.privileged


@pytest.mark.parametrize(
    ("own", "no_new"),
    [({}, False), ({"allowPrivilegeEscalation": True}, False), ({"allowPrivilegeEscalation": False}, True)],
)
def test_no_new_privileges_only_when_escalation_is_forbidden(own, no_new):
    assert _security(pod_with(securityContext=own)).no_new_privs is no_new


PROFILE = pb.SecurityProfile


@pytest.mark.parametrize(
    ("whole", "own", "default", "kind", "reference"),
    [
        (None, None, False, PROFILE.Unconfined, ""),
        (None, None, True, PROFILE.RuntimeDefault, ""),
        ({"type": "RuntimeDefault"}, None, False, PROFILE.RuntimeDefault, ""),
        ({"type": "RuntimeDefault"}, {"type": "Unconfined"}, True, PROFILE.Unconfined, ""),
        (
            None,
            {"type": "Localhost", "localhostProfile": "a/b.json"},
            False,
            PROFILE.Localhost,
            "/var/lib/podherd/seccomp/a/b.json",
        ),
    ],
)
def test_seccomp_is_the_containers_then_the_pods_then_the_nodes(whole, own, default, kind, reference):
    made = pod_with({"securityContext": {"seccompProfile": whole}}, securityContext={"seccompProfile": own})
    seccomp = _security(made, node=settings(seccomp_default=default)).seccomp
    assert (seccomp.profile_type, seccomp.localhost_ref) == (kind, reference)
    assert sandbox_of(made).linux.security_context.seccomp.profile_type == PROFILE.RuntimeDefault


@pytest.mark.parametrize(
    ("whole", "own", "note", "found"),
    [
        (None, None, None, None),
        ({"type": "RuntimeDefault"}, None, None, (PROFILE.RuntimeDefault, "")),
        (None, None, "localhost/tight", (PROFILE.Localhost, "tight")),
        ({"type": "RuntimeDefault"}, None, "unconfined", (PROFILE.Unconfined, "")),
        (None, {"type": "Localhost", "localhostProfile": "mine"}, "unconfined", (PROFILE.Localhost, "mine")),
    ],
)
def test_apparmor_is_the_containers_then_its_annotation_then_the_pods(whole, own, note, found):
    notes = {"container.apparmor.security.beta.kubernetes.io/app": note} if note else {}
    container = {"name": "app", "image": "a:1", "securityContext": {"appArmorProfile": own}}
    made = pod({"containers": [container], "securityContext": {"appArmorProfile": whole}}, annotations=notes)
    context = _security(made)
    shown = (context.apparmor.profile_type, context.apparmor.localhost_ref) if context.HasField("apparmor") else None
    assert shown == found


def test_proc_is_masked_unless_unmasked():
    host = replace(HOST, thermal_paths=("/sys/devices/system/cpu/cpu0/thermal_throttle",))
    masked = _security(pod_with(), host=host)
    assert {"/proc/kcore", "/sys/firmware", *host.thermal_paths} <= set(masked.masked_paths)
    assert "/proc/sys" in masked.readonly_paths
    bare = _security(pod_with(securityContext={"procMount": "Unmasked"}), host=host)
    assert not bare.masked_paths
    assert not bare.readonly_paths


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kernel.msgmax", '"kernel.msgmax" not allowlisted'),
        ("net.ipv4.tcp_rmem", '"net.ipv4.tcp_rmem" not allowlisted'),
    ],
)
def test_a_sysctl_that_pods_may_not_set_here_is_refused_with_reason_and_mend(name, words):
    made = pod({"securityContext": {"sysctls": [{"name": name, "value": "1"}]}})
    with pytest.raises(ContainerConfigError, match=f"SysctlForbidden: forbidden sysctl: {words}") as refused:
        sandbox_of(made)
    assert "allowedUnsafeSysctls" in refused.value.mend
    node = settings(allowed_unsafe_sysctls=("kernel.msg*",))
    host = replace(HOST, kernel=(6, 1))
    assert dict(sandbox_of(made, node=node, host=host).linux.sysctls) == {name: "1"}


def test_strict_groups_need_a_runtime_that_knows_them():
    with pytest.raises(ContainerConfigError, match="SupplementalGroupsPolicy=Strict is not supported in this node"):
        check_strict_groups(pb.RuntimeFeatures())
    check_strict_groups(pb.RuntimeFeatures(supplemental_groups_policy=True))


def test_sysctls_have_dots_also_where_slashes_were_written():
    sysctls = [
        {"name": "kernel.shm_rmid_forced", "value": "1"},
        {"name": "net/ipv4/conf/eth0.7/forwarding", "value": "1"},
    ]
    made = pod({"securityContext": {"sysctls": sysctls, "runAsUser": 4, "runAsGroup": 5}})
    linux = sandbox_of(made, node=settings(allowed_unsafe_sysctls=("net.*",))).linux
    assert dict(linux.sysctls) == {"kernel.shm_rmid_forced": "1", "net.ipv4.conf.eth0/7.forwarding": "1"}
    assert (linux.security_context.run_as_user.value, linux.security_context.run_as_group.value) == (4, 5)
