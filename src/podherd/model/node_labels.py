"""Labels that a kubelet gives its Node and keeps right (kubelet behaviour, section 7)."""

DEFAULT_LABELS = frozenset({
    "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch",
    "beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
})  # fmt: skip
"""In the namespaces of Kubernetes they are all that NodeRestriction lets a node give itself, open prefixes apart."""
