"""Completion scripts for bash, zsh and fish, made from the commands themselves. Pure.

Names of pods come from `podherd pod-names`, which is quick and says nothing when no agent runs.
"""

from collections.abc import Callable
from typing import NamedTuple

NAMES = "podherd pod-names 2>/dev/null"


class Command(NamedTuple):
    """One command: what stands after it. pods: an argument of it is a pod's name."""

    name: str
    help: str
    words: tuple[str, ...]
    """What its first argument may be, such as `pods node images`."""
    options: tuple[tuple[str, ...], ...]
    """Each option's spellings, `("-n", "--namespace")`."""
    pods: bool


def bash(commands: list[Command]) -> str:
    """For bash, also without the bash-completion package."""
    cases = "".join(_bash_case(command) for command in commands)
    names = " ".join(command.name for command in commands)
    return f"""# bash completion of podherd: source <(podherd completion bash)
_podherd() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} command= words= at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${{COMP_WORDS[at]}} in
            --) COMPREPLY=(); return ;;
            -*) ;;
            *) command=${{COMP_WORDS[at]}}; break ;;
        esac
    done
    case $command in
        '') words='{names} --help --version' ;;
{cases}    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _podherd podherd
"""


def _bash_case(command: Command) -> str:
    options = " ".join(spelling for option in command.options for spelling in option)
    names = f'"$({NAMES})"' if command.pods else ""
    if not command.words:
        others = f"; [[ $current == -* ]] || words={names}" if names else ""
        return f"        {command.name}) words='{options}'{others} ;;\n"
    kinds = " ".join(command.words)
    return (
        f"        {command.name})\n"
        f"            if [[ $current == -* ]]; then words='{options}'\n"
        f"            elif ((COMP_CWORD == at + 1)); then words='{kinds}'\n"
        f"            else words={names}; fi ;;\n"
    )


def zsh(commands: list[Command]) -> str:
    """For zsh, by way of its bash emulation."""
    return (
        "# zsh completion of podherd: source <(podherd completion zsh)\n"
        "autoload -Uz compinit bashcompinit\n"
        "(( $+functions[compdef] )) || compinit\n"
        "bashcompinit\n" + bash(commands)
    )


def fish(commands: list[Command]) -> str:
    """For fish."""
    lines = ["# fish completion of podherd: podherd completion fish | source", "complete -c podherd -f"]
    for command in commands:
        lines.append(f"complete -c podherd -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        words = [*command.words, *([f"({NAMES})"] if command.pods else [])]
        if words:
            lines.append(f"complete -c podherd {seen} -a {_quoted(' '.join(words))}")
        lines += [f"complete -c podherd {seen} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: tuple[str, ...]) -> str:
    return " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
