"""The native surfaces in plain Python: slower, readable, and what the compiled ones are compared with."""
