"""runtime.v1.ImageService, over encoded requests and replies."""

from collections.abc import Awaitable

from cri_api.v1 import api_pb2 as api

from podherd.hollow.door import Call
from podherd.hollow.encode import block, text
from podherd.hollow.images import normalised
from podherd.hollow.pace import DONE, paced
from podherd.hollow.refusal import RefusedError
from podherd.hollow.requests import marked, of_config
from podherd.hollow.runtime import Runtime
from podherd.hollow.script import NO_MARKS, Subject, marks_of
from podherd.hollow.stats import filesystem

_IMAGES_AT = "/var/lib/hollow/images"
_CONTAINERS_AT = "/var/lib/hollow/containers"
_IMAGE_BYTES = 4_000_000


class ImageCalls:
    """Each method is one CRI call; one that is not scripted to wait answers at once."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._images = runtime.images

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        return {
            "ListImages": self.listed,
            "ImageStatus": self.status,
            "PullImage": self.pull,
            "RemoveImage": self.remove,
            "ImageFsInfo": self.fs_info,
        }

    def listed(self, request: bytes) -> bytes:
        """ListImages; a filter names one image."""
        wanted = api.ListImagesRequest.FromString(request).filter.image.image
        return self.status_of(wanted) if wanted else self._images.listed()

    def status(self, request: bytes) -> bytes:
        """ImageStatus: an empty reply when the image is not there."""
        return self.status_of(api.ImageStatusRequest.FromString(request).image.image)

    def status_of(self, reference: str) -> bytes:
        """One image in field 1, or nothing."""
        image = self._images.find(reference)
        return DONE if image is None else block(b"\x0a", image.body)

    def pull(self, request: bytes) -> bytes | Awaitable[bytes]:
        """PullImage; `pull-delay`, `pull-error`: an annotation of the pod it is for, or a rule on the image."""
        message = api.PullImageRequest.FromString(request)
        reference = message.image.image
        marks = marks_of(message.sandbox_config.annotations) if marked(request) else NO_MARKS
        subject = of_config(message.sandbox_config)._replace(image=reference)
        behaviour = self._runtime.ledger.script.behaviour(subject, marks)
        full = normalised(reference)
        if not behaviour.pull_delay_s and not behaviour.pull_error:
            return self._pulled(subject)
        refusal = None
        if behaviour.pull_error:
            what = f'failed to pull and unpack image "{full}": {behaviour.pull_error}'
            refusal = RefusedError(behaviour.error_code, what)
        return paced(behaviour.pull_delay_s, refusal, lambda: self._pulled(subject))

    def _pulled(self, subject: Subject) -> bytes:
        image = self._images.add(subject.image)
        self._runtime.ledger.journal.other(self._runtime.ledger.now_ns(), "PullImage", subject, "OK")
        return text(b"\x0a", image.image_id)

    def remove(self, request: bytes) -> bytes:
        """RemoveImage: harmless when it is not there."""
        reference = api.RemoveImageRequest.FromString(request).image.image
        self._images.remove(reference)
        self._runtime.ledger.journal.other(self._runtime.ledger.now_ns(), "RemoveImage", Subject(image=reference), "OK")
        return DONE

    def fs_info(self, _request: bytes) -> bytes:
        """ImageFsInfo."""
        now_ns = self._runtime.ledger.now_ns()
        return api.ImageFsInfoResponse(
            image_filesystems=[filesystem(now_ns, _IMAGES_AT, len(self._images) * _IMAGE_BYTES)],
            container_filesystems=[filesystem(now_ns, _CONTAINERS_AT, len(self._runtime.ledger.containers) * 4096)],
        ).SerializeToString()
