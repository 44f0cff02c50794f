"""A pod's /etc/hosts: `<pod>/etc-hosts`, 0644, written anew at every start (kubelet behaviour, section 3.11)."""

from collections.abc import Iterable
from pathlib import Path

from podherd.cri.convert.dns import names_of
from podherd.model.pod import Body, Pod
from podherd.model.settings import Settings

NODE_FILE = Path("/etc/hosts")
CONTAINER_PATH = "/etc/hosts"
_HEADER = "# Kubernetes-managed hosts file.\n"
_HOST_HEADER = "# Kubernetes-managed hosts file (host network).\n"
_LOCAL = """127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


def content(pod: Pod, pod_ips: tuple[str, ...], settings: Settings) -> bytes:
    """The file's text for a pod with its own network: its FQDN where it has one, its short name, and the aliases."""
    name, domain = names_of(pod, settings)
    names = f"{name}.{domain}\t{name}" if domain else name
    lines = "".join(f"{ip}\t{names}\n" for ip in pod_ips)
    return (_HEADER + _LOCAL + lines + _aliases(pod.body["spec"].get("hostAliases") or ())).encode()


def host_content(pod: Pod, node_file: Path = NODE_FILE) -> bytes:
    """The file's text for a pod on the host's network: the node's own file, and the aliases. Raises OSError."""
    aliases = _aliases(pod.body["spec"].get("hostAliases") or ())
    return _HOST_HEADER.encode() + node_file.read_bytes() + aliases.encode()


def _aliases(aliases: Iterable[Body]) -> str:
    lines = "".join(f"{alias['ip']}\t" + "\t".join(alias.get("hostnames") or ()) + "\n" for alias in aliases)
    return f"\n# Entries added by HostAliases.\n{lines}" if lines else ""
