"""`podherd completion SHELL`, and the hidden `podherd pod-names` that its scripts ask."""

from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir, one_of, without_kind

_SHELL = one_of("bash", "zsh", "fish")
NAMES_S = 1.0
"""A person waits at the prompt: an agent that takes longer has no names."""


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish", metavar="bash|zsh|fish", callback=_SHELL)],
) -> None:
    """Print a shell's completion script.

    Use it by `source <(podherd completion bash)`; fish: `podherd completion fish | source`.
    """
    from podherd.agent.completion import SHELLS

    root: Any = context.find_root().command
    commands = [command_of(name, command) for name, command in sorted(root.commands.items()) if not command.hidden]
    typer.echo(SHELLS[shell](commands), nl=False)


def command_of(name: str, command: Any) -> Any:
    """What completion needs of a command of typer's."""
    from podherd.agent.completion import MANY, Command, Option

    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [_option(one) for one in command.params if one.param_type_name == "option" and not one.hidden]
    words = (_words(arguments[0]) if arguments else ()) or tuple(getattr(command, "commands", ()))
    named = [one for one in arguments if "POD" in (one.metavar or "")]
    pods = 0 if not named else MANY if named[0].nargs < 0 else 1
    text = (command.help or "").strip().partition("\n")[0]
    return Command(name, text, words, (*options, Option(("-h", "--help"))), pods)


def _option(found: Any) -> Any:
    from podherd.agent.completion import CONTAINERS, FILES, NAMESPACES, Option

    spellings = (*found.opts, *found.secondary_opts)
    if found.is_flag:
        return Option(spellings)
    known = {"namespace": NAMESPACES, "container": CONTAINERS}
    return Option(spellings, known.get(found.name) or " ".join(_words(found)) or FILES)


def _words(found: Any) -> tuple[str, ...]:
    """What it may be, of a metavar such as `cpu|memory`."""
    return tuple(word for word in (found.metavar or "").strip("[]").split("|") if word.islower())


def pod_names(
    namespace: Namespace = "",
    begun: Annotated[str, typer.Option("--begun", help="As far as the name is typed.")] = "",
    containers: Annotated[str | None, typer.Option("--containers", help="A pod: its containers instead.")] = None,
    namespaces: Annotated[bool, typer.Option("--namespaces", help="Namespaces that have pods instead.")] = False,
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Names of the running agent's pods, one a line; nothing when there is no agent."""
    from contextlib import suppress

    from podherd.agent.admin import Admin
    from podherd.errors import PodherdError

    admin = Admin(root_dir)
    with suppress(PodherdError, OSError, ValueError, KeyError):
        if containers is not None:
            found = _containers(_ask(admin, "pod", pod=without_kind(containers), namespace=namespace)["pod"])
        elif namespaces:
            found = [row["namespace"] for row in _ask(admin, "pods")["items"]]
        else:
            found = _names(admin, namespace, begun)
        typer.echo("".join(f"{name}\n" for name in dict.fromkeys(found)), nl=False)


def _ask(admin: Any, *path: str, **query: str) -> Any:
    import json

    with admin.stream(*path, timeout_s=NAMES_S, **query) as response:
        return json.loads(response.read())


def _names(admin: Any, namespace: str, begun: str) -> list[str]:
    """In the form that was begun: NAME, NAMESPACE/NAME, either behind `pod/`."""
    rest = without_kind(f"{begun}.")[:-1]
    kind = begun[: len(begun) - len(rest)]
    rows = _ask(admin, "pods", namespace="" if "/" in rest else namespace)["items"]
    return [kind + (f"{row['namespace']}/" if "/" in rest else "") + row["name"] for row in rows]


def _containers(pod: dict[str, Any]) -> list[str]:
    """By its spec; by its status where nobody knows that."""
    for part, ending in (("spec", "s"), ("status", "Statuses")):
        kinds = [f"{kind}{ending}" for kind in ("container", "initContainer", "ephemeralContainer")]
        if names := [one["name"] for kind in kinds for one in (pod.get(part) or {}).get(kind) or ()]:
            return names
    return []
