"""The wire codec on Observed messages against bare msgpack: `python -m podherd.benchmarks.micro.codec`.

The reference packs and unpacks the same values as ready-made tuples: what remains is the price of typed messages.
"""

import sys

import msgpack

from podherd.benchmarks.micro import report
from podherd.benchmarks.micro.timing import Result, sample
from podherd.wire import codec
from podherd.wire.observed import ContainerSeen, Observed, SandboxSeen

MESSAGES = 100
"""A frame of a busy PLEG."""
RUNS = 200


def observed(index: int) -> Observed:
    """A running one-container pod."""
    sandbox = SandboxSeen(f"{index:064x}", 0, True, 1.76e9, False, (f"10.88.{index >> 8 & 255}.{index & 255}",))
    container = ContainerSeen(
        id=f"{index + 1:064x}", name="web", sandbox_id=sandbox.id, attempt=0, state="running",
        created_at=1.76e9, started_at=1.76e9, finished_at=0.0, exit_code=0, reason="", message="",
        image="registry.local/library/web:1.0", image_ref=f"sha256:{7:064x}",
        annotations={"io.kubernetes.container.hash": "5d3f9a1c", "io.kubernetes.container.restartCount": "0"},
    )  # fmt: skip
    return Observed(f"{index:032x}", "default", f"web-{index}", 1.76e9, (sandbox,), (container,))


def results() -> list[Result]:
    """Encode and decode a frame of Observed messages."""
    messages = [observed(index) for index in range(MESSAGES)]
    frame = codec.encode("pleg", messages)
    plain = msgpack.unpackb(frame, use_list=False)
    name = f"frame of {MESSAGES} Observed"
    bare_pack = sample(lambda _: msgpack.packb(plain), RUNS)
    bare_unpack = sample(lambda _: msgpack.unpackb(frame, use_list=False), RUNS)
    encode = sample(lambda _: codec.encode("pleg", messages), RUNS)
    decode = sample(lambda _: codec.decode(frame), RUNS)
    return [
        Result(f"{name}: encode", encode, "msgpack of ready-made tuples", bare_pack.min_ms),
        Result(f"{name}: decode", decode, "msgpack to bare tuples", bare_unpack.min_ms),
    ]


if __name__ == "__main__":
    sys.exit(report.main("codec", results))
