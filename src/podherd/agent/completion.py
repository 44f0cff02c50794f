"""Completion scripts for bash, zsh and fish, made from the commands themselves. Pure.

Names come from `podherd pod-names`, which is quick and says nothing when no agent runs.
"""

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

NAMES = "podherd pod-names"
MANY = 99
"""More pods than anybody names in one command."""

FILES, NAMESPACES, CONTAINERS = "<files>", "<namespaces>", "<containers>"
"""What may stand behind an option, where it is no choice of words; files also for what nobody can guess."""


class Option(NamedTuple):
    """spellings: `("-n", "--namespace")`. values: words of a choice or one of the above; empty for a flag."""

    spellings: tuple[str, ...]
    values: str = ""


class Command(NamedTuple):
    """One command: what stands after it."""

    name: str
    help: str
    words: tuple[str, ...]
    """What its first argument may be, such as `pods node images`."""
    options: tuple[Option, ...]
    pods: int
    """How many arguments are names of pods."""


def bash(commands: list[Command]) -> str:
    """For bash, also without the bash-completion package."""
    names = " ".join(command.name for command in commands)
    return f"""# bash completion of podherd: source <(podherd completion bash)
_podherd() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} command= option= first= namespace= root= words= files= at word given=0
    COMPREPLY=()
    [[ $current == = ]] && current=
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $option ]]; then
            case $option in -n|--namespace) namespace=$word ;; --root-dir) root=$word ;; esac
            option=
        elif [[ $word == -- ]]; then
            compopt +o default 2>/dev/null
            return
        elif [[ $word == -* ]]; then
            case "$command $word" in
                {_cases(commands, _every_value(commands))}) option=$word ;;
                *' '-n?*) namespace=${{word#-n}} ;;
            esac
        elif [[ -z $command ]]; then
            command=$word
        else
            ((given++))
            [[ -n $first ]] || first=$word
        fi
    done
    local -a ask=({NAMES} ${{root:+--root-dir "$root"}} ${{namespace:+--namespace "$namespace"}})
    if [[ -n $option ]]; then
        case "$command $option" in
{_bash_values(commands)}        esac
    elif [[ $current == -* || -z $command ]]; then
        case $command in
            '') words='{names} --help --version' ;;
{_bash_options(commands)}        esac
    else
        case $command in
{"".join(_bash_argument(command) for command in commands)}        esac
    fi
    [[ -n $files ]] || compopt +o default 2>/dev/null
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _podherd podherd
"""


def _every_value(commands: Iterable[Command]) -> set[str]:
    return {option.values for command in commands for option in command.options if option.values}


def _cases(commands: Iterable[Command], values: Set[str]) -> str:
    """A pattern of `case` for every `command option` with such values behind it."""
    return "|".join(
        f"'{command.name} {spelling}'"
        for command in commands
        for option in command.options
        if option.values in values
        for spelling in option.spellings
    )


_ASKED = {
    FILES: "files=1",
    NAMESPACES: 'words=$("${ask[@]}" --namespaces 2>/dev/null)',
    CONTAINERS: 'words=$("${ask[@]}" --containers "$first" 2>/dev/null)',
}
_PODS = 'words=$("${ask[@]}" --begun "$current" 2>/dev/null)'


def _bash_values(commands: list[Command]) -> str:
    lines = ""
    for kind in sorted(_every_value(commands)):
        deed = _ASKED.get(kind) or f"words='{kind}'"
        lines += f"            {_cases(commands, {kind})}) {deed} ;;\n"
    return lines


def _bash_options(commands: list[Command]) -> str:
    lines = ""
    for command in commands:
        spellings = " ".join(spelling for option in command.options for spelling in option.spellings)
        lines += f"            {command.name}) words='{spellings}' ;;\n"
    return lines


def _bash_argument(command: Command) -> str:
    kinds = " ".join(command.words)
    if not command.words and not command.pods:
        return f"            {command.name}) files=1 ;;\n"
    if not command.words:
        return f"            {command.name}) ((given >= {command.pods})) || {_PODS} ;;\n"
    if not command.pods:
        return f"            {command.name}) ((given)) || words='{kinds}' ;;\n"
    more = "${first:-pod} == po*" + " && $first != */*" * (command.pods < MANY)
    return (
        f"            {command.name})\n"
        f"                if ((given == 0)) && [[ $current != po*/* ]]; then words='{kinds}'\n"
        f"                elif ((given <= {command.pods})) && [[ {more} ]]; then {_PODS}; fi ;;\n"
    )


def zsh(commands: list[Command]) -> str:
    """For zsh, by way of its bash emulation."""
    return (
        "# zsh completion of podherd: source <(podherd completion zsh)\n"
        "autoload -Uz compinit bashcompinit\n"
        "(( $+functions[compdef] )) || compinit\n"
        "bashcompinit\n" + bash(commands)
    )


_FISH_CONTAINERS = "__podherd_containers"
_FISH = f"""# fish completion of podherd: podherd completion fish | source
function {_FISH_CONTAINERS}
    set -l words (commandline -opc)
    test (count $words) -ge 3; and {NAMES} --containers $words[3] 2>/dev/null
end
complete -c podherd -f
"""


def fish(commands: list[Command]) -> str:
    """For fish."""
    lines = []
    for command in commands:
        lines.append(f"complete -c podherd -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        seen = f"-n '__fish_seen_subcommand_from {command.name}; and not contains -- -- (commandline -opc)'"
        words = [*command.words, *([f"({NAMES} --begun (commandline -ct) 2>/dev/null)"] if command.pods else [])]
        if words:
            lines.append(f"complete -c podherd {seen} -a {_quoted(' '.join(words))}")
        lines += [f"complete -c podherd {seen} {_fish_option(option)}" for option in command.options]
    return _FISH + "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    spelled = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.spellings)
    asked = {NAMESPACES: f"({NAMES} --namespaces 2>/dev/null)", CONTAINERS: f"({_FISH_CONTAINERS})"}
    match option.values:
        case "":
            return spelled
        case "<files>":
            return f"{spelled} -r -F"
        case values:
            return f"{spelled} -x -a {_quoted(asked.get(values, values))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
