"""Pure decisions: `handle(now, *events) -> instructions`, no clock, no randomness, no I/O, no logging."""
