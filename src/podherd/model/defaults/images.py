"""The default pull policy, by how the image is named."""


def default_pull_policy(image: str) -> str:
    """Always for the tag `latest`, written or implied; IfNotPresent for another tag or a bare digest."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"
