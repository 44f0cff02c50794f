"""The sources machine: which pods this node should run, merged from every origin (kubelet behaviour, section 1.5)."""

from podherd.machines.sources.machine import SourcesMachine

__all__ = ["SourcesMachine"]
