"""Streams to the runtime's streaming server: exec, attach and port-forward over one SPDY/3.1 connection each."""
