"""`podherd describe pod P`."""

from enum import StrEnum
from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir


class Kind(StrEnum):
    """What can be described."""

    POD = "pod"
    PODS = "pods"
    PO = "po"


def describe(
    kind: Annotated[Kind, typer.Argument(help="pod", metavar="pod", show_choices=False)],  # noqa: ARG001
    pod: Annotated[str, typer.Argument(help="NAME, NAMESPACE/NAME, or a static pod's name without the node's.")],
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Show one pod with its containers, conditions and events."""
    import time

    from podherd.agent import output_describe
    from podherd.agent.admin import Admin

    answer = Admin(root_dir).get("pod", pod=pod, namespace=namespace)
    typer.echo(output_describe.pod(answer, time.time()), nl=False)
