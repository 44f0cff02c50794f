"""A pretend node: a CRI v1 server whose containers are only records, scripted to delay, fail, crash and hang."""
