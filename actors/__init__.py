"""Ray shells without decisions: each actor is a plain class here, made a Ray actor in `ray_bus` alone."""
