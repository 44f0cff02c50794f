"""The container hash and what it decides: case STATE-1."""

import json
from pathlib import Path

import pytest
from tests.kit.pods import pod

from podherd.model import keys
from podherd.model.hashing import HASH_SCHEME, container_hash, same_container

GOLDEN = json.loads((Path(__file__).parent / "golden" / "container_hashes.json").read_text())


def _hash(container):
    made = pod({"containers": [container]}).containers[0]
    return container_hash(made.name, made.image)


@pytest.mark.parametrize("golden", GOLDEN["containers"], ids=lambda golden: golden["spec"]["name"])
def test_the_golden_hashes_of_the_first_release_still_match(golden):
    assert GOLDEN["scheme"] == HASH_SCHEME
    assert _hash(golden["spec"]) == golden["hash"]


def test_the_hash_is_the_kubelets_own():
    assert container_hash("test_container", "foo/image:v1") == "8e45cbd0"


PROBE = {"httpGet": {"path": "/", "port": 80}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"ports": []}, {}),
        ({"env": []}, {}),
        ({"workingDir": "/a", "tty": True}, {"tty": True, "workingDir": "/a"}),
        ({"shinyPolicy": None}, {}),
        ({"livenessProbe": {**PROBE, "successThreshold": 1}}, {"livenessProbe": PROBE}),
    ],
)
def test_specs_that_mean_the_same_have_the_same_hash(one, other):
    base = {"name": "web", "image": "a:1"}
    assert _hash({**base, **one}) == _hash({**other, **base})


def test_another_image_or_name_is_another_hash():
    assert len({_hash({"name": n, "image": i}) for n in ("web", "side") for i in ("a:1", "a:2")}) == 4


def _notes(value, scheme=HASH_SCHEME):
    return {keys.CONTAINER_HASH: value} | ({keys.HASH_SCHEME: scheme} if scheme else {})


@pytest.mark.parametrize("scheme", [HASH_SCHEME, "0", ""])
def test_an_equal_hash_is_the_same_container_under_every_scheme(scheme):
    assert same_container(_notes(container_hash("web", "a:1"), scheme), "web", "a:1", "whatever:9")


def test_an_unequal_hash_of_this_scheme_is_another_container_whatever_it_runs():
    assert not same_container(_notes("deadbeef"), "web", "a:1", "docker.io/library/a:1")


@pytest.mark.parametrize("scheme", ["0", ""])
@pytest.mark.parametrize(
    ("running", "same"),
    [
        ("a:1", True),
        ("docker.io/library/a:1", True),
        ("docker.io/library/a:2", False),
        ("sha256:" + "0" * 64, True),
        ("", True),
    ],
)
def test_a_hash_of_an_older_scheme_decides_nothing_and_the_images_do(scheme, running, same):
    assert same_container(_notes("deadbeef", scheme), "web", "a:1", running) is same
