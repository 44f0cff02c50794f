"""The node's client certificate, from its first request to each renewal; the node actor runs it beside its own work."""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime

from podherd.errors import ConfigError, PodherdError
from podherd.kube import certificate_files as files
from podherd.kube import kubeconfig
from podherd.kube.client import Client
from podherd.kube.config import Access
from podherd.kube.connect import access_of
from podherd.kube.csr import RefusedError, certificate
from podherd.model.settings import Settings

EARLIEST, SPREAD = 0.7, 0.2
"""Part of its lifetime after which a certificate is renewed, as in the kubelet: 70 % to 90 %."""
FIRST_S, LONGEST_S = 2.0, 120.0
"""Between two tries."""
PAUSE_S = 60.0
"""After a renewal: a clock that is wrong, or very short certificates, must not make a flood of requests."""
LOOK_S = 600.0
"""The clock may be set: how long it is trusted in one wait."""

Told = Callable[[str], None]
Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def deadline(begins: datetime, ends: datetime, jitter: float) -> datetime:
    """When to renew a certificate that holds between these. jitter: from 0 up to 1."""
    return begins + (ends - begins) * (EARLIEST + SPREAD * jitter)


async def run_rotation(settings: Settings, told: Told, clock: Clock = _now) -> None:
    """Get the first certificate where there is none, then renew it for ever. told: what happens, in a line each.

    Ends when nothing is left to do: no rotation is asked for, or the kubeconfig has no client certificate. Never raises
    for what the cluster or the disk does: it tries again.
    """
    wait_s, jitter = FIRST_S, random.random()
    while True:
        try:
            if await _step(settings, told, clock, jitter):
                return
            wait_s = FIRST_S
        except (PodherdError, OSError) as error:
            told(f"no new client certificate: {error}")
            await asyncio.sleep(wait_s * (1 + 0.1 * random.random()))
            wait_s = min(LONGEST_S, 2 * wait_s)


async def _step(settings: Settings, told: Told, clock: Clock, jitter: float) -> bool:
    """One certificate more, or one wait; whether all is done."""
    if (first := _first(settings, clock())) is not None:
        await _renew(settings, first, clock)
        assert settings.kubeconfig is not None
        files.write_kubeconfig(settings.kubeconfig, first, settings.pki_dir)
        files.forget_pending(settings.pki_dir)
        told("the first client certificate is here")
        return False
    access = access_of(settings)
    current = files.certificate_of(access) if settings.rotate_certificates else None
    if current is None:
        return True
    due = deadline(current.not_valid_before_utc, current.not_valid_after_utc, jitter)
    if (left_s := (due - clock()).total_seconds()) > 0:
        await asyncio.sleep(min(left_s, LOOK_S))
        return False
    await _renew(settings, access, clock)
    files.forget_pending(settings.pki_dir)
    told("the client certificate is renewed")
    await asyncio.sleep(PAUSE_S)
    return False


def _first(settings: Settings, now: datetime) -> Access | None:
    """The bootstrap kubeconfig's access where it is needed: no kubeconfig yet, or its certificate has ended."""
    if settings.bootstrap_kubeconfig is None or settings.kubeconfig is None:
        return None
    if settings.kubeconfig.exists():
        access = access_of(settings)
        try:
            held = files.certificate_of(access)
            if held is None or now < held.not_valid_after_utc:
                return None
        except ConfigError:
            pass  # its certificate is lost: the first one is asked for again
    return kubeconfig.load(settings.bootstrap_kubeconfig)


async def _renew(settings: Settings, access: Access, clock: Clock) -> None:
    """Ask as `access`, and put the answer where every client of this node looks for it.

    The key stays as the pending one: the caller takes that away once nothing needs to be asked for again.
    """
    pki, api = settings.pki_dir, Client(lambda: access, 0, 0)
    key = files.pending_key(pki)
    try:
        pem = await certificate(api, settings.node_name, key)
    except RefusedError:
        files.forget_pending(pki)
        raise
    finally:
        await api.close()
    files.write_pair(pki, pem, files.key_pem(key), clock())
