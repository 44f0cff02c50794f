"""Sample images as one OCI archive, for machines that reach no registry: `podherd.local/pause:1` and `busybox:1`."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from podherd.agent.provision.config import PAUSE
from podherd.agent.provision.rootfs import applets_of, layer
from podherd.host import architecture

BUSYBOX = "podherd.local/busybox:1"
NAMES = (PAUSE, BUSYBOX)
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_WAIT = 'trap "exit 0" TERM INT; while :; do sleep 86400 & wait; done'
"""Ends at once on SIGTERM even as process 1, and reaps what it inherits (a shared process namespace)."""
_CONFIGS: dict[str, dict[str, Any]] = {
    PAUSE: {"Entrypoint": ["/bin/sh", "-c", _WAIT], "Env": [_PATH]},
    BUSYBOX: {"Cmd": ["sh"], "Env": [_PATH]},
}
_OCI = "application/vnd.oci.image"
_EPOCH = "1970-01-01T00:00:00Z"


def write_archive(path: Path, busybox: Path) -> None:
    """Both images as an OCI layout in a tar, for `ctr images import`; the annotation carries the full reference."""
    blobs: dict[str, bytes] = {}
    everything = layer(busybox, applets_of(busybox))
    manifests = []
    for name, config in _CONFIGS.items():
        entry = _image(blobs, everything, config)
        manifests.append({**entry, "annotations": {"io.containerd.image.name": name}})
    index = {"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": manifests}
    files = {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    files |= {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    fresh = path.with_suffix(".new")
    with tarfile.open(fresh, "w") as tar:
        for file, data in files.items():
            info = tarfile.TarInfo(file)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    fresh.rename(path)


def _image(blobs: dict[str, bytes], data: bytes, config: dict[str, Any]) -> dict[str, Any]:
    """Store layer, config and manifest; the manifest's descriptor."""
    platform_of = {"architecture": architecture(), "os": "linux"}
    whole = {
        **platform_of,
        "created": _EPOCH,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_OCI}.manifest.v1+json",
        "config": _store(blobs, _json(whole), f"{_OCI}.config.v1+json"),
        "layers": [_store(blobs, data, f"{_OCI}.layer.v1.tar")],
    }
    return {**_store(blobs, _json(manifest), f"{_OCI}.manifest.v1+json"), "platform": platform_of}


def _store(blobs: dict[str, bytes], data: bytes, media_type: str) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
