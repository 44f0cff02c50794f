"""`podherd describe pod P`."""

from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, PodName, RootDir, one_of

_KIND = one_of("pod", hidden=("pods", "po"))


def describe(
    kind: Annotated[str, typer.Argument(help="pod", metavar="pod", callback=_KIND)],  # noqa: ARG001
    pod: PodName,
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Show one pod with its containers, conditions and events."""
    import time

    from podherd.agent import output_describe
    from podherd.agent.admin import Admin

    answer = Admin(root_dir).get("pod", pod=pod, namespace=namespace)
    typer.echo(output_describe.pod(answer, time.time()), nl=False)
