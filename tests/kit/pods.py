"""Pods as the sources would hand them over: defaulted, with an identity, not checked."""

import copy
from typing import Any

from podherd.model.defaults import set_defaults
from podherd.model.parse import pod_of
from podherd.model.pod import Pod

NAME, NAMESPACE, UID = "web", "prod", "uid-1"
IMAGE = "reg.test/app:1"


def pod(spec: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    """A pod of one container `app` unless the spec says otherwise; extra metadata by keyword."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": UID, **metadata},
        "spec": {"containers": [{"name": "app", "image": IMAGE}], **copy.deepcopy(spec or {})},
    }
    set_defaults(body)
    return pod_of(body)


def pod_with(spec: dict[str, Any] | None = None, **container: Any) -> Pod:
    """A pod whose one container `app` has these fields."""
    return pod({**(spec or {}), "containers": [{"name": "app", "image": IMAGE, **container}]})
