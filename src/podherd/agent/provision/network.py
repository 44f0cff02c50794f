"""The pods' network of one podherd root: its own bridge and its own free 10.x.y.0/24, as a CNI configuration."""

import hashlib
import json
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

ROUTES = Path("/proc/net/route")
CONFLIST = "10-podherd.conflist"
_FIRST_SECOND_OCTET = 64
_SECOND_OCTETS = 128


class Network(NamedTuple):
    """bridge: interface name, at most 15 characters. subnet: a /24 whose first address is the bridge's own."""

    bridge: str
    subnet: IPv4Network

    @property
    def gateway(self) -> str:
        """The bridge's address: reachable from every pod, and good as the node's."""
        return str(self.subnet[1])


def bridge_of(root: Path) -> str:
    """`ph` and eight hex digits of the root directory's path."""
    return f"ph{_digest(root).hex()[:8]}"


def _digest(root: Path) -> bytes:
    return hashlib.sha256(str(root.resolve()).encode()).digest()


def free_subnet(root: Path, taken: list[IPv4Network]) -> IPv4Network:
    """The root's own /24 of 10.64.0.0 to 10.191.255.0, or the next that overlaps no route of the host."""
    start = int.from_bytes(_digest(root)[:2])
    for step in range(_SECOND_OCTETS * 256):
        second, third = divmod((start + step) % (_SECOND_OCTETS * 256), 256)
        subnet = IPv4Network(f"10.{_FIRST_SECOND_OCTET + second}.{third}.0/24")
        if not any(subnet.overlaps(other) for other in taken):
            return subnet
    return IPv4Network("10.88.0.0/24")


def routes(table: str) -> list[IPv4Network]:
    """The destinations of /proc/net/route but the default one; addresses there are little-endian hex."""
    found = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        destination, mask = (int.from_bytes(bytes.fromhex(fields[n])[::-1]) for n in (1, 7))
        if mask:
            found.append(IPv4Network((destination, mask.bit_count())))
    return found


def settle(root: Path, cni: Path) -> Network:
    """The network of this root: the one in its CNI directory, else a new one, which is written there."""
    conflist = cni / CONFLIST
    if conflist.exists():
        return _read(conflist.read_text())
    network = Network(bridge_of(root), free_subnet(root, routes(ROUTES.read_text())))
    cni.mkdir(parents=True, exist_ok=True)
    fresh = conflist.with_suffix(".new")
    fresh.write_text(json.dumps(conf(network, cni), indent=2) + "\n")
    fresh.rename(conflist)
    return network


def conf(network: Network, cni: Path) -> dict[str, object]:
    """A CNI list of bridge and portmap; leases are kept beside it, not in the host's /var/lib/cni."""
    ipam = {
        "type": "host-local",
        "dataDir": str(cni / "leases"),
        "ranges": [[{"subnet": str(network.subnet)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": network.bridge,
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": ipam,
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": network.bridge, "plugins": [bridge, portmap]}


def _read(text: str) -> Network:
    bridge = json.loads(text)["plugins"][0]
    return Network(bridge["bridge"], IPv4Network(bridge["ipam"]["ranges"][0][0]["subnet"]))
