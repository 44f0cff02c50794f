"""Checks of the installation and of the agent that runs: extensions, Ray, configuration, actors, manifests."""

import time
from collections.abc import Iterator
from importlib import machinery, metadata, util
from pathlib import Path
from typing import Any

from podherd.agent.admin import Admin, AgentAwayError, AnswerError
from podherd.agent.doctor import Check, Finding, Host, bad, ok, warn
from podherd.agent.table import age
from podherd.errors import ConfigError


def extension(_host: Host) -> Iterator[Finding]:
    """Whether the Cython extensions are built; without them the PLEG actor does not start."""
    spec = util.find_spec("podherd.native.relist")
    if spec and spec.origin and spec.origin.endswith(tuple(machinery.EXTENSION_SUFFIXES)):
        yield ok("native extensions", "compiled")
    else:
        yield bad("native extensions", "not compiled: an agent cannot run", "make build")


def ray(_host: Host) -> Iterator[Finding]:
    """Ray without importing it, which takes seconds."""
    try:
        yield ok("Ray", metadata.version("ray"))
    except metadata.PackageNotFoundError:
        yield bad("Ray", "is not installed", "make setup, or pip install podherd")


def configuration(host: Host) -> Iterator[Finding]:
    """Fields of the configuration file that are known and not acted on yet."""
    if host.config is None:
        return
    from podherd.agent.config import read

    try:
        _, not_acted = read(host.config)
    except ConfigError as error:
        yield bad("configuration", error.reason, error.mend)
        return
    if not_acted:
        mend = f"remove them from {host.config}, or leave them: they change nothing here"
        yield warn("configuration", f"not acted on yet: {', '.join(not_acted)}", mend)
    else:
        yield ok("configuration", str(host.config))


def told(config: Path | None) -> dict[str, Any]:
    """What the configuration file says, by the names of Settings; nothing for one that cannot be used."""
    if config is None:
        return {}
    from podherd.agent.config import read

    try:
        return read(config)[0]
    except ConfigError:
        return {}  # the check `configuration` tells


def endpoint(root_dir: Path) -> str:
    """The runtime that the running agent uses, empty when none runs."""
    try:
        return str(Admin(root_dir).get("agent")["runtimeEndpoint"])
    except (AgentAwayError, AnswerError):
        return ""


def agent(host: Host) -> Iterator[Finding]:
    """Whether an agent answers on the root directory, how its actors are, and which manifests it cannot use."""
    admin = Admin(host.root_dir)
    try:
        actors, problems = admin.get("actors")["items"], admin.get("problems")["items"]
    except AgentAwayError as error:
        yield warn("agent", error.reason, error.mend)
        return
    except AnswerError as error:
        yield warn("agent", f"runs, but: {error.reason}", error.mend)
        return
    yield ok("agent", f"runs with root directory {host.root_dir}")
    yield from _actors(host, actors)
    for problem in problems:
        yield warn("manifest", f"{problem['thing']}: {problem['problem']}", f"edit or remove {problem['thing']}")


def _actors(host: Host, actors: list[dict[str, Any]]) -> Iterator[Finding]:
    """Each process by the supervisor's list `{name, pid, restarts, at}`; `at` is when it got this pid."""
    for actor in actors:
        up = age(time.time() - actor["at"])
        count = actor["restarts"]
        detail = f"pid {actor['pid']}, up {up}, {count} restart{'' if count == 1 else 's'}"
        if host.path(f"/proc/{actor['pid']}").exists():
            yield ok(f"actor {actor['name']}", detail)
        else:
            mend = f"ask again in 5 s; if it stays, read {host.root_dir}/run/driver.log"
            yield warn(f"actor {actor['name']}", f"{detail}: that process is gone", mend)


CHECKS: tuple[Check, ...] = (extension, ray, configuration, agent)
