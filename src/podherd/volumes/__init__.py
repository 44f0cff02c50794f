"""Volumes: one file per kind, `registry` names them all, `removal` takes a pod's directory away again.

Everything here is plain blocking file work; `podherd.steps` decides what runs in a thread.
"""
