"""Step 6: every volume of the pod made ready before anything starts (kubelet behaviour, sections 2.4 and 13.1)."""

from podherd.model.pod import Body
from podherd.model.status import epoch_of
from podherd.steps import persistent
from podherd.steps.context import Context
from podherd.steps.objects import lookup
from podherd.volumes import registry
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site

PATIENCE_S = 123.0
"""How long a pod may wait for its volumes to be attached until that is told: the kubelet's podAttachAndMountTimeout."""


class Volumes:
    """A volume that cannot be made ready halts the sync; the machine tries the whole plan again."""

    name = "volumes"

    async def do(self, context: Context) -> None:
        """Fill the context's `volumes`; files that tell of the pod or of objects are written anew when they differ.

        In a refresh only those, and what fails stops nothing: containers keep the files that they have.
        """
        if not (wanted := _wanted(context)):
            return
        site = Site(context.pod, context.pod_dir, context.tools.host(), lookup(context))
        failed: list[tuple[str, str]] = []
        for volume in wanted:
            name = volume["name"]
            try:
                context.volumes[name] = await _prepare(context, site, volume)
            except VolumeError as error:
                if not error.waits:
                    said = error.said or f'MountVolume.SetUp failed for volume "{name}" : {error.words}'
                    context.warn("FailedMount", said)
                elif _age_s(context) > PATIENCE_S:
                    context.warn("FailedMount", _message([(name, error.words)]))
                failed.append((name, error.words))
        if failed:
            context.fail(self.name, _message(failed), halt=context.starts)


def _wanted(context: Context) -> list[Body]:
    """The volumes to make ready, or in a refresh to write anew; that waits until all of its objects were told of."""
    if not (context.starts or context.plan.refresh):
        return []
    every: list[Body] = context.pod.body["spec"].get("volumes") or []
    if context.starts:
        return every
    objects = context.tools.objects
    if objects is not None and objects.lacks(context.pod):
        return []
    return [volume for volume in every if registry.is_content(volume) or _is_due_again(context, volume)]


def _is_due_again(context: Context, volume: Body) -> bool:
    return persistent.concerns(volume) and persistent.republishes(context, volume)


def _age_s(context: Context) -> float:
    """Since the pod was made; 0 for one that does not say."""
    made = context.pod.body["metadata"].get("creationTimestamp")
    return context.tools.clock() - epoch_of(made) if made else 0.0


async def _prepare(context: Context, site: Site, volume: Body) -> Ready:
    if persistent.concerns(volume):
        return await persistent.prepare(context, site, volume)
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
