"""`podherd get pods|node|images`."""

from pathlib import Path
from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir, one_of
from podherd.agent.output import Form

_WHAT = one_of("pods", "node", "images", hidden=("pod", "po", "nodes", "no", "image"))
"""What can be listed, and the other forms that kubectl has for it."""


def get(
    what: Annotated[str, typer.Argument(help="pods, node or images", metavar="pods|node|images", callback=_WHAT)],
    names: Annotated[list[str] | None, typer.Argument(help="Only these pods.", metavar="[POD]...")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help=", ".join(Form), metavar="FORM", callback=one_of(*Form))
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
        text = _pods(root_dir, names or [], namespace, form)
    elif what.startswith("no"):
        text = _node(root_dir, form)
    else:
        text = _images(root_dir, form)
    typer.echo(text, nl=False)


def _pods(root_dir: Path, names: list[str], namespace: str, form: Form) -> str:
    import time

    from podherd.agent import output
    from podherd.agent.admin import Admin
    from podherd.agent.commands import notes

    admin, full = Admin(root_dir), form in (Form.JSON, Form.YAML)
    if full and len(names) == 1:
        return output.document(admin.get("pod", pod=names[0], namespace=namespace)["pod"], form)
    if names:
        answers = [admin.get("pod", pod=name, namespace=namespace) for name in names]
        node_name = next((a["pod"].get("spec", {}).get("nodeName", "") for a in answers), "")
        items = [answer["pod" if full else "row"] for answer in answers]
    else:
        answer = admin.get("pods", full=full, namespace=namespace)
        node_name, items = answer.get("nodeName", ""), answer["items"]
        notes.below_pods(admin, answer)
    if full:
        return output.document(output.as_list(items), form)
    if not items:
        typer.echo("No pods on this node." if not namespace else f"No pods in namespace {namespace}.", err=True)
        return ""
    return output.pods(items, node_name, time.time(), form is Form.WIDE, not namespace)


def _node(root_dir: Path, form: Form) -> str:
    import time

    from podherd.agent import output
    from podherd.agent.admin import Admin

    node = Admin(root_dir).get("node")["node"]
    if form in (Form.JSON, Form.YAML):
        return output.document({"apiVersion": "v1", "kind": "Node", **node}, form)
    return output.node(node, time.time(), form is Form.WIDE)


def _images(root_dir: Path, form: Form) -> str:
    from podherd.agent import output
    from podherd.agent.admin import Admin
    from podherd.agent.commands import notes

    items = notes.images(Admin(root_dir))
    if form in (Form.JSON, Form.YAML):
        return output.document({"images": items}, form)
    return output.images(items, form is Form.WIDE)
