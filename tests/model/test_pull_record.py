"""Who may use an image that was pulled with credentials."""

from typing import Any

import pytest

from podherd.model.docker_config import Auth
from podherd.model.pull_record import (
    LEARNED_MAX,
    Admission,
    PullAccount,
    PullSecret,
    admission,
    digest_of,
    is_pattern,
    trimmed,
    wants_proof,
    with_credentials,
)

IMAGE = "reg.test:5000/team/app:1"
MINE = PullSecret("u1", "shop", "pull", "d1")
OTHER = PullSecret("u2", "bank", "pull", "d2")


def record(*secrets: PullSecret | None) -> Any:
    made: Any = None
    for secret in secrets:
        made = with_credentials(made, "sha256:x", IMAGE, secret, "t0") or made
    return made


def may(known: Any, *secrets: PullSecret | PullAccount, image: str = IMAGE) -> Admission:
    return admission(known, image, lambda: secrets)


@pytest.mark.parametrize(
    ("auth", "digest"),
    [
        (Auth("pod", "p"), "d8519278dd756b2542ad24eb1709edba7259fad7110e45f1429affd593eed96e"),
        (Auth("ü", '<a&b>"'), "b359e9231843a5ad94fc553fe412297dfb0030bab234ce30e848abbb707021a8"),
        (Auth("", "t"), "adfbdd2674fd075df6ca34590fb249a2427d7c16332c7a6ad29a835bc839985d"),
    ],
)
def test_a_digest_is_that_of_the_kubelet(auth: Auth, digest: str) -> None:
    assert digest_of(auth) == digest


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "nginx"),
        (IMAGE, "reg.test:5000/team/app"),
        ("reg.test:5000/app", "reg.test:5000/app"),
        ("reg.test/a:1@sha256:" + "0" * 64, "reg.test/a"),
    ],
)
def test_a_name_without_tag_and_digest(image: str, name: str) -> None:
    assert trimmed(image) == name


def test_what_was_pulled_without_a_secret_is_everybodys() -> None:
    assert record(None)["credentialMapping"] == {"reg.test:5000/team/app": {"nodePodsAccessible": True}}
    assert may(record(None)) == Admission(True)
    assert may(record(MINE, None)) == Admission(True)
    assert with_credentials(record(None), "sha256:x", IMAGE, MINE, "t1") is None


def test_the_same_secret_or_the_same_credentials_elsewhere_are_enough() -> None:
    copy = PullSecret("u9", "other", "copy", "d1")
    assert may(record(MINE), MINE) == Admission(True)
    assert may(record(MINE), OTHER, copy) == Admission(True, copy)


def test_the_service_account_by_whose_token_it_was_pulled_is_enough() -> None:
    robot, other = PullAccount("u1", "shop", "robot"), PullAccount("u2", "shop", "other")
    known = record(MINE)
    for account in (other, robot):
        known = with_credentials(known, "sha256:x", IMAGE, account, "t1")
    assert with_credentials(known, "sha256:x", IMAGE, robot, "t2") is None
    assert [one["name"] for one in known["credentialMapping"][trimmed(IMAGE)]["kubernetesServiceAccounts"]] == [
        "other",
        "robot",
    ]
    assert may(known, robot) == may(known, MINE) == Admission(True)
    assert may(known, robot._replace(uid="u9")) == Admission(False)


def test_new_credentials_in_the_same_secret_are_learned() -> None:
    changed = MINE._replace(digest="d7")
    assert may(record(MINE), changed) == Admission(True, changed)
    again = with_credentials(record(MINE, OTHER), "sha256:x", IMAGE, changed, "t1")
    assert again is not None
    assert [one["credentialHash"] for one in again["credentialMapping"][trimmed(IMAGE)]["kubernetesSecrets"]] == [
        "d2",
        "d7",
    ]


@pytest.mark.parametrize("secrets", [(), (OTHER,), (MINE._replace(uid="u8", digest=""),)])
def test_others_must_show_theirs(secrets: tuple[PullSecret, ...]) -> None:
    assert may(record(MINE), *secrets) == Admission(False)


def test_another_name_of_the_same_image_is_known_by_its_own_pulls_alone() -> None:
    assert not may(record(MINE), MINE, image="reg.test:5000/else/app:1").allowed
    assert may(record(MINE), MINE, image="reg.test:5000/team/app:2").allowed


@pytest.mark.parametrize("known", [None, {}, {"credentialMapping": []}, {"credentialMapping": {trimmed(IMAGE): 3}}])
def test_where_nothing_is_known_nobody_is_asked_for_secrets(known: Any) -> None:
    assert admission(known, IMAGE, lambda: pytest.fail("asked")) == Admission(False)


def test_a_full_record_learns_no_more_and_still_knows_credentials() -> None:
    full = record(*(PullSecret(f"u{n}", "n", f"s{n}", f"d{n}") for n in range(LEARNED_MAX)))
    assert may(full, PullSecret("new", "n", "copy", "d5")) == Admission(True)
    assert may(full, PullSecret("u5", "n", "s5", "changed")) == Admission(False)


@pytest.mark.parametrize(
    ("policy", "pulled_here", "wants"),
    [
        ("NeverVerify", True, False),
        ("NeverVerifyPreloadedImages", True, True),
        ("NeverVerifyPreloadedImages", False, False),
        ("AlwaysVerify", False, True),
        ("NeverVerifyAllowlistedImages", False, True),
    ],
)
def test_when_proof_is_wanted(policy: str, pulled_here: bool, wants: bool) -> None:
    assert wants_proof(policy, (), IMAGE, pulled_here) is wants


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        ("reg.test:5000/team/app", True),
        ("reg.test:5000/team/*", True),
        ("reg.test:5000/*", True),
        ("reg.test:5000/team", False),
        ("reg.test/*", False),
    ],
)
def test_an_allowlist_covers_names_and_prefixes(pattern: str, covers: bool) -> None:
    assert wants_proof("NeverVerifyAllowlistedImages", (pattern,), IMAGE, True) is not covers


@pytest.mark.parametrize("pattern", ["", "/*", " a", "a*", "a/*/b", "reg.test/a:1", "reg.test/a@sha256:00"])
def test_what_is_no_pattern(pattern: str) -> None:
    assert not is_pattern(pattern)
