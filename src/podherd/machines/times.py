"""Words for times, which machines keep as epoch seconds."""

NEVER_AT = float("-inf")
"""The time of what has not happened yet: before all others."""
