"""What a shard knows of the API objects that its pods refer to, and what it has asked the objects actor for."""

import asyncio
from collections.abc import Callable, Iterable

from podherd.machines.objects.found import Found, Lookup, unknown
from podherd.machines.objects.references import attachables, attachment, follow_on, references
from podherd.model.pod import Pod
from podherd.wire.codec import unpack
from podherd.wire.objects import Needs, ObjectState, Ref

Use = Callable[[str, tuple[str, ...]], None]


class KnownObjects:
    """Lives in the actor's loop. `send` takes what a pod needs, each time that this is other than before.

    use: hears a pod's uid and the attachable volumes that it is known to use, as the node's status names them.
    """

    def __init__(self, send: Callable[[Needs], None], use: Use = lambda _uid, _names: None) -> None:
        self._send = send
        self._use = use
        self._attached: frozenset[str] = frozenset()
        self.also: Callable[[Pod, Lookup], Iterable[Ref]] = lambda _pod, _look: ()
        """What a pod needs beside what its spec refers to, by what is known."""
        self._pods: dict[str, Pod] = {}
        self._refs: dict[str, tuple[Ref, ...]] = {}
        self._owners: dict[Ref, set[str]] = {}
        self._found: dict[Ref, Found] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def want(self, pod: Pod) -> None:
        """The pod is here with this spec: whatever it refers to is asked for. Again: nothing new is said."""
        self._pods[pod.uid] = pod
        self._settle(pod)

    def take(self, state: ObjectState) -> tuple[str, ...]:
        """Keep what the objects actor told; the uids of pods for which it makes a difference."""
        ref = state.of
        uids = tuple(self._owners.get(ref, ()))
        if not uids:
            return ()
        found = Found(unpack(state.body) if state.body else None, state.problem, state.missing)
        before, self._found[ref] = self._found.get(ref), found
        for uid in uids:
            self._settle(self._pods[uid])
            self._wake(uid)
        return () if before == found or (ref.kind == "Services" and before is not None) else uids

    def get(self, ref: Ref) -> Found:
        """What is known now; a Lookup."""
        return self._found.get(ref) or unknown(ref)

    def lacks(self, pod: Pod) -> bool:
        """Whether anything that the pod refers to was not told of yet; it is asked for."""
        self.want(pod)
        return bool(self._missing(pod.uid))

    async def known(
        self, pod: Pod, deadline_s: float, concerns: Callable[[Ref], bool] = lambda _ref: True
    ) -> tuple[Ref, ...]:
        """Wait until something is known of every Ref of the pod; those that nobody told of within the deadline.

        concerns: which Refs are waited for; all are asked for.
        """

        def missing() -> tuple[Ref, ...]:
            return tuple(filter(concerns, self._missing(pod.uid)))

        self.want(pod)
        try:
            async with asyncio.timeout(deadline_s):
                while missing():
                    await self._turn(pod.uid)
        except TimeoutError:
            return missing()
        return ()

    def drop(self, uid: str) -> None:
        """This pod needs nothing any more."""
        if self._pods.pop(uid, None) is None:
            return
        had = self._refs.pop(uid, ())
        self._let_go(uid, had)
        self._wake(uid)
        if had:
            self._send(Needs(uid, ()))

    def attached(self, names: Iterable[str]) -> None:
        """These volumes are attached to the node: what their attachments say is asked for from now on, not before."""
        if (attached := frozenset(names)) != self._attached:
            self._attached = attached
            for pod in self._pods.values():
                self._settle(pod)

    def republished(self) -> tuple[str, ...]:
        """The uids of pods with volumes whose driver wants to publish them again and again (`requiresRepublish`)."""
        drivers = {ref for ref in self._owners if ref.kind == "CSIDriver" and _republishes(self.get(ref))}
        return tuple(uid for uid, refs in self._refs.items() if not drivers.isdisjoint(refs))

    def needs(self) -> tuple[Needs, ...]:
        """All that every pod needs, for an objects actor that knows nothing."""
        return tuple(Needs(uid, refs) for uid, refs in self._refs.items() if refs)

    def _missing(self, uid: str) -> tuple[Ref, ...]:
        return tuple(ref for ref in self._refs.get(uid, ()) if ref not in self._found)

    async def _turn(self, uid: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(uid, set())
        waiting.add(turn)
        try:
            await turn
        finally:
            waiting.discard(turn)
            if not waiting and self._waiting.get(uid) is waiting:
                del self._waiting[uid]

    def _wake(self, uid: str) -> None:
        for turn in self._waiting.get(uid, ()):
            if not turn.done():
                turn.set_result(None)

    def _settle(self, pod: Pod) -> None:
        """Say what the pod needs, with what follows from what is known."""
        refs = self._every_ref(pod)
        had = self._refs.get(pod.uid, ())
        if names := tuple(each.name for each in attachables(refs, self.get)):
            self._use(pod.uid, names)
        if refs == had:
            return
        self._refs[pod.uid] = refs
        for ref in refs:
            self._owners.setdefault(ref, set()).add(pod.uid)
        self._let_go(pod.uid, tuple(ref for ref in had if ref not in refs))
        self._send(Needs(pod.uid, refs))

    def _every_ref(self, pod: Pod) -> tuple[Ref, ...]:
        refs = dict.fromkeys((*references(pod), *self.also(pod, self.get)))
        left = list(refs)
        while left:
            ref = left.pop(0)
            fresh = [each for each in follow_on(pod, ref, self.get(ref).mapping) if each not in refs]
            refs.update(dict.fromkeys(fresh))
            left += fresh
        node = pod.body["spec"].get("nodeName") or ""
        ready = (each for each in attachables(refs, self.get) if each.name in self._attached)
        return tuple(dict.fromkeys((*refs, *(attachment(each.driver, each.handle, node) for each in ready))))

    def _let_go(self, uid: str, refs: tuple[Ref, ...]) -> None:
        """What no pod of this shard needs is forgotten: it would grow stale."""
        for ref in refs:
            owners = self._owners.get(ref, set())
            owners.discard(uid)
            if not owners:
                self._owners.pop(ref, None)
                self._found.pop(ref, None)


def _republishes(driver: Found) -> bool:
    return bool((driver.mapping.get("spec") or {}).get("requiresRepublish"))
