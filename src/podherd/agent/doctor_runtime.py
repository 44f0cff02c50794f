"""Checks of the container runtime behind its CRI socket."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from podherd.agent.config_values import HOLLOW
from podherd.agent.doctor import Check, Finding, Host, Runtime, bad, ok, warn
from podherd.errors import CriError, RuntimeRefusedError

ANSWER_S = 5.0


def look(endpoint: str) -> Runtime:
    """What the runtime tells of itself; one that does not answer, what podherd's own configuration of it says."""
    if endpoint in ("", HOLLOW):
        return Runtime(pretended=endpoint == HOLLOW)
    return asyncio.run(_look(endpoint))


async def _look(endpoint: str) -> Runtime:
    from podherd.cri.client import Cri

    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        name = (await cri.version()).runtime_name
        answer = await cri.status(verbose=True)
    except (CriError, RuntimeRefusedError):
        return Runtime(restricts_oom=_own_restricts(endpoint))
    finally:
        await cri.close()
    network = any(condition.type == "NetworkReady" and condition.status for condition in answer.status.conditions)
    return Runtime(name == HOLLOW, network, _restricts(answer.info.get("config", "")) or _own_restricts(endpoint))


def _restricts(config: str) -> bool:
    """containerd tells its CRI plugin's configuration as JSON in the verbose status."""
    try:
        return json.loads(config).get("restrictOOMScoreAdj") is True
    except (ValueError, AttributeError):
        return False


def _own_restricts(endpoint: str) -> bool:
    try:
        text = Path(endpoint.removeprefix("unix://")).with_name("config.toml").read_text()
    except OSError:
        return False
    return "restrict_oom_score_adj = true" in text


def runtime(host: Host) -> Iterator[Finding]:
    """Socket, version, conditions."""
    if not host.endpoint:
        mend = "`make run` sets one up on Debian and Ubuntu; or apt-get install containerd; or give --runtime"
        yield bad("CRI socket", "none found at the usual places", mend)
        return
    if host.endpoint == HOLLOW:
        yield ok("runtime", "hollow: containers are pretended")
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
        mend = "start the runtime, for example: systemctl start containerd"
        return [bad("CRI socket", f"{endpoint}: {error.reason}", mend)]
    finally:
        await cri.close()


def _mend(condition: str) -> str:
    if condition == "NetworkReady":
        return "write /etc/cni/net.d/10-pods.conflist; its plugins: apt-get install containernetworking-plugins"
    return "read the runtime's log, for example: journalctl -u containerd"


def images(host: Host) -> Iterator[Finding]:
    """Whether the ImageService answers."""
    if host.endpoint not in ("", HOLLOW):
        yield asyncio.run(_images(host.endpoint))


async def _images(endpoint: str) -> Finding:
    from podherd.cri.client import Cri

    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        return ok("images", f"{len(await cri.list_images())} in the runtime")
    except CriError as error:
        mend = "read its log, for example: journalctl -u containerd"
        return warn("images", f"the ImageService does not answer: {error.reason}", mend)
    finally:
        await cri.close()


CHECKS: tuple[Check, ...] = (runtime, images)
