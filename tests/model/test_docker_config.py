"""Credentials of registries (kubelet behaviour, section 3.6)."""

from base64 import b64encode

import orjson
import pytest

from podherd.model.docker_config import (
    JSON_TYPE,
    LEGACY_TYPE,
    Auth,
    DockerConfigError,
    keyring,
    matching,
    of_json,
    of_legacy,
    of_secret,
)


def _b64(text):
    return b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def _ring(*places):
    return keyring({place: {"username": place, "password": "p"} for place in places}, "test")


def _names(ring, image):
    return [auth.username for auth in matching([ring], image)]


def test_both_forms_of_docker_and_of_secrets_are_read():
    entry = {"reg.test": {"auth": _b64("joe:a:b")}}
    wanted = {"reg.test": (Auth("joe", "a:b"),)}
    assert of_json(orjson.dumps({"auths": entry, "credsStore": "x"}), "f") == wanted
    assert of_legacy(orjson.dumps(entry), "f") == wanted
    json_secret = {"type": JSON_TYPE, "data": {".dockerconfigjson": _b64(orjson.dumps({"auths": entry}))}}
    legacy = {"type": LEGACY_TYPE, "data": {".dockercfg": _b64(orjson.dumps(entry))}}
    assert of_secret(json_secret, "s") == of_secret(legacy, "s") == wanted
    assert of_secret({"type": "Opaque", "data": {".dockercfg": "AAAA"}}, "s") == {}


def test_auth_wins_over_name_and_password_and_may_lack_its_padding():
    both = {"username": "old", "password": "old", "auth": _b64("a:b").rstrip("=")}
    assert keyring({"reg.test": both}, "t") == {"reg.test": (Auth("a", "b"),)}
    assert keyring({"reg.test": {"username": "u", "password": "p", "email": "e"}}, "t") == {
        "reg.test": (Auth("u", "p"),)
    }


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"auths":{"r":[]}}', b'{"auths":{"r":{"auth":"***"}}}', b'{"auths":{"r":{"auth":"YWJj"}}}']
)
def test_what_cannot_be_read_is_an_error_that_tells_no_secret(text):
    with pytest.raises(DockerConfigError) as error:
        of_json(text, "secret shop/pull")
    assert error.value.thing == "secret shop/pull"
    assert "YWJj" not in str(error.value)
    assert repr(Auth("a", "b")) == "Auth()"


@pytest.mark.parametrize(
    ("place", "image", "covered"),
    [
        ("reg.test", "reg.test/a:1", True),
        ("https://reg.test/v1/", "reg.test/a@sha256:" + "0" * 64, True),
        ("http://reg.test/v2/", "reg.test/a", True),
        ("reg.test/team", "reg.test/team/a", True),
        ("reg.test/team", "reg.test/other/a", False),
        ("reg.test:5000", "reg.test:5000/a", True),
        ("reg.test", "reg.test:5000/a", False),
        ("*.test", "reg.test/a", True),
        ("*.test", "a.reg.test/a", False),
        ("*.*.test", "a.reg.test/a", True),
        ("reg*.test", "reg7.test/a", True),
        ("*.reg.test:*", "a.reg.test:5000/a", False),
        ("docker.io", "nginx", True),
        ("index.docker.io", "nginx:1", True),
        ("https://index.docker.io/v1/", "team/app", True),
        ("index.docker.io", "reg.test/nginx", False),
    ],
)
def test_credentials_are_for_a_host_its_port_and_the_beginning_of_a_path(place, image, covered):
    assert bool(_names(_ring(place), image)) is covered


def test_the_longest_path_is_tried_first_and_the_pods_before_the_nodes():
    pod = _ring("reg.test", "reg.test/team", "reg.test/team/app", "other.test")
    assert _names(pod, "reg.test/team/app:1") == ["reg.test/team/app", "reg.test/team", "reg.test"]
    node = keyring({"reg.test": {"username": "node", "password": "p"}}, "t")
    tried = [auth.username for auth in matching([_ring("reg.test"), node, _ring("reg.test")], "reg.test/x")]
    assert tried == ["reg.test", "node"]
