"""A pod's typed view of its API object; apart from `parse`, since a pod shard needs no parser."""

from podherd.errors import ManifestError
from podherd.model import keys
from podherd.model.pod import Body, Container, ContainerKind, Pod


def pod_of(body: Body) -> Pod:
    """The typed view of a defaulted v1.Pod that has its identity; shares the parts of `body`, copies nothing.

    Raises ManifestError for a body that no source made.
    """
    try:
        metadata, spec = body["metadata"], body["spec"]
        annotations = metadata.get("annotations") or {}
        return Pod(
            uid=metadata["uid"],
            name=metadata["name"],
            namespace=metadata["namespace"],
            source=annotations.get(keys.CONFIG_SOURCE, keys.SOURCE_API),
            labels=metadata.get("labels") or {},
            annotations=annotations,
            restart_policy=spec["restartPolicy"],
            grace_s=spec["terminationGracePeriodSeconds"],
            host_network=bool(spec.get("hostNetwork")),
            containers=tuple(_container(one, ContainerKind.REGULAR) for one in spec["containers"]),
            init_containers=tuple(_container(one, _init_kind(one)) for one in spec.get("initContainers") or ()),
            body=body,
            ephemeral_containers=tuple(
                _container(one, ContainerKind.EPHEMERAL) for one in spec.get("ephemeralContainers") or ()
            ),
            active_deadline_s=spec.get("activeDeadlineSeconds"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ManifestError("pod", f"has no {error}", "it was not defaulted by a source") from error


def _container(body: Body, kind: ContainerKind) -> Container:
    return Container(
        body["name"],
        body["image"],
        kind,
        body["imagePullPolicy"],
        body,
        body.get("restartPolicy") or "",
        body.get("targetContainerName") or "",
    )


def _init_kind(body: Body) -> ContainerKind:
    return ContainerKind.SIDECAR if body.get("restartPolicy") == "Always" else ContainerKind.INIT
