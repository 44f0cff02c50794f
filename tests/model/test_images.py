"""Image references."""

import pytest

from podherd.model.images import full_reference, same_image

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1", "docker.io/library/nginx:1"),
        ("me/app", "docker.io/me/app:latest"),
        ("index.docker.io/me/app", "docker.io/me/app:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("reg.test:5000/app", "reg.test:5000/app:latest"),
        (f"reg.test/app@{DIGEST}", f"reg.test/app@{DIGEST}"),
    ],
)
def test_full_reference_adds_registry_and_tag(short, full):
    assert full_reference(short) == full


@pytest.mark.parametrize(
    ("wanted", "running", "same"),
    [
        ("nginx", "docker.io/library/nginx:latest", True),
        ("nginx:1", "nginx:2", False),
        ("reg.test/a:1", "reg.test/b:1", False),
        (DIGEST, DIGEST, True),
        (DIGEST, DIGEST.removeprefix("sha256:"), True),
        (DIGEST, OTHER, False),
        (f"reg.test/a@{DIGEST}", f"reg.test/a@{OTHER}", False),
        (f"reg.test/a@{DIGEST}", "reg.test/a:1", True),
        (f"reg.test/a@{DIGEST}", "reg.test/b:1", False),
        ("reg.test/a:1", OTHER, True),
    ],
)
def test_images_are_compared_by_their_full_reference(wanted, running, same):
    assert same_image(wanted, running) is same
