"""clusterTrustBundle: root certificates of a bundle, or of all bundles of a signer, as one PEM file (KEP-3257)."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from podherd.machines.objects import references
from podherd.model.pod import Body
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Site

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", re.DOTALL)


def anchors(site: Site, source: Body) -> bytes:
    """Each certificate once; nothing where the bundle is optional and not there. Raises VolumeError."""
    bundles = _bundles(site, source)
    texts = [str((bundle.get("spec") or {}).get("trustBundle") or "") for bundle in bundles]
    blocks = sorted({" ".join(block.split()): block for text in texts for block in _BLOCK.findall(text)}.items())
    return "".join(f"{block}\n" for _, block in blocks).encode()


def _bundles(site: Site, source: Body) -> list[Mapping[str, Any]]:
    optional = bool(source.get("optional"))
    if not source.get("name") and not source.get("signerName"):
        raise _failed("ClusterTrustBundle projection requires either name or signerName to be set")
    if not references.selects_bundles(source):
        return [] if optional else _none()
    found = site.look(references.trust_bundle(source))
    if found.body is not None:
        bundles = list(found.mapping.get("items", [found.mapping]))
        return bundles if bundles or optional else _none()
    if found.missing and optional:
        return []
    raise _failed(f"while getting ClusterTrustBundle: {found.problem}" if found.missing else found.problem)


def _none() -> NoReturn:
    raise _failed("combination of signerName and labelSelector matched zero ClusterTrustBundles")


def _failed(words: str) -> VolumeError:
    return VolumeError("source clusterTrustBundle", words, words=words)
