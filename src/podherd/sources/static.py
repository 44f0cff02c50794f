"""Bytes of an origin to the sources machine's events: parse, give identity, pack once."""

from podherd.errors import ManifestError
from podherd.machines.sources.events import OriginRead, StaticPod
from podherd.model import keys
from podherd.model.identity import make_static, static_name
from podherd.model.parse import Manifest, manifest_of, manifests_of
from podherd.model.status import rfc3339_micro
from podherd.model.validate.names import dns_subdomain
from podherd.wire import codec

LOG_DIR_LENGTH = 255
"""Of the name of a pod's log directory, `<namespace>_<name>_<uid>` (NAME_MAX)."""


def file_pods(data: bytes, path: str, node_name: str, now: float) -> OriginRead:
    """The one pod of a manifest file. Raises ManifestError."""
    return _read([manifest_of(data, path)], keys.SOURCE_FILE, path, f"file:{path}", node_name, now)


def url_pods(data: bytes, url: str, shown_url: str, node_name: str, now: float) -> OriginRead:
    """The pods behind a URL; `shown_url` has no password and names the origin. Raises ManifestError."""
    return _read(manifests_of(data, shown_url), keys.SOURCE_HTTP, shown_url, f"url:{url}", node_name, now)


def _read(manifests: list[Manifest], source: str, origin: str, marked: str, node_name: str, now: float) -> OriginRead:
    seen = rfc3339_micro(now)
    pods = tuple(_static(manifest, source, origin, marked, node_name, seen) for manifest in manifests)
    return OriginRead(source, origin, pods, tuple(text for manifest in manifests for text in manifest.warnings))


def _static(manifest: Manifest, source: str, origin: str, marked: str, node_name: str, seen: str) -> StaticPod:
    pod = manifest.pod
    name = pod["metadata"]["name"]
    if why := dns_subdomain(static_name(name, node_name)):
        reason = f'metadata.name: Invalid value: "{name}": with the node\'s name {node_name} added it {why}'
        raise ManifestError(origin, reason, "shorten it")
    content = make_static(pod, node_name, source, marked)
    metadata = pod["metadata"]
    if len(f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}") > LOG_DIR_LENGTH:
        reason = f"metadata: namespace, name and uid together are longer than {LOG_DIR_LENGTH - 2} characters"
        raise ManifestError(origin, reason, "shorten one: they name the log directory")
    metadata["annotations"][keys.CONFIG_SEEN] = seen
    return StaticPod(metadata["uid"], metadata["namespace"], metadata["name"], content, codec.pack(pod))


def problem_of(error: ManifestError) -> str:
    """The error without the name of its origin, which travels beside it."""
    return f"{error.reason} ({error.mend})" if error.mend else error.reason
