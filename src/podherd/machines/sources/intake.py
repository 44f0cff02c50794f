"""From what origins hold and what the API server has to claims on names: whose pod each name is."""

from podherd.machines.sources.api_pods import ApiPods
from podherd.machines.sources.claims import Choice, Claims, Name
from podherd.machines.sources.events import ApiItem, StaticPod
from podherd.machines.sources.instructions import Instruction
from podherd.machines.sources.own_uid import with_own_uid
from podherd.machines.sources.problems import Problems
from podherd.model.keys import SOURCE_API

Causes = dict[Name, str]
"""The names whose outcome may have changed, and why, for people."""


class Intake:
    """Every method that takes something in returns what follows from it; clashes become problems."""

    def __init__(self, api: ApiPods, problems: Problems) -> None:
        self._api = api
        self._problems = problems
        self._claims = Claims()
        self._homes: dict[str, Name] = {}

    def holds(self, source: str, origin: str) -> bool:
        """Whether this origin has pods."""
        return self._claims.holds(source, origin)

    def claim(self, source: str, origin: str, pods: tuple[StaticPod, ...], verb: str) -> Causes:
        """The origin holds exactly these pods now."""
        before = self._claims.count(source, origin)
        touched = self._claims.replace(source, origin, pods)
        if not touched:
            return {}
        for index in range(len(pods), before):
            self._problems.note(origin, f"clash {index}", "")
            self._problems.note(origin, f"uid {index}", "")
        for claim, text in self._claims.losses(touched).items():
            self._problems.note(claim.origin, f"clash {claim.place}", text)
            self._problems.note(claim.origin, f"uid {claim.place}", "")
        return dict.fromkeys(touched, f"{source} {origin} {verb}")

    def put(self, item: ApiItem) -> tuple[list[Instruction], Causes]:
        """The API server has this pod."""
        told = self._api.put(item)
        if item.mirror_of or not item.body:
            return told, {}
        origin = f"{item.namespace}/{item.name}"
        verb = "changed" if self._claims.holds(SOURCE_API, origin) else "created"
        pod = StaticPod(item.uid, item.namespace, item.name, item.content, item.body)
        return told, self.claim(SOURCE_API, origin, (pod,), verb)

    def drop(self, uid: str) -> tuple[list[Instruction], Causes]:
        """The API server has it no more; another pod of the name may be there already."""
        if (dropped := self._api.drop(uid)) is None:
            return [], {}
        (namespace, name), told = dropped
        origin = f"{namespace}/{name}"
        if not self._claims.is_of(SOURCE_API, origin, uid):
            return told, {}
        return told, self.claim(SOURCE_API, origin, (), "removed")

    def take_list(self, items: tuple[ApiItem, ...], uids: tuple[str, ...]) -> tuple[list[Instruction], Causes]:
        """All changes of a list: those that they touch are judged together, by age."""
        told: list[Instruction] = []
        causes: Causes = {}
        for more, touched in (*map(self.drop, self._api.unlisted(uids)), *map(self.put, items)):
            told += more
            causes.update(touched)
        self._api.seen = True
        return told + self._api.roster(), causes

    def chosen(self, name: Name) -> Choice | None:
        """What should run under this name, with a uid of its own where another name had its `metadata.uid` before."""
        choice = self._claims.chosen(name)
        if choice is None or choice[1].uid == choice[1].content or choice[0].source == SOURCE_API:
            return choice
        claim, pod = choice
        home = self._homes.setdefault(pod.uid, name)
        if home == name:
            return choice
        text = f"metadata.uid {pod.uid} was that of pod {'/'.join(home)}: this pod gets a uid of its own"
        self._problems.note(claim.origin, f"uid {claim.place}", f"{text}; give it a new one")
        return claim, with_own_uid(pod)

    def is_static(self, name: Name) -> bool:
        """Whether a file or URL has the name."""
        choice = self._claims.chosen(name)
        return choice is not None and choice[0].source != SOURCE_API
