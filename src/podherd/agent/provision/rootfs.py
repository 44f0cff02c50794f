"""Root file systems of the sample images: one static busybox under all of its names."""

import io
import subprocess
import tarfile
from pathlib import Path

DIRECTORIES = (
    "bin", "dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "usr/bin",
    "usr/sbin", "var", "var/log", "var/run", "var/tmp", "var/www",
)  # fmt: skip
STICKY = frozenset({"tmp", "var/tmp"})
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def layer(busybox: Path, applets: list[str]) -> bytes:
    """An uncompressed layer, the same bytes for the same input."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in DIRECTORIES:
            tar.addfile(_entry(name, tarfile.DIRTYPE, 0o1777 if name in STICKY else 0o755))
        _add_file(tar, "bin/busybox", busybox.read_bytes(), 0o755)
        for name in applets:
            link = _entry(f"bin/{name}", tarfile.LNKTYPE, 0o755)
            link.linkname = "bin/busybox"
            tar.addfile(link)
        for name, content in FILES.items():
            _add_file(tar, name, content.encode(), 0o644)
    return buffer.getvalue()


def applets_of(busybox: Path) -> list[str]:
    """Every name that this busybox answers to, but its own."""
    printed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout
    return sorted(set(printed.split()) - {"busybox"})


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, mode
    return info


def _add_file(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    info = _entry(name, tarfile.REGTYPE, mode)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
