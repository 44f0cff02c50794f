"""`python -m podherd.hollow`."""

from podherd.hollow.command import main

if __name__ == "__main__":
    raise SystemExit(main())
