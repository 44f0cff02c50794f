"""Labels, annotations and metadata (kubelet behaviour, section 3.9)."""

from tests.cri.conftest import container_of, sandbox_of
from tests.kit.pods import pod, pod_with

NAMES = {
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "prod",
    "io.kubernetes.pod.uid": "uid-1",
}


def test_sandbox_has_the_pods_labels_its_names_and_its_annotations_unchanged():
    config = sandbox_of(pod(labels={"app": "x"}, annotations={"kubernetes.io/config.source": "file", "n": "1"}))
    assert dict(config.labels) == {"app": "x", **NAMES}
    assert dict(config.annotations) == {"kubernetes.io/config.source": "file", "n": "1"}
    assert (config.metadata.name, config.metadata.namespace, config.metadata.uid) == ("web", "prod", "uid-1")
    assert config.log_directory == "/var/log/pods/prod_web_uid-1"


def test_container_has_the_four_labels_alone():
    config = container_of(pod_with())
    assert dict(config.labels) == {**NAMES, "io.kubernetes.container.name": "app"}


def test_container_annotations_hold_what_an_orphan_needs_to_be_stopped():
    made = pod_with(
        {"terminationGracePeriodSeconds": 7},
        ports=[{"containerPort": 80, "hostPort": 8080, "name": "http"}],
        lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "a > b"]}}},
    )
    assert dict(container_of(made, attempt=3).annotations) == {
        "io.kubernetes.container.hash": "89662a2e",
        "podherd.io/container.hashScheme": "1",
        "io.kubernetes.container.restartCount": "3",
        "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.container.preStopHandler": '{"exec":{"command":["sh","-c","a > b"]}}',
        "io.kubernetes.container.ports": '[{"name":"http","hostPort":8080,"containerPort":80,"protocol":"TCP"}]',
        "io.kubernetes.pod.terminationGracePeriod": "7",
    }


def test_deletion_grace_is_noted_once_the_pod_has_one():
    made = pod({"containers": [{"name": "app", "image": "a:1"}]}, deletionGracePeriodSeconds=5)
    assert container_of(made).annotations["io.kubernetes.pod.deletionGracePeriod"] == "5"


def test_container_names_its_attempt_image_and_log():
    config = container_of(pod_with(), attempt=2, image_ref="sha256:abc")
    assert (config.metadata.name, config.metadata.attempt, config.log_path) == ("app", 2, "app/2.log")
    assert (config.image.image, config.image.user_specified_image) == ("sha256:abc", "reg.test/app:1")
