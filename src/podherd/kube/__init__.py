"""The Kubernetes API server, as every actor that speaks to it sees it: `podherd.kube.door` says what can be asked."""
