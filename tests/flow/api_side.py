"""The API server and the status actor in a small way: statuses are written to its pods, finished ones are let go."""

from typing import Any

from tests.flow.actors import Actor
from tests.flow.laws import law

from podherd.model.status import TERMINAL
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.routes import POD_SHARD
from podherd.wire.status import PodForgotten, StatusChanged

LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
Counts = dict[str, int]


class StatusActor(Actor):
    """Writes the newest status of each API pod after a while; what is written outlives it, as in etcd."""

    hello_to = (POD_SHARD,)

    def boot(self) -> None:
        self._newest: dict[str, StatusChanged] = {}

    def receive(self, sender: str, messages: list[codec.Message]) -> None:  # noqa: ARG002
        for message in messages:
            match message:
                case StatusChanged(uid):
                    self._newest[uid] = message
                    if message.stopped:
                        self.world.laws.stopped(uid)
                    if message.finished:
                        self.world.laws.finished(uid)
                    self.life.after(self.world.dice.uniform(0.01, 1.0), lambda uid=uid: self._write(uid))
                case PodForgotten(uid):
                    self._newest.pop(uid, None)
                case Hello() | Desired() | Gone() | Roster():
                    pass

    def _write(self, uid: str) -> None:
        body, told = self.world.api.get(uid), self._newest.get(uid)
        if body is None or told is None:
            return
        before, now = body.get("status") or {}, codec.unpack(told.status)
        if before.get("phase") in TERMINAL:
            law(now["phase"] == before["phase"], f"{uid} was {before['phase']} and is {now['phase']}")
        _check_counts(uid, before, now)
        law(told.stopped or not told.finished, f"{uid} is finished and has not stopped")
        if now != before:
            self.world.set_api_status(uid, now)
        if told.finished and now["phase"] in TERMINAL and "deletionTimestamp" in body["metadata"]:
            self.world.laws.tried.add("finished")
            self.world.drop_api(uid)


def _check_counts(uid: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    was = _counts(before)
    for name, count in _counts(now).items():
        law(count >= was.get(name, 0), f"the API knew {was.get(name)} restarts of {name} of {uid}, now {count}")


def _counts(status: dict[str, Any]) -> Counts:
    return {each["name"]: each["restartCount"] for kind in LISTS for each in status.get(kind) or ()}
