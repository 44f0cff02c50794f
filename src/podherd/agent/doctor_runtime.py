"""Checks of the container runtime behind its CRI socket."""

import asyncio
from collections.abc import Iterator

from podherd.agent.doctor import Check, Finding, Host, bad, ok, warn
from podherd.errors import CriError, RuntimeRefusedError

ANSWER_S = 5.0


def runtime(host: Host) -> Iterator[Finding]:
    """Socket, version, conditions."""
    if not host.endpoint:
        mend = "`make run` sets one up on Debian and Ubuntu; or apt-get install containerd; or give --runtime"
        yield bad("CRI socket", "none found at the usual places", mend)
        return
    yield from asyncio.run(_ask(host.endpoint))


async def _ask(endpoint: str) -> list[Finding]:
    from podherd.cri.client import Cri
    from podherd.cri.ready import accept_answer

    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        version = await accept_answer(cri.version, endpoint)
        name = f"{version.runtime_name} {version.runtime_version}, CRI {version.runtime_api_version}"
        findings = [ok("CRI socket", endpoint), ok("runtime", name)]
        for condition in (await cri.status()).status.conditions:
            if condition.status:
                findings.append(ok(condition.type, "true"))
            else:
                findings.append(bad(condition.type, f"{condition.reason}: {condition.message}", _mend(condition.type)))
        return findings
    except RuntimeRefusedError as error:
        return [bad("runtime", error.reason, error.mend)]
    except CriError as error:
        return [
            bad("CRI socket", f"{endpoint}: {error.reason}", "start the runtime: systemctl start containerd (or crio)")
        ]
    finally:
        await cri.close()


def _mend(condition: str) -> str:
    if condition == "NetworkReady":
        return "give the runtime a CNI network: a .conflist in its conf_dir, plugins in its bin_dir"
    return "look into the runtime's log: journalctl -u containerd (or crio)"


def images(host: Host) -> Iterator[Finding]:
    """Whether the ImageService answers."""
    if host.endpoint:
        yield asyncio.run(_images(host.endpoint))


async def _images(endpoint: str) -> Finding:
    from podherd.cri.client import Cri

    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        return ok("images", f"{len(await cri.list_images())} in the runtime")
    except CriError as error:
        return warn("images", f"the ImageService does not answer: {error.reason}", "look into the runtime's log")
    finally:
        await cri.close()


CHECKS: tuple[Check, ...] = (runtime, images)
