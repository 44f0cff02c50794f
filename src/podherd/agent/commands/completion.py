"""`podherd completion SHELL`, and the hidden `podherd pod-names` that its scripts ask."""

from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, RootDir, one_of

_SHELL = one_of("bash", "zsh", "fish")
NAMES_S = 1.0
"""A person waits at the prompt: an agent that takes longer has no names."""


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish", metavar="bash|zsh|fish", callback=_SHELL)],
) -> None:
    """Print the completion script of a shell: source <(podherd completion bash)."""
    from podherd.agent.completion import SHELLS

    root: Any = context.find_root().command
    commands = [command_of(name, command) for name, command in sorted(root.commands.items()) if not command.hidden]
    typer.echo(SHELLS[shell](commands), nl=False)


def command_of(name: str, command: Any) -> Any:
    """What completion needs of a command of typer's."""
    from podherd.agent.completion import Command

    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [tuple(one.opts) for one in command.params if one.param_type_name == "option" and not one.hidden]
    first = (arguments[0].metavar or "").strip("[]") if arguments else ""
    words = tuple(word for word in first.split("|") if word.islower()) or tuple(getattr(command, "commands", ()))
    pods = any("POD" in (one.metavar or "") for one in arguments)
    text = (command.help or "").strip().partition("\n")[0]
    return Command(name, text, words, (*options, ("-h", "--help")), pods)


def pod_names(root_dir: RootDir = DEFAULT_ROOT) -> None:
    """Names of the running agent's pods, one a line; nothing when there is no agent."""
    import json
    from contextlib import suppress

    from podherd.agent.admin import Admin
    from podherd.errors import PodherdError

    with suppress(PodherdError, OSError, ValueError, KeyError):
        with Admin(root_dir).stream("pods", timeout_s=NAMES_S) as response:
            rows = json.loads(response.read())["items"]
        typer.echo("".join(f"{row['name']}\n" for row in rows), nl=False)
