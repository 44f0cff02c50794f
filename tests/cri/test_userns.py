"""A pod's own users: blocks of ids, the file that keeps them, the messages that carry them."""

import json
from itertools import islice

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.cri.conftest import container_of, sandbox_of
from tests.kit.pods import pod

from podherd.cri.convert import mount, userns
from podherd.cri.convert.userns import Block
from podherd.errors import ContainerConfigError

SPEC = {"hostUsers": False}
MAPPING = userns.namespace(Block(131072, 65536))


def test_every_block_is_offered_once_but_the_hosts_own_and_the_last():
    length = 1 << 28
    assert sorted(userns.blocks("u", length)) == [Block(length * n, length) for n in range(1, 15)]
    ids = [block.first_id for block in userns.blocks("u", userns.UNIT)]
    assert (min(ids), max(ids), len(set(ids))) == (65536, (1 << 32) - 2 * 65536, 65534)


def test_pods_begin_to_look_at_different_places():
    firsts = {next(userns.blocks(f"uid-{n}", userns.UNIT)) for n in range(1000)}
    assert len(firsts) > 980
    assert list(islice(userns.blocks("a", userns.UNIT), 9)) == list(islice(userns.blocks("a", userns.UNIT), 9))


@pytest.mark.parametrize(("block", "units"), [(Block(131072, 65536), [2]), (Block(131072, 131072), [2, 3])])
def test_the_file_is_the_kubelets_and_is_read_back(block, units):
    told = json.loads(userns.to_json(block))
    mapping = {"hostId": block.first_id, "containerId": 0, "length": block.length}
    assert told == {"uidMappings": [mapping], "gidMappings": [mapping]}
    assert userns.from_json(userns.to_json(block)) == block
    assert list(block.units) == units


def _kept(first=131072, container=0, length=65536, **more):
    mapping = {"hostId": first, "containerId": container, "length": length}
    return json.dumps({"uidMappings": [mapping], "gidMappings": [mapping], **more}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"nonsense", _kept(container=1), _kept(first=0), _kept(first=7), _kept(length=0),
        _kept(length=7), _kept(uidMappings=[]),
        _kept(gidMappings=[{"hostId": 65536, "containerId": 0, "length": 65536}]),
    ],
)  # fmt: skip
def test_a_file_that_nobody_writes_is_refused(data):
    with pytest.raises(ContainerConfigError, match="invalid user namespace mappings file"):
        userns.from_json(data)


def test_sandbox_and_containers_have_the_mapping_and_mounts_are_seen_through_it():
    made = pod({"containers": [{"name": "app", "image": "a:1", "terminationMessagePath": "/last"}], **SPEC})
    config = container_of(made, userns=MAPPING, mounts=[mount("/a", "/b")], termination_log="/log")
    for options in (
        sandbox_of(made, userns=MAPPING).linux.security_context.namespace_options,
        config.linux.security_context.namespace_options,
    ):
        assert options.userns_options == MAPPING
        assert options.userns_options.mode == pb.POD
    assert [one.container_path for one in config.mounts] == ["/a", "/last"]
    for one in config.mounts:
        assert (list(one.uidMappings), list(one.gidMappings)) == (list(MAPPING.uids), list(MAPPING.gids))


def test_other_pods_have_none():
    made = pod({"hostUsers": True})
    assert not sandbox_of(made).linux.security_context.namespace_options.HasField("userns_options")
    assert not container_of(made, mounts=[mount("/a", "/b")]).mounts[0].uidMappings


def test_without_a_mapping_such_a_pod_is_refused_not_run_with_the_hosts_users():
    for convert in (sandbox_of, container_of):
        with pytest.raises(ContainerConfigError, match="hostUsers"):
            convert(pod(SPEC))


def _handler(name, able):
    return pb.RuntimeHandler(name=name, features=pb.RuntimeHandlerFeatures(user_namespaces=able))


@pytest.mark.parametrize(
    ("handler", "handlers", "refused"),
    [
        ("", [_handler("", True)], ""),
        ("kata", [_handler("", False), _handler("kata", True)], ""),
        ("", [], "can't set `spec.hostUsers: false`, runtime does not support user namespaces"),
        ("", [_handler("", False)], "runtime does not support"),
        ("kata", [_handler("", True)], 'RuntimeClass handler "kata" does not support user namespaces'),
    ],
)
def test_the_runtimes_handler_must_be_able(handler, handlers, refused):
    if not refused:
        userns.check_supported(handler, handlers)
        return
    with pytest.raises(ContainerConfigError) as error:
        userns.check_supported(handler, handlers)
    assert refused in error.value.reason
