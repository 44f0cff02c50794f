"""Reading requests: the id without decoding where it stands alone, and whom a call is about."""

from cri_api.v1 import api_pb2 as api
from google.protobuf.message import DecodeError

from podherd.hollow.encode import block
from podherd.hollow.ledger import Ledger
from podherd.hollow.records import Container, Sandbox
from podherd.hollow.script import NOBODY, PREFIX, Subject

_FULL_ID = b"\x0a\x40"
_MARK = PREFIX.encode()
_ABOUT_SANDBOX = frozenset(
    {"StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "PodSandboxStats", "UpdatePodSandboxResources"}
)
_ABOUT_CONTAINER = frozenset(
    {
        "StartContainer", "StopContainer", "RemoveContainer", "ContainerStatus", "UpdateContainerResources",
        "ReopenContainerLog", "ExecSync", "Exec", "Attach", "ContainerStats",
    }
)  # fmt: skip


def id_in(request: bytes) -> str:
    """The string in field 1, where every CRI request about one object has its id. Raises DecodeError."""
    if len(request) == 66 and request.startswith(_FULL_ID):
        return request[2:].decode()
    return api.StartContainerRequest.FromString(request).container_id


def verbose_in(request: bytes) -> bool:
    """Whether a status request asks for the verbose info (field 2)."""
    return len(request) != 66 and api.ContainerStatusRequest.FromString(request).verbose


def id_reply(object_id: str) -> bytes:
    """A reply that is one id in field 1."""
    return _FULL_ID + object_id.encode()


def status_reply(status: bytes, info: str = "") -> bytes:
    """A status response: the status in field 1, the verbose info under the key `info` in field 2."""
    reply = block(b"\x0a", status)
    return reply + block(b"\x12", block(b"\x0a", b"info") + block(b"\x12", info.encode())) if info else reply


def marked(request: bytes) -> bool:
    """Whether any annotation in it may speak to hollow: spares all others the look."""
    return _MARK in request


def describe(ledger: Ledger, method: str, request: bytes) -> Subject:
    """Whom the call is about, as far as the ledger knows."""
    try:
        return _describe(ledger, method, request)
    except DecodeError:
        return NOBODY


def _describe(ledger: Ledger, method: str, request: bytes) -> Subject:
    if method == "RunPodSandbox":
        return of_config(api.RunPodSandboxRequest.FromString(request).config)
    if method == "CreateContainer":
        config = api.CreateContainerRequest.FromString(request)
        pod = of_config(config.sandbox_config)
        return pod._replace(container=config.config.metadata.name, image=config.config.image.image)
    if method in _ABOUT_SANDBOX:
        return of_sandbox(ledger.sandbox(id_in(request)))
    if method in _ABOUT_CONTAINER:
        return of_container(ledger.container(id_in(request)))
    if method == "PullImage":
        pull = api.PullImageRequest.FromString(request)
        return of_config(pull.sandbox_config)._replace(image=pull.image.image)
    if method in ("ImageStatus", "RemoveImage"):
        return Subject(image=api.ImageStatusRequest.FromString(request).image.image)
    return NOBODY


def of_config(config: api.PodSandboxConfig) -> Subject:
    """The pod of a sandbox config."""
    return Subject(config.metadata.namespace, config.metadata.name)


def of_sandbox(sandbox: Sandbox | None) -> Subject:
    """The pod of a record."""
    return NOBODY if sandbox is None else Subject(sandbox.namespace, sandbox.name)


def of_container(container: Container | None) -> Subject:
    """The container of a record."""
    if container is None:
        return NOBODY
    return Subject(container.sandbox.namespace, container.sandbox.name, container.name, container.image)
