"""Step 8: for each container of the plan, in order: image, create, start, log link, postStart hook (section 3.7).

The hook is waited for before the next container is begun: a sidecar whose start succeeded has done its part.
"""

import asyncio
from functools import partial

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import container_config
from podherd.errors import ContainerConfigError, CriError, PodherdError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import KillContainer, StartContainer
from podherd.model.pod import Body, Container, ContainerKind
from podherd.model.status import CREATE_CONFIG_ERROR as CONFIG_ERROR
from podherd.steps import env_files, hooks, images, kill, logs, mounts, termination_log
from podherd.steps.context import Context
from podherd.steps.objects import lookup, services_known, variables_of_services
from podherd.steps.sandbox import config_of
from podherd.volumes.errors import VolumeError

CREATE_ERROR = "CreateContainerError"
RUN_ERROR = "RunContainerError"
POST_START_ERROR = "PostStartHookError"
KILLED = "FailedPostStartHook"
"""The event of a failed postStart hook, and what the kill that follows says."""

FIRST = (ContainerKind.INIT, ContainerKind.SIDECAR)


class Containers:
    """One container's failure does not stop the others, but that of an init container or a sidecar ends the list.

    What follows may be waiting for it (kubelet behaviour, section 3.3). If it is not, the next plan has it, without the
    one that failed: that one pauses.
    """

    name = "containers"

    async def do(self, context: Context) -> None:
        """Start each; the outcome of every one is a Started or a StartFailed."""
        if context.plan.start:
            await services_known(context)
        for start in context.plan.start:
            context.check()
            container = _find(context, start.name)
            result = await _start(context, container, start)
            context.add(result)
            if isinstance(result, StartFailed) and container.kind in FIRST:
                break


def _find(context: Context, name: str) -> Container:
    return next(one for one in context.pod.every_container if one.name == name)


async def _start(context: Context, container: Container, start: StartContainer) -> Started | StartFailed:
    field = container.field_path
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
        mounted = await mounts.of(context, container, start)
        if isinstance(mounted, StartFailed):
            return mounted
        build = partial(_config, context, container, attempt, present, start.target_id, mounted)
        config = await context.in_thread(build) if env_files.are_read(container) else build()
    except PodherdError as error:
        words = error.words if isinstance(error, ContainerConfigError | VolumeError) else str(error)
        return _failed(context, start, CONFIG_ERROR, words, field)
    except OSError as error:
        return _failed(context, start, CREATE_ERROR, f"{error.filename}: {error.strerror}", field)
    try:
        container_id = await context.change(context.cri.create_container(context.sandbox_id, config, sandbox_config))
    except CriError as error:
        return _failed(context, start, CREATE_ERROR, error.reason, field)
    context.normal("Created", "Container created", field)
    result = await _run(context, start, container_id, attempt, field)
    if isinstance(result, Started) and (lifecycle := container.body.get("lifecycle")) and lifecycle.get("postStart"):
        return await _post_start(context, container, lifecycle, result, field)
    return result


def _config(
    context: Context,
    container: Container,
    attempt: int,
    present: images.Present,
    target_id: str,
    mounted: list[pb.Mount],
) -> pb.ContainerConfig:
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
        mounts=mounted,
        termination_log=termination_log.prepare(context.pod_dir, container.name, attempt) if wants_log else "",
        image=present.image,
        target_id=target_id,
        userns=context.userns,
        read_file=env_files.reader(context),
        services=variables_of_services(context),
        look=lookup(context),
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


async def _post_start(
    context: Context, container: Container, lifecycle: Body, started: Started, field: str
) -> Started | StartFailed:
    """The hook, as long as it takes; when it fails the container is stopped, with its preStop hook and its grace.

    A sync that is cancelled meanwhile says that the container was started: it runs.
    """
    ip = context.pod_ips[0] if context.pod_ips else ""
    target = hooks.Target("postStart", started.id, container.name, ip, container.body.get("ports") or [])
    try:
        try:
            await hooks.run(context, lifecycle["postStart"], target)
        except hooks.HookError as error:
            context.warn(KILLED, "PostStartHook failed", field)
            grace_s = _grace_s(context)
            hook = lifecycle.get("preStop") if grace_s else None
            await kill.stop(context, KillContainer(started.id, container.name, grace_s, KILLED, hook, ip=ip))
            return StartFailed(container.name, POST_START_ERROR, error.text)
    except asyncio.CancelledError:
        context.add(started)
        raise
    return started


def _grace_s(context: Context) -> int:
    """The pod's: that of its deletion, else its own."""
    deletion = context.pod.body["metadata"].get("deletionGracePeriodSeconds")
    return context.pod.grace_s if deletion is None else int(deletion)


def _failed(context: Context, start: StartContainer, reason: str, message: str, field: str) -> StartFailed:
    context.warn("Failed", f"Error: {message}", field)
    return StartFailed(start.name, reason, message)
