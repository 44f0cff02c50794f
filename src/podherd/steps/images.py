"""The image of one container, present by its pull policy (kubelet behaviour, section 3.6)."""

import asyncio
from typing import NamedTuple

from cri_api.v1 import api_pb2 as pb

from podherd.errors import CriError, PodherdError
from podherd.machines.pod.events import StartFailed
from podherd.machines.pod.instructions import StartContainer
from podherd.model.pod import Container
from podherd.model.status import go_duration_ms
from podherd.steps import reference
from podherd.steps.context import Context
from podherd.steps.credentials import Given
from podherd.steps.objects import lookup
from podherd.steps.pulls import Pull
from podherd.steps.sandbox import config_of

REFUSALS = {
    "RegistryUnavailable": "image pull failed for {} because the registry is unavailable{}",
    "SignatureValidationFailed": "image pull failed for {} because the signature validation failed{}",
}
"""What a runtime may begin its pull error with; it is then the waiting reason in place of ErrImagePull, told so."""
SAY_S = 60.0
"""A pull that takes long says so this often."""
_PRESENT = 'Container image "{}" already present on machine and can be accessed by the pod'
_PULLED = 'Successfully pulled image "{}" in {} ({} including waiting). Image size: {} bytes.'


class Present(NamedTuple):
    """The reference to create a container with, and the runtime's record of the image where it has told it."""

    ref: str
    image: pb.Image | None


async def ensure(context: Context, container: Container, start: StartContainer, field: str) -> Present | StartFailed:
    """The container's image, or why there is none; events are recorded."""
    image = container.image
    if problem := reference.problem(image):
        message = f'Failed to apply default image tag "{image}": {problem}'
        context.warn("InspectFailed", message, field)
        return _failed(context, start.name, "InvalidImageName", message, field)
    try:
        status = await context.tools.pulls.status(image)
    except CriError as error:
        message = f'Failed to inspect image "{image}": {error.reason}'
        context.warn("InspectFailed", message, field)
        return _failed(context, start.name, "ImageInspectError", message, field)
    policy = container.image_pull_policy
    try:
        present = status is not None and policy != "Always" and _may_use(context, image, status)
    except PodherdError as error:
        return _failed(context, start.name, "ErrImagePull", str(error), field, image_pull=True)
    if status is not None and present:
        context.normal("Pulled", _PRESENT.format(image), field)
        return Present(status.id or image, status)
    if policy == "Never":
        message = f'Container image "{image}" is not present with pull policy of Never'
        context.warn("ErrImageNeverPull", message, field)
        return _failed(context, start.name, "ErrImageNeverPull", message, field)
    return await _pull(context, image, start, field)


def _may_use(context: Context, image: str, status: pb.Image) -> bool:
    """Whether an image that is there is this pod's to use: else it must show credentials by a pull, or lacks it."""
    tools, look = context.tools, lookup(context)
    return tools.pulls.admits(image, status.id or image, lambda: tools.credentials.sources(image, context.pod, look))


async def _pull(context: Context, image: str, start: StartContainer, field: str) -> Present | StartFailed:
    if not start.pull_allowed:
        message = f'Back-off pulling image "{image}"'
        context.normal("BackOff", message, field)
        told = f"{message}: {start.back_off}" if start.back_off else message
        return _failed(context, start.name, "ImagePullBackOff", told, field)
    context.normal("Pulling", f'Pulling image "{image}"', field)
    progress = _Progress(context, image, field)
    given = Given(())
    try:
        given = await context.tools.credentials.for_image(image, context.pod, lookup(context))
        pull = await context.tools.pulls.pull(image, config_of(context), given.auths, given.sources)
    except PodherdError as error:
        _tell_missing(context, given)
        reason, words = _refusal(image, error.reason if isinstance(error, CriError) else str(error))
        context.warn("Failed", f'Failed to pull image "{image}": {words}', field)
        return _failed(context, start.name, reason, words, field, image_pull=True)
    finally:
        progress.end()
    context.normal("Pulled", _pulled(image, pull), field)
    return Present(pull.ref or image, pull.image)


def _tell_missing(context: Context, given: Given) -> None:
    """After a pull that failed: what may be why."""
    if given.missing:
        names = ", ".join(given.missing)
        context.warn(
            "FailedToRetrieveImagePullSecret",
            f"Unable to retrieve some image pull secrets ({names}); attempting to pull the image may not succeed.",
        )
    for why in given.failed:
        context.warn("FailedCredentialProvider", why)


class _Progress:
    """Says every SAY_S that a pull, or the waiting for its turn, still goes on."""

    def __init__(self, context: Context, image: str, field: str) -> None:
        self._context = context
        self._image = image
        self._field = field
        self._since = context.tools.clock()
        self._timer = asyncio.get_running_loop().call_later(SAY_S, self._say)

    def _say(self) -> None:
        tools = self._context.tools
        state = "Still pulling" if tools.pulls.is_pulling(self._image) else "Still waiting to pull"
        said = f'{state} image "{self._image}" after {go_duration_ms(tools.clock() - self._since)}'
        self._context.normal("Pulling", said, self._field)
        self._timer = asyncio.get_running_loop().call_later(SAY_S, self._say)

    def end(self) -> None:
        self._timer.cancel()


def _refusal(image: str, words: str) -> tuple[str, str]:
    """The waiting reason and its message for what the runtime said."""
    for reason, told in REFUSALS.items():
        if words.startswith(reason):
            return reason, told.format(image, words.removeprefix(reason))
    return "ErrImagePull", words


def _pulled(image: str, pull: Pull) -> str:
    size_bytes = pull.image.size if pull.image is not None else 0
    return _PULLED.format(image, go_duration_ms(pull.took_s), go_duration_ms(pull.waited_s), size_bytes)


def _failed(
    context: Context, name: str, reason: str, message: str, field: str, image_pull: bool = False
) -> StartFailed:
    context.warn("Failed", f"Error: {reason}", field)
    return StartFailed(name, reason, message, image_pull)
