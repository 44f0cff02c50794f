"""When tokens and certificates of pods are asked for anew (kubelet behaviour, section 13.3)."""

from zlib import crc32

DAY_S = 24 * 3600.0
OF_LIFE = 0.8
JITTER_MAX_S = 10.0
SPREAD_MAX_S = 300.0


def refresh_at(expires_at: float, life_s: float, spread_by: str) -> float:
    """Past 80 % of its life or 24 h old, whichever is first, less up to 10 s that differ from pod to pod.

    life_s: as it was asked for. spread_by: any word of the pod's own, such as its uid.
    """
    made_at = expires_at - life_s
    jitter_s = crc32(spread_by.encode()) % 1000 / 1000 * JITTER_MAX_S
    return min(made_at + OF_LIFE * life_s, made_at + DAY_S) - jitter_s


def spread_s(spread_by: str) -> float:
    """How long after the time that the signer names a certificate is asked for anew: up to 5 minutes."""
    return crc32(spread_by.encode()) % 1000 / 1000 * SPREAD_MAX_S
