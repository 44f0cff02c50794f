"""A manifest to a Desired message, beside PyYAML's C loader alone: `python -m podherd.benchmarks.micro.manifests`.

What a static pod costs the sources actor before the frame: decode, schema, defaults, validation, identity, packing and
the merge. The target is per pod, so one run handles a hundred different manifests.
"""

import sys

import yaml

from podherd.benchmarks.micro import report
from podherd.benchmarks.micro.timing import Result, sample
from podherd.machines.sources import SourcesMachine
from podherd.sources.static import file_pods

PODS = 100
RUNS = 20
LIMIT_MS = 0.4
_TEXT = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-{index}
  labels:
    app: web
spec:
  containers:
  - name: web
    image: podherd.local/busybox:1
    command: ["httpd", "-f", "-p", "8080"]
    ports:
    - containerPort: 8080
      name: http
    env:
    - name: GREETING
      value: hello
    resources:
      requests:
        cpu: 10m
        memory: 16Mi
      limits:
        memory: 32Mi
    volumeMounts:
    - name: data
      mountPath: /data
  volumes:
  - name: data
    emptyDir: {{}}
"""


def files() -> list[tuple[str, bytes]]:
    """Path and content of each manifest."""
    return [(f"/manifests/{index:04}.yaml", _TEXT.format(index=index).encode()) for index in range(PODS)]


def first_read(manifests: list[tuple[str, bytes]]) -> None:
    """Every manifest is new to a machine that knows nothing; AssertionError unless each becomes one message."""
    machine = SourcesMachine(2, ["file"])
    told = 0
    for path, data in manifests:
        told += len(machine.handle(0.0, file_pods(data, path, "node", 0.0)))
    if told != len(manifests):
        raise AssertionError(f"{told} messages for {len(manifests)} manifests")


def results() -> list[Result]:
    """One row; its limit is that of `PODS` manifests."""
    manifests = files()
    loader = sample(lambda _: [yaml.load(data, Loader=yaml.CSafeLoader) for _, data in manifests], RUNS)
    own = sample(lambda _: first_read(manifests), RUNS)
    name = f"{PODS} manifests to Desired messages"
    return [Result(name, own, "PyYAML's C loader alone", loader.min_ms, limit_ms=LIMIT_MS * PODS)]


if __name__ == "__main__":
    sys.exit(report.main("manifests", results))
