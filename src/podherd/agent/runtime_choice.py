"""Which container runtime a start uses: the one that was named, one that is found, podherd's own, or the hollow one."""

from collections.abc import Callable
from pathlib import Path

from podherd.agent.config_values import HOLLOW
from podherd.agent.provision import Containerd, ProvisionError, ensure_runtime, find_socket
from podherd.errors import RuntimeRefusedError

Say = Callable[[str], None]


def find(root_dir: Path) -> str:
    """The endpoint of podherd's own containerd of this root, else of one at a usual place, else empty."""
    own = Containerd(root_dir)
    if own.exists:
        return own.endpoint
    found = find_socket()
    return f"unix://{found}" if found else ""


def choose(named: str, provision: bool, root_dir: Path, say: Say) -> str:
    """The endpoint to use, `unix:///…` or `hollow`.

    named: the user's word, empty for none. provision: may set up a runtime of podherd's own when none is found, and
    falls back to the hollow one where that is impossible. Raises RuntimeRefusedError when nothing is left.
    """
    endpoint = named or (_provisioned(root_dir, say) if provision else find(root_dir))
    if not endpoint:
        mend = "give --runtime unix:///path/of/cri.sock, or --provision to set one up, or --runtime hollow"
        raise RuntimeRefusedError("container runtime", "no CRI socket is at the usual places", mend)
    if endpoint == HOLLOW:
        say("containers are pretended: the hollow runtime")
    return endpoint


def _provisioned(root_dir: Path, say: Say) -> str:
    try:
        return ensure_runtime(root_dir, say).uri
    except ProvisionError as error:
        say(f"no real containers here: {error}")
        return HOLLOW
