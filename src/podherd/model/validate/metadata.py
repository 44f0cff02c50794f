"""Names, labels and annotations."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required
from podherd.model.validate.names import dns_label, dns_subdomain, label_value, pod_uid, qualified_name

_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_APPARMOR_WORDS = ("", "runtime/default", "unconfined")
ANNOTATIONS_BYTES = 256 * 1024


def metadata_problems(metadata: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `metadata`."""
    if not (name := metadata.get("name")):
        yield required("metadata.name")
    elif why := dns_subdomain(name):
        yield invalid("metadata.name", name, why)
    if (namespace := metadata.get("namespace")) and (why := dns_label(namespace)):
        yield invalid("metadata.namespace", namespace, why)
    if (uid := metadata.get("uid")) and (why := pod_uid(uid)):
        yield invalid("metadata.uid", uid, why)
    if "labels" in metadata:
        yield from labels_problems("metadata.labels", metadata["labels"])
    if "annotations" in metadata:
        yield from _annotation_problems(metadata["annotations"])


def labels_problems(path: str, labels: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with a set of labels (or a nodeSelector, which has the same shape)."""
    for key, value in labels.items():
        if why := qualified_name(key):
            yield invalid(path, key, why)
        if why := label_value(value):
            yield invalid(f"{path}[{key}]", value, why)


def _annotation_problems(annotations: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in annotations.items():
        if why := qualified_name(key.lower()):
            yield invalid("metadata.annotations", key, why)
        if key.startswith(_APPARMOR) and value not in _APPARMOR_WORDS and not value.startswith("localhost/"):
            yield invalid(f"metadata.annotations[{key}]", value, f'invalid AppArmor profile name: "{value}"')
    if sum(len(key) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_BYTES:
        yield Problem("metadata.annotations", f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes")
