"""Step 7: the pod's sandbox, new or as it stands, with its addresses (kubelet behaviour, sections 3.1 and 3.2)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import cautions, sandbox_config
from podherd.errors import CriError, PodherdError
from podherd.machines.pod.events import SandboxFailed
from podherd.steps import userns
from podherd.steps.context import Context
from podherd.steps.runtime_class import handler_of


class Sandbox:
    """Whatever fails here halts the sync: containers need a sandbox whose addresses are known."""

    name = "sandbox"

    async def do(self, context: Context) -> None:
        """RunPodSandbox when the plan makes one, PodSandboxStatus when containers are to be started in it."""
        if context.starts and not await _prepare(context):
            return
        if context.plan.make_sandbox is not None and not await _make(context, context.plan.make_sandbox):
            return
        context.check()
        if not context.plan.start:
            return
        if context.pod.host_network:
            context.pod_ips = context.tools.host().ips
        if context.plan.make_sandbox is None or not context.pod.host_network:
            await _inspect(context)


async def _prepare(context: Context) -> bool:
    try:
        await userns.prepare(context)
    except (PodherdError, OSError) as error:
        _fail(context, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {_told(error)}", _reason(error))
        return False
    return True


async def _make(context: Context, attempt: int) -> bool:
    context.sandbox_attempt = attempt
    for caution in cautions(context.pod, context.settings, context.tools.host()):
        context.warn(caution.reason, caution.message)
    try:
        handler = handler_of(context)
        context.sandbox_id = await context.change(context.cri.run_sandbox(config_of(context), handler))
    except PodherdError as error:
        _fail(context, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {_told(error)}", _reason(error))
        return False
    return True


async def _inspect(context: Context) -> None:
    try:
        status = (await context.cri.sandbox_status(context.sandbox_id)).status
    except CriError as error:
        _fail(context, "FailedPodSandBoxStatus", f"Unable to get pod sandbox status: {_told(error)}", error.reason)
        return
    context.sandbox_attempt = status.metadata.attempt
    if not context.pod.host_network and status.network.ip:
        context.pod_ips = (status.network.ip, *(extra.ip for extra in status.network.additional_ips))


def _fail(context: Context, event: str, text: str, reason: str) -> None:
    context.warn(event, text)
    context.add(SandboxFailed(reason))
    context.halted = True


def config_of(context: Context) -> pb.PodSandboxConfig:
    """The sandbox's config, made once a sync: creates and pulls name it too. Raises PodherdError."""
    if context.sandbox_config is None:
        context.sandbox_config = sandbox_config(
            context.pod,
            context.sandbox_attempt,
            context.settings,
            context.cgroup_parent,
            host=context.tools.host(),
            userns=context.userns,
        )
    return context.sandbox_config


def _told(error: Exception) -> str:
    """In an event: a runtime's error as it is, with its code."""
    return error.as_go if isinstance(error, CriError) else str(error)


def _reason(error: Exception) -> str:
    return error.reason if isinstance(error, CriError) else str(error)
