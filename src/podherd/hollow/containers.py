"""What the container calls do to the ledger. Codes and texts are containerd 2's."""

from collections.abc import Callable
from posixpath import join
from typing import Any

from cri_api.v1 import api_pb2 as api

from podherd.hollow.images import Image, Images
from podherd.hollow.ledger import (
    CREATED_EVENT,
    DELETED_EVENT,
    STARTED_EVENT,
    STOPPED_EVENT,
    Ledger,
    carries,
    release_waiting,
)
from podherd.hollow.records import CREATED, EXITED, RUNNING, STATE_NAMES, Container, Sandbox
from podherd.hollow.refusal import RefusedError, container_missing
from podherd.hollow.script import NO_MARKS, marks_of
from podherd.hollow.timers import Timer

KILLED = 137
START_FAILED = 128


class Containers:
    """CreateContainer is `reserve`, then `commit` or `abandon`; StartContainer is `begin_start`, then `commit_start` or
    `fail_start`: both may take their time in between."""

    def __init__(self, ledger: Ledger, images: Images) -> None:
        self._ledger = ledger
        self._images = images

    def reserve(self, request: api.CreateContainerRequest, marked: bool = True) -> Container:
        """A container that is not there yet but holds its name; raises RefusedError.

        `marked`: its annotations may hold some of hollow's.
        """
        config, pod = request.config, request.sandbox_config
        if (sandbox := self._ledger.sandbox(request.pod_sandbox_id)) is None:
            raise RefusedError("NOT_FOUND", f'failed to find sandbox id "{request.pod_sandbox_id}": not found')
        if not config.HasField("metadata"):
            raise RefusedError("UNKNOWN", "container config must include metadata")
        if not pod.HasField("metadata"):
            raise RefusedError("UNKNOWN", "pod sandbox config must include metadata")
        meta, of = config.metadata, pod.metadata
        container_id = self._ledger.new_id()
        name = f"{meta.name}_{of.name}_{of.namespace}_{of.uid}_{meta.attempt}"
        self._ledger.reserve("container", name, container_id)
        try:
            image = self._resolved(config.image.image)
        except RefusedError:
            self._ledger.release("container", name)
            raise
        container = Container(
            id=container_id,
            sandbox=sandbox,
            reserved=name,
            name=meta.name,
            attempt=meta.attempt,
            labels=dict(config.labels),
            marks=marks_of(config.annotations) if marked else NO_MARKS,
            image=config.image.user_specified_image or config.image.image,
            image_id=image.image_id,
            log_path=join(pod.log_directory, config.log_path) if pod.log_directory and config.log_path else "",
        )
        _encode(container, config, image, self._ledger.now_ns())
        return container

    def _resolved(self, reference: str) -> Image:
        if (image := self._images.find(reference)) is None:
            raise RefusedError("NOT_FOUND", f'failed to resolve image "{reference}": not found')
        return image

    def commit(self, container: Container) -> None:
        """The container is there, in CREATED. Raises RefusedError when its sandbox was removed meanwhile."""
        ledger, sandbox = self._ledger, container.sandbox
        if sandbox.id not in ledger.sandboxes:
            raise RefusedError("NOT_FOUND", f'failed to find sandbox id "{sandbox.id}": not found')
        sandbox.containers[container.id] = container
        ledger.containers[container.id] = container
        ledger.touch(container)
        ledger.journal.container(ledger.now_ns(), "CreateContainer", container)
        ledger.tell(CREATED_EVENT, container.id, sandbox)

    def abandon(self, container: Container) -> None:
        """It never came to be; the name is free again."""
        self._ledger.release("container", container.reserved)

    def get(self, container_id: str) -> Container:
        """By id. Raises RefusedError as most calls do."""
        if (container := self._ledger.container(container_id)) is None:
            raise container_missing(container_id)
        return container

    def begin_start(self, container_id: str) -> Container:
        """Set the starting state; raises RefusedError when it is not in CREATED or starts already.

        A sandbox that is not ready refuses too, and the container has exited then (StartError).
        """
        container = self.get(container_id)
        if container.state != CREATED or container.starting:
            state = "already in starting state" if container.starting else f"in {STATE_NAMES[container.state]} state"
            reason = f'failed to set starting state for container "{container.id}": container is {state}'
            raise RefusedError("UNKNOWN", reason)
        container.starting = True
        if not container.sandbox.ready:
            refusal = RefusedError("UNKNOWN", f'sandbox container "{container.sandbox.id}" is not running')
            self.fail_start(container, refusal)
            raise refusal
        return container

    def commit_start(self, container: Container) -> None:
        """It runs, and its own scripted exit is in the heap. Raises RefusedError when it was wiped meanwhile."""
        ledger = self._ledger
        if container.removed:
            raise container_missing(container.id)
        behaviour = ledger.behaviour(container.sandbox, container)
        container.starting = False
        container.state = RUNNING
        container.started_ns = ledger.now_ns()
        ledger.count_running(container, 1)
        ledger.touch(container)
        ledger.journal.container(container.started_ns, "StartContainer", container)
        if (delay_s := behaviour.exit_delay_s(container.attempt)) is not None:
            code, reason = behaviour.own_exit()
            container.own_exit = ledger.timers.after(delay_s, lambda: self.exit(container, code, reason))
        ledger.tell(STARTED_EVENT, container.id, container.sandbox)

    def fail_start(self, container: Container, refusal: RefusedError) -> None:
        """It never ran: EXITED with 128, StartError and the refusal's text, as containerd leaves it."""
        container.starting = False
        container.state = EXITED
        container.finished_ns = self._ledger.now_ns()
        container.exit_code, container.reason, container.message = START_FAILED, "StartError", refusal.text
        self._ledger.touch(container)

    def exit(self, container: Container, code: int, reason: str = "", message: str = "") -> None:
        """A running container ends; nothing for any other. An empty reason is Completed or Error by the code."""
        if container.state != RUNNING or container.removed:
            return
        ledger = self._ledger
        container.state = EXITED
        container.finished_ns = ledger.now_ns()
        container.exit_code = code
        container.reason = reason or ("Error" if code else "Completed")
        container.message = message
        if container.own_exit is not None:
            container.own_exit.cancel()
            container.own_exit = None
        ledger.count_running(container, -1)
        ledger.touch(container)
        ledger.journal.container(container.finished_ns, "Exit", container, str(code))
        ledger.tell(STOPPED_EVENT, container.id, container.sandbox)
        release_waiting(container)

    def stop(self, container_id: str, grace_s: float, done: Callable[[], None]) -> Timer | None:
        """SIGTERM, and SIGKILL after the grace; `done` is called at the exit.

        None: there is nothing to wait for (it is not running, or ended at once), and `done` is never called. Else the
        timer of the kill: a caller that gives up cancels it, and the container lives on as under containerd.
        """
        if (container := self._ledger.container(container_id)) is None:
            return None
        self._ledger.journal.container(self._ledger.now_ns(), "StopContainer", container)
        if container.state != RUNNING:
            return None
        if grace_s <= 0:
            self.exit(container, KILLED)
        else:
            self._terminate(container)
        if container.state != RUNNING:
            return None
        container.on_exit.append(done)
        return self._ledger.timers.after(grace_s, lambda: self.exit(container, KILLED))

    def _terminate(self, container: Container) -> None:
        behaviour = self._ledger.behaviour(container.sandbox, container)
        if container.term_sent or behaviour.ignore_term:
            return
        container.term_sent = True
        code = behaviour.term_exit_code
        if behaviour.stop_delay_s:
            self._ledger.timers.after(behaviour.stop_delay_s, lambda: self.exit(container, code))
        else:
            self.exit(container, code)

    def remove(self, container_id: str) -> None:
        """Kill it if it runs, and forget it. Harmless for an unknown id; RefusedError while it is being started."""
        ledger = self._ledger
        if (container := ledger.container(container_id)) is None:
            return
        self.exit(container, KILLED)
        if container.starting:
            reason = "container is in starting state, can't be removed"
            raise RefusedError("UNKNOWN", f'failed to set removing state for container "{container.id}": {reason}')
        container.removed = True
        del ledger.containers[container.id]
        del container.sandbox.containers[container.id]
        ledger.container_list.drop(container.id)
        ledger.release("container", container.reserved)
        ledger.journal.container(ledger.now_ns(), "RemoveContainer", container)
        ledger.tell(DELETED_EVENT, container.id, container.sandbox)

    def update_resources(self, container_id: str, linux: api.LinuxContainerResources) -> None:
        """The status says these resources from now on; a field left 0 keeps its value. Raises RefusedError."""
        if (container := self._ledger.container(container_id)) is None:
            raise RefusedError("NOT_FOUND", "failed to find container: not found")
        resources = api.ContainerResources.FromString(container.resources)
        resources.linux.MergeFrom(linux)
        container.resources = resources.SerializeToString()
        self._ledger.journal.container(self._ledger.now_ns(), "UpdateContainerResources", container)

    def listed(self, wanted: api.ContainerFilter) -> bytes:
        """The whole ListContainersResponse of what passes the filter."""
        ledger = self._ledger
        found = list(self._inside(wanted.pod_sandbox_id).values()) if wanted.pod_sandbox_id else None
        if wanted.id:
            one = ledger.container(wanted.id)
            found = [one] if one is not None and (found is None or one in found) else []
        if found is None:
            found = list(ledger.containers.values())
        if wanted.HasField("state"):
            found = [c for c in found if c.state == wanted.state.state]
        if wanted.label_selector:
            selector = list(wanted.label_selector.items())
            found = [c for c in found if carries(c.labels, selector)]
        return b"".join([ledger.container_list.entry(c.id) for c in found])

    def _inside(self, sandbox_id: str) -> dict[str, Container]:
        sandbox: Sandbox | None = self._ledger.sandbox(sandbox_id)
        return {} if sandbox is None else sandbox.containers


def _encode(container: Container, config: api.ContainerConfig, image: Image, now_ns: int) -> None:
    container.created_ns = now_ns
    shared: dict[str, Any] = {
        "id": container.id,
        "metadata": config.metadata,
        "created_at": now_ns,
        "labels": config.labels,
        "annotations": config.annotations,
        "image_id": image.image_id,
    }
    container.entry_head = api.Container(
        pod_sandbox_id=container.sandbox.id, image=config.image, image_ref=image.image_id, **shared
    ).SerializeToString()
    security = config.linux.security_context
    user = api.LinuxContainerUser(
        uid=security.run_as_user.value,
        gid=security.run_as_group.value,
        supplemental_groups=[security.run_as_group.value, *security.supplemental_groups],
    )
    container.status_head = api.ContainerStatus(
        image=api.ImageSpec(image=image.tag) if image.tag else config.image,
        image_ref=image.digest,
        mounts=config.mounts,
        log_path=container.log_path,
        user=api.ContainerUser(linux=user),
        stop_signal=config.stop_signal or api.SIGTERM,
        **shared,
    ).SerializeToString()
    resources = api.ContainerResources(linux=config.linux.resources)
    container.resources = resources.SerializeToString()
