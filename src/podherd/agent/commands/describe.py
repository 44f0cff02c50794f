"""`podherd describe pod P`."""

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, NameOfKind, Namespace, PodKind, RootDir, named


def describe(
    kind: PodKind,
    pod: NameOfKind = "",
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Show one pod with its containers, conditions and events."""
    import time

    from podherd.agent import output_describe
    from podherd.agent.admin import Admin

    answer = Admin(root_dir).get("pod", pod=named(kind, pod), namespace=namespace)
    typer.echo(output_describe.pod(answer, time.time()), nl=False)
