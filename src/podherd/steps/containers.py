"""Step 8: for each container of the plan, in order: image, create, start, log link (kubelet behaviour, section 3.7)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import container_config
from podherd.errors import CriError, PodherdError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import StartContainer
from podherd.model.pod import Container, ContainerKind
from podherd.steps import images, logs, mounts, termination_log
from podherd.steps.context import FIELDS, Context
from podherd.steps.sandbox import config_of

CONFIG_ERROR = "CreateContainerConfigError"
CREATE_ERROR = "CreateContainerError"
RUN_ERROR = "RunContainerError"


class Containers:
    """One container's failure does not stop the others; a plain init container's does: what follows waits for it."""

    name = "containers"

    async def do(self, context: Context) -> None:
        """Start each; the outcome of every one is a Started or a StartFailed."""
        for start in context.plan.start:
            context.check()
            container = _find(context, start.name)
            result = await _start(context, container, start)
            context.add(result)
            if isinstance(result, StartFailed) and container.kind is ContainerKind.INIT:
                break


def _find(context: Context, name: str) -> Container:
    pod = context.pod
    return next(one for one in (*pod.containers, *pod.init_containers) if one.name == name)


async def _start(context: Context, container: Container, start: StartContainer) -> Started | StartFailed:
    field = f"{FIELDS[container.kind]}{{{container.name}}}"
    try:
        sandbox_config = config_of(context)
    except PodherdError as error:
        return _failed(context, start, CONFIG_ERROR, str(error), field)
    present = await images.ensure(context, container, start, field)
    if isinstance(present, StartFailed):
        return present
    context.check()
    try:
        attempt = logs.prepare(context.log_dir, container.name, start.attempt)
        config = _config(context, container, attempt, present)
    except PodherdError as error:
        return _failed(context, start, CONFIG_ERROR, str(error), field)
    except OSError as error:
        return _failed(context, start, CREATE_ERROR, f"{error.filename}: {error.strerror}", field)
    try:
        container_id = await context.change(context.cri.create_container(context.sandbox_id, config, sandbox_config))
    except CriError as error:
        return _failed(context, start, CREATE_ERROR, error.reason, field)
    context.normal("Created", "Container created", field)
    return await _run(context, start, container_id, attempt, field)


def _config(context: Context, container: Container, attempt: int, present: images.Present) -> pb.ContainerConfig:
    """Raises PodherdError for what cannot be given, OSError for a file that cannot be made."""
    wants_log = bool(container.body.get("terminationMessagePath"))
    return container_config(
        context.pod,
        container,
        attempt,
        present.ref,
        context.settings,
        host=context.tools.host(),
        pod_ips=context.pod_ips,
        mounts=mounts.of(context, container),
        termination_log=termination_log.prepare(context.pod_dir, container.name, attempt) if wants_log else "",
        image=present.image,
    )


async def _run(
    context: Context, start: StartContainer, container_id: str, attempt: int, field: str
) -> Started | StartFailed:
    context.check()
    try:
        await context.change(context.cri.start_container(container_id))
    except CriError as error:
        return _failed(context, start, RUN_ERROR, error.reason, field)
    context.normal("Started", "Container started", field)
    logs.link(context, start.name, container_id, attempt)
    return Started(start.name, container_id, attempt)


def _failed(context: Context, start: StartContainer, reason: str, message: str, field: str) -> StartFailed:
    context.warn("Failed", f"Error: {message}", field)
    return StartFailed(start.name, reason, message)
