"""What the agent answers over HTTP: tables, log streams and handlers, each given the narrow functions it needs."""
