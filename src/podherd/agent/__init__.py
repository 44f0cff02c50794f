"""The door: command line, configuration, the Ray-free parent, wiring."""
