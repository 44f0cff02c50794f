"""A manifest directory and a source that tells a list."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.kit.waiting import until

from podherd.machines.sources.events import OriginRead, SourceListed
from podherd.sources.file import FileSource

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - {{name: main, image: "{image}"}}
"""


def manifest(name, image="reg.test/a:1"):
    """A one-container pod as YAML."""
    return MANIFEST.format(name=name, image=image)


class Told(list):
    """Events in order, in a short form on demand."""

    @property
    def read(self):
        """Pod name by origin's file name, the last read of each."""
        return {e.origin.rpartition("/")[2]: [pod.name for pod in e.pods] for e in self if isinstance(e, OriginRead)}

    def of(self, kind, name=""):
        """The events of a kind, about one file."""
        return [e for e in self if isinstance(e, kind) and (not name or e.origin.endswith(f"/{name}"))]

    async def until(self, kind, name="", count=1):
        """Wait for so many events of a kind and return the last."""
        await until(lambda: len(self.of(kind, name)) >= count)
        return self.of(kind, name)[-1]


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "manifests"
    path.mkdir()
    return path


@pytest.fixture
def running(told):
    """`async with running(path, check_s)`: a source that has listed once; ended at the end."""

    @asynccontextmanager
    async def run(path, check_s=60.0):
        source = FileSource(path, "n1", check_s, told.append)
        task = asyncio.create_task(source.run())
        try:
            await until(lambda: told.of(SourceListed) or task.done())
            yield source
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return run
