"""How the runtime is, as the node machine hears it: one look is one event, whatever happens."""

import asyncio
from typing import Any

from podherd.cri.client import Cri
from podherd.errors import CriError, PodherdError
from podherd.machines import node_events as heard
from podherd.machines.node import Handler, Image
from podherd.machines.node_conditions import runtime_words

WITHIN_S = 10.0
IMAGES_EVERY_S = 30.0


class RuntimeLook:
    """fallback: the cgroup driver of a runtime that does not tell its own."""

    def __init__(self, cri: Cri, fallback: str, log: Any) -> None:
        self._cri = cri
        self._fallback = fallback
        self._log = log
        self._driver_known = False
        self._images_at = float("-inf")
        self._logged = ("", "")

    async def refusal(self) -> heard.Refused | None:
        """Wait for a runtime; why the one that is there cannot be driven."""
        try:
            await self._cri.wait_ready(lambda error: self._log.warning("runtime away", reason=error.reason))
        except PodherdError as error:
            self._log_once("runtime refused", str(error))
            return heard.Refused(str(error))
        return None

    async def look(self) -> heard.Looked | heard.NotLooked:
        """A look without an answer changes nothing: the runtime is down once this has lasted for a while."""
        driver = ""
        try:
            async with asyncio.timeout(WITHIN_S):
                version, status = await self._cri.version(), await self._cri.status()
                if not self._driver_known:
                    driver = await self._cri.cgroup_driver(self._fallback)
        except (CriError, TimeoutError) as error:
            self._driver_known = False  # who answers next may be another runtime
            self._log_once("runtime status unknown", getattr(error, "reason", "") or "no answer in time")
            return heard.NotLooked()
        self._driver_known = True
        self._logged = ("", "")
        conditions = status.status.conditions
        return heard.Looked(
            runtime_version=f"{version.runtime_name}://{version.runtime_version}",
            not_ready=_trouble(conditions, "RuntimeReady"),
            no_network=_trouble(conditions, "NetworkReady"),
            cgroup_driver=driver,
            handlers=tuple(
                Handler(each.name, each.features.recursive_read_only_mounts, each.features.user_namespaces)
                for each in status.runtime_handlers
            ),
            supplemental_groups=status.features.supplemental_groups_policy,
        )

    async def images(self) -> heard.Images | None:
        """The list is for people and schedulers: an old one does no harm. None: there is no newer one."""
        now = asyncio.get_running_loop().time()
        if now - self._images_at < IMAGES_EVERY_S:
            return None
        try:
            images = await self._cri.list_images()
        except CriError:
            return None
        self._images_at = now
        found = [Image((*image.repo_digests, *image.repo_tags), image.size) for image in images]
        # Those of one size by their names: another order is another status.
        return heard.Images(tuple(sorted(found, key=lambda each: (-each.size_bytes, each.names))))

    def _log_once(self, event: str, reason: str) -> None:
        if (event, reason) != self._logged:
            self._logged = (event, reason)
            self._log.warning(event, reason=reason)


def _trouble(conditions: Any, kind: str) -> str:
    for condition in conditions:
        if condition.type == kind:
            return runtime_words(kind, condition.status, condition.reason, condition.message)
    return runtime_words(kind, False, "", "the runtime does not tell")
