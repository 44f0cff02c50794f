"""Step 6: every volume of the pod made ready before anything starts (kubelet behaviour, sections 2.4 and 13.1)."""

from podherd.model.pod import Body
from podherd.steps.context import Context
from podherd.volumes import registry
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site


class Volumes:
    """A volume that cannot be made ready halts the sync; the machine tries the whole plan again."""

    name = "volumes"

    async def do(self, context: Context) -> None:
        """Fill the context's `volumes`; files that tell of the pod are written anew when they have changed."""
        if not context.starts:
            return
        wanted: list[Body] | None = context.pod.body["spec"].get("volumes")
        if not wanted:
            return
        site = Site(context.pod, context.pod_dir, context.tools.host())
        failed: list[tuple[str, str]] = []
        for volume in wanted:
            name = volume["name"]
            try:
                context.volumes[name] = await _prepare(context, site, volume)
            except VolumeError as error:
                context.warn("FailedMount", f'MountVolume.SetUp failed for volume "{name}" : {error.words}')
                failed.append((name, error.words))
        if failed:
            context.fail(self.name, _message(failed))


async def _prepare(context: Context, site: Site, volume: Body) -> Ready:
    if registry.may_block(volume):
        return await context.in_thread(registry.prepare, site, volume)
    return registry.prepare(site, volume)


def _message(failed: list[tuple[str, str]]) -> str:
    names = " ".join(name for name, _ in failed)
    reasons = "; ".join(reason for _, reason in failed)
    return (
        f"Unable to attach or mount volumes: unmounted volumes=[{names}], unattached volumes=[], "
        f"failed to process volumes=[]: {reasons}"
    )
