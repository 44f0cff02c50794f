"""The server's part: the last status of each pod, doubts after a shard's restart, and the order to drain."""

from typing import TYPE_CHECKING, Any

from tests.flow.actors import Actor

from podherd.server.facts import Facts
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Drain, Drained, Hello
from podherd.wire.routes import NODE, POD_SHARD, SOURCES, role_of
from podherd.wire.status import PodForgotten, StatusChanged

if TYPE_CHECKING:
    from podherd.server.pod_table import PodTable

DOUBT_S = 30.0
RETRY_S = 5.0


class Observer(Actor):
    """As `actors/server` without the socket; the real tables."""

    hello_to = (POD_SHARD, SOURCES, NODE)

    def boot(self) -> None:
        self._facts = Facts()
        self._asked: dict[int, str] = {}
        self._serial = 0
        self.drained: set[str] = set()
        if self.world.draining:
            self.drain()

    @property
    def pods(self) -> "PodTable":
        return self._facts.pods

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        for message in messages:
            match message:
                case Answer():
                    self._answered(message)
                case Drained():
                    self.drained.add(message.actor)
                case Hello() if role_of(sender) == POD_SHARD:
                    self._shard_restarted(sender)
                case Hello():
                    pass
                case _:
                    self._facts.apply(message)

    def drain(self) -> None:
        self.send_role(POD_SHARD, Drain())

    def _shard_restarted(self, shard: str) -> None:
        rows = [row for row in self.pods.rows() if self.world.shard_of(row.name).name == shard]
        self.pods.doubt((row.uid for row in rows), self.world.timeline.now)
        self.life.after(DOUBT_S, self._settle)
        self.drained.discard(shard)
        if self.world.draining:
            self.send(shard, Drain())

    def _settle(self) -> None:
        """Ask for the pods that a restarted shard has not spoken of."""
        for row in self.pods.doubted(self.world.timeline.now - DOUBT_S):
            self._ask(row)
        if self.pods.in_doubt:
            self.life.after(RETRY_S, self._settle)

    def _ask(self, row: StatusChanged) -> None:
        self._serial += 1
        self._asked[self._serial] = row.uid
        args = codec.pack({"namespace": row.namespace, "name": row.name})
        self.send(self.world.shard_of(row.name).name, Ask(self._serial, "pod", args))

    def _answered(self, answer: Answer) -> None:
        uid = self._asked.pop(answer.id, "")
        if (row := self.pods.row(uid)) is None:
            return
        body: dict[str, Any] = {} if answer.error else codec.unpack(answer.body)["pod"]
        if body.get("metadata", {}).get("uid") == uid:
            self.pods.trust(uid)
        else:
            self._facts.apply(PodForgotten(uid, row.namespace, row.name))
