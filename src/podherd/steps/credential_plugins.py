"""Runs the programs that give out image credentials, and keeps what they said (kubelet behaviour, section 3.6)."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from podherd.machines.objects.found import Lookup
from podherd.model.docker_config import Keyring, keyring
from podherd.model.go_duration import seconds_of
from podherd.model.images import full_reference
from podherd.model.pod import Pod
from podherd.model.pull_record import PullAccount
from podherd.steps.credential_config import Provider, TokenUse
from podherd.steps.credential_tokens import NOBODY, Bearer, CredentialError, bearer_of

ANSWER_S = 60.0
KEPT_MAX = 256
_ECHO = "gave the service account token as the password, which only cacheType Token allows"


class Ring(NamedTuple):
    """What one program gave. account: whose token it took."""

    ring: Keyring
    account: PullAccount | None


class _Kept(NamedTuple):
    ring: Keyring
    until: float


class Plugins:
    """The providers of one node; each is asked once at a time about one image."""

    def __init__(self, providers: tuple[Provider, ...], bin_dir: Path, clock: Callable[[], float]) -> None:
        self._providers = providers
        self._bin_dir = bin_dir
        self._clock = clock
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._running: dict[tuple[str, str], asyncio.Task[Keyring]] = {}

    def token_uses(self, images: Iterable[str]) -> list[TokenUse]:
        """What those providers want to know of a pod that know one of its images."""
        every = tuple(images)
        return [one.tokens for one in self._providers if one.tokens is not None and any(map(one.knows, every))]

    async def rings(self, image: str, pod: Pod, look: Lookup) -> tuple[list[Ring], list[str]]:
        """What each provider that knows the image gives, and why others gave nothing."""
        rings: list[Ring] = []
        failed: list[str] = []
        for provider in self._providers:
            if not provider.knows(image):
                continue
            try:
                bearer = NOBODY if provider.tokens is None else bearer_of(provider.tokens, pod, look)
                if bearer is not None:
                    rings.append(Ring(await self._ring(provider, image, bearer), bearer.account))
            except CredentialError as error:
                failed.append(str(error))
        return rings, failed

    async def _ring(self, provider: Provider, image: str, bearer: Bearer) -> Keyring:
        now = self._clock()
        for word in _keys(image):
            kept = self._kept.get((provider.name, f"{word} {bearer.key}"))
            if kept is not None and now < kept.until:
                return kept.ring
        key = (provider.name, f"{image} {bearer.key}")
        if (task := self._running.get(key)) is None:
            work = self._ask(provider, image, bearer)
            task = self._running[key] = asyncio.create_task(work, name=f"credentials {image}")
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    def _ended(self, key: tuple[str, str], task: asyncio.Task[Keyring]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # seen, even when nobody waits for it any more

    async def _ask(self, provider: Provider, image: str, bearer: Bearer) -> Keyring:
        answer = await _run(provider, self._bin_dir / provider.name, image, bearer)
        thing = f"credential provider {provider.name}"
        try:
            entries: Mapping[str, Any] = answer.get("auth") or {}
            ring = keyring(entries, thing)
            lasting = answer.get("cacheDuration")
            cache_s = provider.cache_s if lasting is None else seconds_of(str(lasting))
            word = f"{_key_of(image, str(answer.get('cacheKeyType') or ''), thing)} {bearer.key}"
        except (ValueError, AttributeError, TypeError) as error:
            raise CredentialError(thing, f"gave an answer that cannot be used: {error}") from error
        echoes = bearer.token and any(auth.password == bearer.token for auths in ring.values() for auth in auths)
        if echoes and provider.tokens is not None and provider.tokens.cache != "Token":
            raise CredentialError(thing, _ECHO, "set cacheType: Token")
        if cache_s > 0:
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            self._kept[provider.name, word] = _Kept(ring, self._clock() + cache_s)
        return ring

    async def close(self) -> None:
        """End every program that still runs."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _keys(image: str) -> tuple[str, ...]:
    return f"image {image}", f"registry {_registry(image)}", "global"


def _key_of(image: str, kind: str, thing: str) -> str:
    """For what else the answer is good. Raises CredentialError."""
    try:
        return dict(zip(("Image", "Registry", "Global"), _keys(image), strict=True))[kind]
    except KeyError:
        raise CredentialError(thing, f"gave the cacheKeyType {kind!r}, not Image, Registry or Global") from None


def _registry(image: str) -> str:
    return full_reference(image).partition("/")[0]


async def _run(provider: Provider, program: Path, image: str, bearer: Bearer) -> dict[str, Any]:
    """The decoded CredentialProviderResponse. Raises CredentialError."""
    thing = f"credential provider {provider.name}"
    asked: dict[str, Any] = {"kind": "CredentialProviderRequest", "apiVersion": provider.version, "image": image}
    asked |= bearer.request
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *provider.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **dict(provider.env)},
        )
    except OSError as error:
        raise CredentialError(thing, f"cannot be run: {error.strerror}", f"look at {program}") from error
    try:
        async with asyncio.timeout(ANSWER_S):
            out, complaint = await process.communicate(orjson.dumps(asked))
    except TimeoutError:
        raise CredentialError(thing, f"has not answered after {ANSWER_S:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        said = complaint.decode(errors="replace").strip()[-200:]
        raise CredentialError(thing, f"ended with exit code {process.returncode}: {said}")
    return _answer(out, provider, thing)


def _answer(out: bytes, provider: Provider, thing: str) -> dict[str, Any]:
    try:
        answer = orjson.loads(out)
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict) or answer.get("kind") != "CredentialProviderResponse":
        raise CredentialError(thing, "gave no CredentialProviderResponse")
    if answer.get("apiVersion") != provider.version:
        version = answer.get("apiVersion")
        raise CredentialError(thing, f"answered with apiVersion {version!r}, not {provider.version!r}")
    return answer
