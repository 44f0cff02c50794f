"""What the kernel says of unix sockets."""

SOCKET_PATH_BYTES = 107
"""Longest path: `sun_path` is 108 bytes with its zero (unix(7))."""
