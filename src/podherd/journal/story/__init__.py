"""Journals told: why a pod is as it is, in lines in the order of time."""
