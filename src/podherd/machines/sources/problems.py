"""What is wrong with each origin, by topic, and whether people were told so already."""

from podherd.wire.status import SourceProblem


class Problems:
    """Texts go in by topic; only a thing whose whole text changed comes out."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, str]] = {}
        self._said: dict[str, SourceProblem] = {}
        self._touched: set[str] = set()

    def note(self, thing: str, topic: str, text: str) -> None:
        """Set what is wrong with a thing under a topic; an empty text takes it back."""
        if text:
            self._topics.setdefault(thing, {})[topic] = text
        elif thing in self._topics:
            self._topics[thing].pop(topic, None)
        else:
            return
        self._touched.add(thing)

    def clear(self, thing: str) -> None:
        """Take back everything about a thing."""
        if self._topics.pop(thing, None):
            self._touched.add(thing)

    def news(self, now: float) -> list[SourceProblem]:
        """One message for each thing whose text changed since the last call."""
        if not self._touched:
            return []
        messages = [self._message(now, thing) for thing in sorted(self._touched)]
        self._touched.clear()
        return [message for message in messages if message is not None]

    def _message(self, now: float, thing: str) -> SourceProblem | None:
        topics = self._topics.get(thing, {})
        if not topics:
            self._topics.pop(thing, None)
        text = "; ".join(topics[topic] for topic in sorted(topics))
        said = self._said.get(thing)
        if text == (said.problem if said else ""):
            return None
        message = SourceProblem(thing, text, now)
        if text:
            self._said[thing] = message
        else:
            del self._said[thing]
        return message

    def all(self) -> list[SourceProblem]:
        """Everything that is wrong now."""
        return list(self._said.values())
