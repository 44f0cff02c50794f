"""The names in a pod's /etc/hosts (kubelet behaviour, section 3.11)."""

from pathlib import Path
from typing import Any

import pytest

from podherd.model.settings import Settings
from podherd.steps import hosts

IPS = ("10.8.0.2", "fd00::2")


@pytest.mark.parametrize(
    ("spec", "domain", "names"),
    [
        ({}, "cluster.local", "web"),
        ({"hostname": "own"}, "cluster.local", "own"),
        ({"subdomain": "sub"}, "cluster.local", "web.sub.shop.svc.cluster.local\tweb"),
        ({"subdomain": "sub", "hostname": "own"}, "cluster.local", "own.sub.shop.svc.cluster.local\town"),
        ({"subdomain": "sub", "setHostnameAsFQDN": True}, "cluster.local", "web.sub.shop.svc.cluster.local\tweb"),
        ({"subdomain": "sub"}, "", "web"),
        ({"hostnameOverride": "over.ride", "subdomain": "sub"}, "cluster.local", "over.ride"),
    ],
)
def test_each_address_has_the_pods_names(make_pod: Any, spec: dict[str, Any], domain: str, names: str) -> None:
    settings = Settings(node_name="n1", root_dir=Path("/r"), runtime_endpoint="unix:///x", cluster_domain=domain)
    text = hosts.content(make_pod(spec), IPS, settings).decode()
    assert text.endswith(f"fe00::2\tip6-allrouters\n10.8.0.2\t{names}\nfd00::2\t{names}\n")


def test_the_nodes_file_comes_first_on_the_hosts_network(make_pod: Any, tmp_path: Path) -> None:
    node_file = tmp_path / "hosts"
    node_file.write_text("192.0.2.1\tnode\n")
    pod = make_pod({"hostNetwork": True, "hostAliases": [{"ip": "10.1.1.1", "hostnames": ["a", "b"]}]})
    assert hosts.host_content(pod, node_file).decode() == (
        "# Kubernetes-managed hosts file (host network).\n192.0.2.1\tnode\n"
        "\n# Entries added by HostAliases.\n10.1.1.1\ta\tb\n"
    )
