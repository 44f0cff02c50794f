"""The pod machine: what a pod worker of the kubelet decides."""
