"""How fast one client may ask: a token bucket, as client-go's `qps` and `burst`."""

import asyncio


class Bucket:
    """Up to `burst` at once, `qps` a second in the long run; a qps of 0 lets everything pass. Times in seconds."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = float(max(1, burst))
        self._tokens = self._burst
        self._at = 0.0

    def reserve(self, now: float) -> float:
        """Take one token, of the future where none is left: how long to wait for it."""
        if self._qps <= 0:
            return 0.0
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._qps)
        self._at = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._qps)


class Limiter:
    """The bucket on this loop's clock; whoever came first goes first."""

    def __init__(self, qps: float, burst: int) -> None:
        self._bucket = Bucket(qps, burst)

    async def turn(self) -> None:
        """Return when one may ask."""
        if (delay := self._bucket.reserve(asyncio.get_running_loop().time())) > 0:
            await asyncio.sleep(delay)
