"""The images there are and by which names they are found."""

import pytest
from cri_api.v1 import api_pb2 as api

from podherd.hollow.images import Images, normalised
from podherd.hollow.refusal import RefusedError

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("team/app:2", "docker.io/team/app:2"),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
        ("localhost/app", "localhost/app:latest"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
        (f"host.io/a:1@{DIGEST}", f"host.io/a@{DIGEST}"),
    ],
)
def test_references_are_made_full_as_containerd_does(given: str, full: str) -> None:
    assert normalised(given) == full


@pytest.mark.parametrize("wrong", ["", "UPPER", "a b", "a:b:c", "a@sha256:12", "/a", "a//b"])
def test_what_is_no_reference_is_refused(wrong: str) -> None:
    with pytest.raises(RefusedError, match="invalid reference format"):
        normalised(wrong)


def test_an_image_is_found_by_any_of_its_names() -> None:
    images = Images()
    image = images.add("busybox:1")
    names = ("busybox:1", "docker.io/library/busybox:1", image.image_id, image.image_id[7:], image.image_id[7:19])
    assert all(images.find(name) is image for name in (*names, image.digest))
    assert images.find("busybox") is None
    assert images.add("docker.io/library/busybox:1") is image
    assert len(images) == 1


def test_a_removed_image_is_gone_under_every_name_and_the_list_follows() -> None:
    images = Images(("busybox:1", "registry.k8s.io/pause:3.10"))
    listed = api.ListImagesResponse.FromString(images.listed())
    assert [(one.repo_tags[0], one.pinned) for one in listed.images] == [
        ("docker.io/library/busybox:1", False),
        ("registry.k8s.io/pause:3.10", True),
    ]
    images.remove("busybox:1")
    images.remove("busybox:1")
    assert images.find("busybox:1") is None
    assert len(api.ListImagesResponse.FromString(images.listed()).images) == 1


def test_an_image_pulled_by_digest_has_that_digest_and_no_tag() -> None:
    image = Images().add(f"host.io/a@{DIGEST}")
    message = api.Image.FromString(image.body)
    assert (list(message.repo_tags), list(message.repo_digests)) == ([], [f"host.io/a@{DIGEST}"])
