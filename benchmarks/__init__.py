"""Benchmarks: micro (one function), node (a whole agent), with baselines to compare with."""
