"""Which part of a volume a mount means: `subPath`, or `subPathExpr` with the container's variables (section 13.6)."""

from podherd.cri.convert.environment import environment
from podherd.errors import ContainerConfigError
from podherd.model.expand import expand
from podherd.model.pod import Body, Container
from podherd.steps.context import Context
from podherd.steps.env_files import reader


class _Known(dict[str, str]):
    """Variables of which none may be missing: half a path would be another path."""

    def get(self, key: str, _default: object = None) -> str:
        if key not in self:
            raise ContainerConfigError("subPathExpr", f'missing value for "{key}"', "declare it in the container's env")
        return self[key]


async def sub_path_of(context: Context, container: Container, wanted: Body) -> str:
    """The path below the volume's root, empty for the whole volume. Raises ContainerConfigError."""
    if expression := wanted.get("subPathExpr"):
        path = expand(expression, _Known(await context.in_thread(_variables, context, container)))
        _check(path)
        return path
    path = wanted.get("subPath") or ""
    if path:
        _check(path)
    return path


def _variables(context: Context, container: Container) -> dict[str, str]:
    """Blocking: some may come from files."""
    return environment(context.pod, container, context.tools.host(), context.pod_ips, (), reader(context))


def _check(path: str) -> None:
    if path.startswith("/"):
        words = f"error SubPath `{path:.1000}` must not be an absolute path"
        raise ContainerConfigError(f"subPath {path!r:.80}", "must not be an absolute path", words=words)
    if ".." in path.split("/"):
        words = f"unable to provision SubPath `{path:.1000}`: must not contain '..'"
        raise ContainerConfigError(f"subPath {path!r:.80}", "must not contain '..'", words=words)
