"""Native hot paths as Cython leaves; `fallback/` has the same surface in plain Python, the oracle of the tests."""
