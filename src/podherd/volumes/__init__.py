"""Volumes, one file per kind."""
