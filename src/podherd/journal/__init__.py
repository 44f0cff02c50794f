"""What every machine heard, decided and had done, kept on disk: for `podherd story` and `podherd replay`.

One directory an actor, `<root>/journal/<actor>/`; see docs/story.md.
"""
