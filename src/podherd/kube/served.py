"""Which version of an API a server has, where clusters in use have several."""

from collections.abc import Iterable
from http import HTTPStatus

from podherd.errors import ApiError
from podherd.kube.door import Api


async def version_of(api: Api, group: str, plural: str, versions: Iterable[str]) -> str | None:
    """The first of the versions that has this kind; None where none has. Raises ApiError."""
    for version in versions:
        try:
            told = await api.get(f"/apis/{group}/{version}")
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            continue
        if any(each.get("name") == plural for each in told.get("resources") or ()):
            return version
    return None
