"""The file for a container's last words: `<pod>/containers/<container>/<8 hex>`, 0666 (kubelet behaviour, 3.8)."""

from podherd.steps.files import ensure_dir, touch


def path_of(pod_dir: str, container: str, attempt: int) -> str:
    """Its path on the host. The kubelet's eight digits are random; here they are the attempt, for readers."""
    return f"{pod_dir}/containers/{container}/{attempt:08x}"


def prepare(pod_dir: str, container: str, attempt: int) -> str:
    """Make the file, writable by whatever user the container runs as; its path. Raises OSError."""
    ensure_dir(f"{pod_dir}/containers/{container}", 0o750)
    path = path_of(pod_dir, container, attempt)
    touch(path, 0o666)
    return path
