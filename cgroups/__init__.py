"""The cgroup hierarchy: mode, paths, limits, records."""
