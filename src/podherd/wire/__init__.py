"""Messages between actors, one file per lane; every message is a frozen dataclass of msgpack-able fields.

Lanes and who may send them to whom: `routes`. How they become bytes: `codec`.
"""
