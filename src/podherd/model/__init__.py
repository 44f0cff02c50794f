"""Kubernetes facts as frozen types. Pure: nothing here reads a clock, a file or a setting."""
