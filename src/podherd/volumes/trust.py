"""clusterTrustBundle: root certificates of a bundle, or of all bundles of a signer, as one PEM file (KEP-3257)."""

import re

from podherd.machines.objects import references
from podherd.model.pod import Body
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Site

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", re.DOTALL)


def anchors(site: Site, source: Body) -> bytes:
    """Each certificate once; nothing where the bundle is optional and not there. Raises VolumeError."""
    found = site.look(references.trust_bundle(source))
    if found.body is None:
        if found.missing and source.get("optional"):
            return b""
        raise _failed(found.problem)
    bundles = found.mapping.get("items", [found.mapping])
    texts = [str((bundle.get("spec") or {}).get("trustBundle") or "") for bundle in bundles]
    blocks = sorted({" ".join(block.split()): block for text in texts for block in _BLOCK.findall(text)}.items())
    if not blocks and not source.get("optional"):
        raise _failed("combined trust bundle is empty")
    return "".join(f"{block}\n" for _, block in blocks).encode()


def _failed(words: str) -> VolumeError:
    return VolumeError("source clusterTrustBundle", words, words=words)
