"""What the agent answers: the admin socket of the command line, later the kubelet API."""
