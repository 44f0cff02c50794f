"""A root directory with a pod in it, a driver that stages, and what the API would say of them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.kit.csi_driver import NAME, STAGE_UNSTAGE, CsiDriver, serving
from tests.kit.volumes import make_pod, make_site, unmounted_after

from podherd.machines.objects.found import Found
from podherd.volumes.claim import Bound
from podherd.volumes.csi.desk import Desk
from podherd.volumes.csi.volume import CsiVolume, of_claim
from podherd.volumes.ready import Site
from podherd.wire.objects import Ref


class World:
    """objects: what the API has, by Ref; a Ref that is not there is missing, one that maps to None not known yet."""

    def __init__(self, root: Path, driver: CsiDriver) -> None:
        self.root = root
        self.driver = driver
        self.objects: dict[Ref, Any] = {}
        self.sockets = {driver.name: driver.socket}
        self.attached: set[str] = set()
        self.in_use: set[str] = set()
        self.rules(attachRequired=False)

    def rules(self, **spec: Any) -> None:
        self.objects[Ref("CSIDriver", "", self.driver.name)] = {"spec": spec}

    def look(self, ref: Ref) -> Found:
        if ref not in self.objects:
            return Found(problem=f'{ref.kind} "{ref.name}" not found', missing=True)
        body = self.objects[ref]
        return Found(body) if body is not None else Found(problem="not known yet")

    @property
    def desk(self) -> Desk:
        return Desk(str(self.root), "n1", self.sockets, self.look, self.attached, in_use=self.in_use)

    def site(self, uid: str = "u1", name: str = "p", **spec: Any) -> Site:
        pod_dir = self.root / "pods" / uid
        pod_dir.mkdir(parents=True, exist_ok=True)
        return make_site(str(pod_dir), make_pod(spec=spec, uid=uid, name=name, namespace="d"))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "root"
    path.mkdir()
    with unmounted_after(tmp_path):
        yield path


@pytest.fixture
async def world(root: Path, tmp_path: Path) -> AsyncIterator[World]:
    """The path of a socket has at most 107 characters."""
    with TemporaryDirectory(prefix="csi") as short_path:
        driver = CsiDriver(tmp_path / "driver", STAGE_UNSTAGE)
        driver.socket = f"{short_path}/csi.sock"
        async with serving(driver):
            yield World(root, driver)


@pytest.fixture
def volume() -> Callable[..., Any]:
    """A PersistentVolume of the driver as a pod has it."""

    def make(handle: str = "vol-1", read_only: bool = False, **more: Any) -> CsiVolume:
        csi = {"driver": NAME, "volumeHandle": handle, **more.pop("csi", {})}
        return of_claim(Bound("data", {"metadata": {"name": f"pv-{handle}"}, "spec": {"csi": csi, **more}}, read_only))

    return make
