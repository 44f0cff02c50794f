"""GetContainerEvents: each subscriber has its own bounded queue; what overflows is lost to it alone, and counted."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from podherd.hollow.encode import block, number, text
from podherd.hollow.records import Sandbox
from podherd.hollow.timers import ClockNs

QUEUED = 1000
"""Events that may wait for one subscriber, as many as in containerd."""


class Subscriber:
    """One open stream."""

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.filled = asyncio.Event()
        self.lost = 0
        self.closed = False

    def put(self, event: bytes) -> None:
        """Queue, or lose when the queue is full."""
        if len(self.waiting) >= QUEUED:
            self.lost += 1
            return
        self.waiting.append(event)
        self.filled.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Encoded ContainerEventResponses, until the stream is closed from here."""
        while not self.closed:
            await self.filled.wait()
            self.filled.clear()
            while self.waiting:
                yield self.waiting.popleft()


class Broadcast:
    """All open streams; `on` is whether the runtime has the call at all."""

    def __init__(self, clock: ClockNs, on: bool = True) -> None:
        self.clock = clock
        self.on = on
        self.sent = 0
        self.lost = 0
        self._subscribers: set[Subscriber] = set()

    def subscribe(self) -> Subscriber:
        """Open a stream: it gets what happens from now on."""
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """The stream is over."""
        self._subscribers.discard(subscriber)
        self.lost += subscriber.lost
        subscriber.lost = 0

    def close_all(self) -> None:
        """End every stream from the server's side."""
        for subscriber in self._subscribers:
            subscriber.closed = True
            subscriber.filled.set()

    def tell(self, kind: int, object_id: str, sandbox: Sandbox) -> None:
        """Send an event with the sandbox's and its containers' statuses, as containerd does; nobody there: no work."""
        if not self._subscribers:
            return
        event = text(b"\x0a", object_id) + number(b"\x10", kind) + number(b"\x18", self.clock())
        event += block(b"\x22", sandbox.status())
        event += b"".join(block(b"\x2a", container.status()) for container in sandbox.containers.values())
        self.sent += 1
        for subscriber in self._subscribers:
            subscriber.put(event)

    @property
    def subscribers(self) -> int:
        """Open streams."""
        return len(self._subscribers)

    @property
    def lost_in_all(self) -> int:
        """Events lost to full queues, of open and ended streams."""
        return self.lost + sum(subscriber.lost for subscriber in self._subscribers)
