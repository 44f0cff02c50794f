"""What a list alone would not tell: problems of manifests, a runtime that does not answer."""

from typing import Any

import typer

from podherd.agent.admin import Admin, AnswerError

_NO_ANSWER = ("container runtime is down", "container runtime status check may not have completed yet")
"""How the node's Ready condition says that the runtime does not answer (machines/node)."""


def below_pods(admin: Admin, answer: dict[str, Any]) -> None:
    """Say on stderr what `/v1/pods` tells beside the rows; it tells nothing with `full`."""
    if why := answer.get("notReady"):
        away = any(words in why for words in _NO_ANSWER)
        shown = "what is shown is from before" if answer["items"] else "pods are known once it does"
        text = f"the runtime at {_endpoint(admin)} does not answer; {shown}"
        typer.echo(text if away else f"the node is not ready: {why}", err=True)
    if count := answer.get("problems", 0):
        words = "1 manifest problem" if count == 1 else f"{count} manifest problems"
        typer.echo(f"{words}: `podherd doctor` says what is wrong", err=True)


def images(admin: Admin) -> list[dict[str, Any]]:
    """The runtime's images. Raises AnswerError that names the runtime's socket when it is the runtime that fails."""
    try:
        items: list[dict[str, Any]] = admin.get("images")["items"]
        return items
    except AnswerError as error:
        if error.thing != "images":
            raise
        endpoint = _endpoint(admin)
        reason = f"the runtime at {endpoint} does not answer or cannot list them"
        own = endpoint.startswith(f"unix://{admin.root_dir.resolve()}/")
        start = "end the agent and start it again as before" if own else "for example: systemctl start containerd"
        raise AnswerError("images", reason, f"start the runtime, {start}; `podherd doctor` asks it itself") from error


def _endpoint(admin: Admin) -> str:
    try:
        return str(admin.get("agent")["runtimeEndpoint"])
    except AnswerError:
        return "its socket"
