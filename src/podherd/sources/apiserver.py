"""The API source: this node's pods as the API server has them (kubelet behaviour, section 1.3)."""

from collections.abc import Callable
from typing import Any

from podherd.errors import ManifestError
from podherd.kube.door import Api, Dropped, Listed, News, Put, Trouble
from podherd.machines.sources.events import ApiDropped, ApiItem, ApiListed, ApiPut, Event, Noted
from podherd.machines.status.restarts import told_restarts
from podherd.model.api_pod import content_of, converted, identity_of, status_of
from podherd.model.status import rfc3339_micro
from podherd.wire import codec

PODS = "/api/v1/pods"
THING = "API server"
"""What its problems are told under."""


class ApiSource:
    """Follows the pods of one node; what has changed of each is told as an event. Costs what changed."""

    def __init__(self, api: Api, node_name: str, tell: Callable[[Event], None], clock: Callable[[], float]) -> None:
        self._api = api
        self._node_name = node_name
        self._tell = tell
        self._clock = clock
        self._known: dict[str, tuple[str, str, str]] = {}
        """Of each uid the resourceVersion, the content and when it was seen first."""
        self._bad: set[str] = set()

    async def run(self) -> None:
        """For ever; with the server away what was told stands."""
        await self._api.follow(PODS, {"fieldSelector": f"spec.nodeName={self._node_name}"}, self.hear)

    def hear(self, news: News) -> None:
        """One piece of news, whatever it holds."""
        match news:
            case Listed(items):
                self._listed(items)
            case Put(body):
                if (item := self._item(body)) is not None:
                    self._tell(ApiPut(item))
            case Dropped(body):
                self._dropped(body)
            case Trouble(reason):
                self._tell(Noted(THING, reason))

    def _listed(self, items: list[dict[str, Any]]) -> None:
        changed: list[ApiItem] = []
        uids: list[str] = []
        for body in items:
            known = self._known.get(_uid(body))
            if known is not None and known[0] == _version(body):
                uids.append(_uid(body))
            elif (item := self._item(body)) is not None:
                changed.append(item)
                uids.append(item.uid)
        self._known = {uid: self._known[uid] for uid in uids}
        self._tell(Noted(THING, ""))
        self._tell(ApiListed(tuple(changed), tuple(uids)))

    def _dropped(self, body: dict[str, Any]) -> None:
        uid = _uid(body)
        if self._known.pop(uid, None) is not None:
            self._tell(ApiDropped(uid))
        self._mend(_key(body))

    def _item(self, body: dict[str, Any]) -> ApiItem | None:
        """The object as the machine takes it; None for one that is no pod, which is a problem to tell."""
        try:
            who = identity_of(body)
        except ManifestError as error:
            self._bad.add(_key(body))
            self._tell(Noted(_key(body), str(error)))
            return None
        self._mend(_key(body))
        status, restarts = _packed(status_of(body)), _restarts(body)
        if who.mirror_of:
            self._known[who.uid] = who.resource_version, "", ""
            return ApiItem(*who, content="", body=b"", status=status, restarts=restarts)
        content = content_of(body)
        known = self._known.get(who.uid)
        seen = known[2] if known is not None else rfc3339_micro(self._clock())
        self._known[who.uid] = who.resource_version, content, seen
        if known is not None and known[1] == content:
            return ApiItem(*who, content=content, body=b"", status=status, restarts=restarts)
        pod, refused, message = converted(body, seen)
        return ApiItem(*who, content, codec.pack(pod), status, refused, message, restarts)

    def _mend(self, key: str) -> None:
        if key in self._bad:
            self._bad.discard(key)
            self._tell(Noted(key, ""))


def _packed(status: dict[str, Any]) -> bytes:
    """Empty for what cannot be packed: it is nothing that a server wrote."""
    try:
        return codec.pack(status)
    except (ValueError, TypeError, OverflowError):
        return codec.pack({})


def _restarts(body: dict[str, Any]) -> bytes:
    """Empty for a spec that is nothing that a server wrote."""
    try:
        return told_restarts(body["spec"])
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError):
        return b""


def _metadata(body: dict[str, Any]) -> dict[str, Any]:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _uid(body: dict[str, Any]) -> str:
    return str(_metadata(body).get("uid", ""))


def _version(body: dict[str, Any]) -> str:
    return str(_metadata(body).get("resourceVersion", ""))


def _key(body: dict[str, Any]) -> str:
    metadata = _metadata(body)
    return f"{THING}: pod {metadata.get('namespace')!s:.100}/{metadata.get('name')!s:.300}"
