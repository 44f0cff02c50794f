"""Fields by hand are what protobuf reads."""

from cri_api.v1 import api_pb2 as api
from hypothesis import given
from hypothesis import strategies as st

from podherd.hollow import encode


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.text(st.characters(codec="utf-8")))
def test_protobuf_reads_what_was_written_by_hand(started_ns: int, exit_code: int, reason: str) -> None:
    written = encode.number(b"\x28", started_ns) + encode.number(b"\x38", exit_code) + encode.text(b"\x52", reason)
    assert api.ContainerStatus.FromString(written) == api.ContainerStatus(
        started_at=started_ns, exit_code=exit_code, reason=reason
    )


@given(st.binary(max_size=300))
def test_a_block_holds_its_bytes_even_none(body: bytes) -> None:
    message = api.ExecSyncResponse.FromString(encode.block(b"\x0a", body))
    assert message.stdout == body
