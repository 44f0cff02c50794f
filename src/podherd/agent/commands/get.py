"""`podherd get pods|node|images`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir, one_of, or_pod, pods_named
from podherd.agent.output import Form

_what = or_pod(one_of("pods", "node", "images", hidden=("pod", "po", "nodes", "no", "image")))
"""What can be listed, and the other forms that kubectl has for it."""


def get(
    what: Annotated[str, typer.Argument(help="pods, node or images", metavar="pods|node|images", callback=_what)],
    names: Annotated[list[str] | None, typer.Argument(help="Only these pods.", metavar="[POD]...")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help=", ".join(Form), metavar="|".join(Form), callback=one_of(*Form))
    ] = "table",
    namespace: Namespace = "",
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="All, which is the default.")] = False,
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """List pods, the node or the runtime's images."""
    form = Form(output)
    if all_namespaces:
        namespace = ""
    if what.startswith("po"):
        words = pods_named(what, names)
        text = _named_pods(root_dir, words, namespace, form) if words else _pods(root_dir, namespace, form)
    elif what.startswith("no"):
        text = _node(root_dir, form)
    else:
        text = _images(root_dir, form)
    typer.echo(text, nl=False)


def _pods(root_dir: Path, namespace: str, form: Form) -> str:
    from podherd.agent import output
    from podherd.agent.admin import Admin
    from podherd.agent.commands import notes

    admin, full = Admin(root_dir), form in (Form.JSON, Form.YAML)
    answer = admin.get("pods", full=full, namespace=namespace)
    notes.below_pods(admin, answer)
    if full:
        return output.document(output.as_list(answer["items"]), form)
    if not answer["items"]:
        typer.echo("No pods on this node." if not namespace else f"No pods in namespace {namespace}.", err=True)
        return ""
    return _rows(answer["items"], answer.get("nodeName", ""), namespace, form)


def _named_pods(root_dir: Path, names: list[str], namespace: str, form: Form) -> str:
    """Those that are there; each that is not is told on stderr, and makes the exit code 1."""
    from podherd.agent import output
    from podherd.agent.admin import Admin, AnswerError
    from podherd.agent.cli import FAILED, say

    admin, answers, errors = Admin(root_dir), [], []
    for name in names:
        try:
            answers.append(admin.get("pod", pod=name, namespace=namespace))
        except AnswerError as error:
            errors.append(error)
    text = ""
    if answers and form in (Form.JSON, Form.YAML):
        bodies = [answer["pod"] for answer in answers]
        text = output.document(bodies[0] if len(names) == 1 else output.as_list(bodies), form)
    elif answers:
        node_name = answers[0]["pod"].get("spec", {}).get("nodeName", "")
        text = _rows([answer["row"] for answer in answers], node_name, namespace, form)
    if not errors:
        return text
    typer.echo(text, nl=False)
    for missing in errors:
        say(missing)
    raise typer.Exit(FAILED)


def _rows(rows: list[dict[str, Any]], node_name: str, namespace: str, form: Form) -> str:
    import time

    from podherd.agent import output

    if form is Form.NAME:
        return "".join(f"pod/{row['name']}\n" for row in rows)
    return output.pods(rows, node_name, time.time(), form is Form.WIDE, not namespace)


def _node(root_dir: Path, form: Form) -> str:
    import time

    from podherd.agent import output
    from podherd.agent.admin import Admin

    node = Admin(root_dir).get("node")["node"]
    if form in (Form.JSON, Form.YAML):
        return output.document({"apiVersion": "v1", "kind": "Node", **node}, form)
    if form is Form.NAME:
        return f"node/{node['metadata']['name']}\n"
    return output.node(node, time.time(), form is Form.WIDE)


def _images(root_dir: Path, form: Form) -> str:
    from podherd.agent import output
    from podherd.agent.admin import Admin
    from podherd.agent.commands import notes

    items = notes.images(Admin(root_dir))
    if form in (Form.JSON, Form.YAML):
        return output.document({"images": items}, form)
    if form is Form.NAME:
        return "".join(f"{tag}\n" for tag in sorted(tag for item in items for tag in item.get("repoTags") or ()))
    return output.images(items, form is Form.WIDE)
