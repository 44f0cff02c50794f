"""Kubernetes events on their way to the API server: correlated, queued, tried again. Pure (kubelet behaviour, 10)."""
