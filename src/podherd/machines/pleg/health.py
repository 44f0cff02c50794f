"""When the PLEG counts as unhealthy, in the kubelet's words (kubelet behaviour, section 4). Pure."""

from podherd.model.status import go_duration
from podherd.wire.node import PlegHealth

UNHEALTHY_S = 180.0


def pleg_trouble(health: PlegHealth | None, now: float) -> str:
    """Why it is not healthy; empty when it is. health: what it told last, None when it has yet to tell anything."""
    if health is None:
        return "PLEG is not healthy: pleg has yet to be successful"
    silent_s = now - health.last_relist_at
    if silent_s <= UNHEALTHY_S:
        return ""
    age, limit = go_duration(silent_s), go_duration(UNHEALTHY_S)
    return f"PLEG is not healthy: pleg was last seen active {age} ago; threshold is {limit}"
