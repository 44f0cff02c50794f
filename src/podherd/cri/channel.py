"""Channels to a CRI socket: unix only, any message size, healing by themselves within a second."""

from pathlib import Path

import grpc

from podherd.errors import RuntimeRefusedError

LONGEST_ERROR_BYTES = 16 << 20
"""gRPC carries an error's text in headers, and its own limit for those is 8 KiB: a runtime that quotes a long command
in its error would have its answer thrown away. As much as Go's client, which the kubelet has, takes."""
OPTIONS = (
    ("grpc.max_metadata_size", LONGEST_ERROR_BYTES),
    ("grpc.absolute_max_metadata_size", LONGEST_ERROR_BYTES),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A restarted runtime listens again within a second or two; gRPC's own back-off grows to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    # CreateContainer is not idempotent: a failed call is the caller's to judge.
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)


def target_of(endpoint: str) -> str:
    """`unix:///run/x.sock` or `/run/x.sock` as gRPC's target. Raises RuntimeRefusedError for anything else."""
    path = endpoint.removeprefix("unix://")
    if "://" in path or not path.startswith("/"):
        mend = "give it as unix:///run/containerd/containerd.sock"
        raise RuntimeRefusedError(f"runtime endpoint {endpoint!r}", "is not the path of a unix socket", mend)
    return f"unix:{path}"


def socket_path(endpoint: str) -> Path:
    """The socket file of an endpoint."""
    return Path(target_of(endpoint).removeprefix("unix:"))


def open_channel(endpoint: str) -> grpc.aio.Channel:
    """A channel that connects when first used. Must be called inside the running loop that will use it."""
    return grpc.aio.insecure_channel(target_of(endpoint), options=OPTIONS)
