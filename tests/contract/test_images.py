"""Images: presence, absence, the file system's use."""

from podherd.agent.provision import BUSYBOX


async def test_an_image_that_is_there_has_an_id_and_its_tag(cri):
    image = await cri.image_status(BUSYBOX)
    assert image is not None
    assert image.id.startswith("sha256:")
    assert BUSYBOX in image.repo_tags
    assert image.size > 0


async def test_an_image_is_found_by_its_id_too(cri):
    image = await cri.image_status(BUSYBOX)
    assert (await cri.image_status(image.id)).id == image.id


async def test_an_absent_image_is_none(cri):
    assert await cri.image_status("podherd.local/absent:1") is None


async def test_list_images_holds_the_samples(cri):
    tags = {tag for image in await cri.list_images() for tag in image.repo_tags}
    assert {BUSYBOX, "podherd.local/pause:1"} <= tags


async def test_removing_an_absent_image_is_fine(cri):
    await cri.remove_image("podherd.local/absent:1")


async def test_image_fs_info_names_a_file_system(cri):
    (info,) = (await cri.image_fs_info()).image_filesystems
    assert info.timestamp > 0
