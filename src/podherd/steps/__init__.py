"""Deeds done for a pod, one file per thing, in one visible order."""
