"""Step 4: give running containers the resources that their spec grants now (kubelet behaviour, section 3.2)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.resources import container_resources
from podherd.errors import PodherdError
from podherd.machines.pod.instructions import ResizeContainer
from podherd.machines.pod.resize import RESIZE
from podherd.steps.context import Context


class Resize:
    """A container that cannot be changed is reported, and tried again; nothing else waits for it."""

    name = RESIZE

    async def do(self, context: Context) -> None:
        """UpdateContainerResources for each."""
        for resize in context.plan.resize:
            context.check()
            try:
                await _resize(context, resize)
            except PodherdError as error:
                reason = getattr(error, "reason", str(error))
                context.fail(self.name, f'container "{resize.name}": {reason}', halt=False)


async def _resize(context: Context, resize: ResizeContainer) -> None:
    container = next(one for one in context.pod.every_container if one.name == resize.name)
    resources = container_resources(context.pod, container, context.settings, context.tools.host())
    await _check_memory(context, resize, resources)
    await context.change(context.cri.update_resources(resize.id, resources))


async def _check_memory(context: Context, resize: ResizeContainer, resources: pb.LinuxContainerResources) -> None:
    """A limit below what is used would have the kernel end processes: raises PodherdError (KEP-1287)."""
    if not (limit := resources.memory_limit_in_bytes):
        return
    for stats in await context.cri.container_stats(container_id=resize.id):
        used = stats.memory.usage_bytes.value or stats.memory.working_set_bytes.value
        if stats.attributes.id == resize.id and used >= limit:
            why = f'attempting to set container "{resize.name}" memory limit ({limit}) below current usage ({used})'
            raise PodherdError("resize", f"cannot decrease memory limits: {why}")
