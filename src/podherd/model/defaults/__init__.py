"""The defaults of API v1 for a Pod (kubelet behaviour, section 1.4), written into a schema-valid object."""

from podherd.model.defaults.pod import set_defaults

__all__ = ["set_defaults"]
