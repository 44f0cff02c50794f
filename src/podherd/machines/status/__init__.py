"""The status machine: what the API server shall hold of this node's pods (kubelet behaviour, sections 1.6 and 6)."""

from podherd.machines.status.machine import StatusMachine

__all__ = ["StatusMachine"]
