"""What preparing a machine may fail with."""

from podherd.errors import PodherdError


class ProvisionError(PodherdError):
    """No container runtime can be had here; `thing` is what is missing, `mend` how to get it."""
