"""podherd: a Kubernetes node agent as a herd of Ray actors with a Cython hot path."""

__version__ = "0.1.0"
