"""Orders to end a pod for the node's sake: eviction, preemption, shutdown; from whoever decides to the pod's shard."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evict:
    """End this pod and say that it failed: phase Failed with `reason` and `message`, once nothing of it runs.

    grace_s: at most so long; -1: the pod's own. disruption: message of its DisruptionTarget condition (reason
    TerminationByKubelet), empty for none. A pod that has ended, or is not here, is left alone.
    """

    uid: str
    namespace: str
    name: str
    reason: str
    message: str
    grace_s: int = -1
    disruption: str = ""
