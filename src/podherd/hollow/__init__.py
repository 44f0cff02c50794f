"""A pretend node: a CRI v1 server whose containers are records."""
