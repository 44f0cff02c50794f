"""May a pod run on this node? Decided once for each, before any shard hears of it (kubelet behaviour, section 2.6)."""

from podherd.machines.admission.admission import ADMITTED, Admission, Verdict
from podherd.machines.admission.ask import Ask, ask_of

__all__ = ["ADMITTED", "Admission", "Ask", "Verdict", "ask_of"]
