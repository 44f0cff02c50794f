"""resolv.conf and host names (kubelet behaviour, section 3.11)."""

from dataclasses import replace

import pytest
from tests.cri.conftest import HOST, sandbox_of, settings
from tests.kit.pods import pod

from podherd.cri.convert import cautions
from podherd.errors import ContainerConfigError

RESOLV = """# made by dhcp
nameserver 192.0.2.1
nameserver 192.0.2.2
search ignored.test
search corp.test. lab.test .
options timeout:2 ndots:3
options rotate ndots:1
"""
HOSTED = replace(HOST, resolv_conf=RESOLV)
CLUSTER = settings(cluster_dns=("10.96.0.10",), cluster_domain="cluster.local")
OWN = ("prod.svc.cluster.local", "svc.cluster.local", "cluster.local")


def _dns(spec, node=CLUSTER, host=HOSTED):
    config = sandbox_of(pod(spec), host, node).dns_config
    return tuple(config.servers), tuple(config.searches), tuple(config.options)


DEFAULT = (("192.0.2.1", "192.0.2.2"), ("corp.test", "lab.test"), ("timeout:2", "ndots:1", "rotate"))
FIRST = (("10.96.0.10",), (*OWN, "corp.test", "lab.test"), ("ndots:5",))


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        ({"dnsPolicy": "Default"}, DEFAULT),
        ({"dnsPolicy": "ClusterFirst"}, FIRST),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, DEFAULT),
        ({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True}, FIRST),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}, (("1.1.1.1",), (), ())),
        ({}, FIRST),
    ],
)
def test_policy_chooses_the_lines(spec, lines):
    assert _dns(spec) == lines


def test_dns_config_is_appended_without_duplicates_and_overrides_options_by_name():
    config = {
        "nameservers": ["10.96.0.10", "1.1.1.1"],
        "searches": ["corp.test", "mine.test"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    assert _dns({"dnsConfig": config}) == (
        ("10.96.0.10", "1.1.1.1"), (*OWN, "corp.test", "lab.test", "mine.test"), ("ndots:2", "edns0"),
    )  # fmt: skip


def test_without_a_cluster_dns_the_hosts_lines_are_used_and_an_event_says_so():
    assert _dns({}, node=settings()) == DEFAULT
    (caution,) = cautions(pod({}), settings(), HOSTED)
    assert caution.reason == "MissingClusterDNS"
    assert caution.message == (
        'pod: "web_prod(uid-1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using '
        '"ClusterFirst" policy. Falling back to "Default" policy.'
    )
    assert cautions(pod({"dnsPolicy": "Default"}), settings(), HOSTED) == []


def test_a_search_path_that_makes_resolvers_abort_is_left_out_with_an_event():
    config = {"searches": ["a." * 126 + "bc", "fits.test"]}
    spec = {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], **config}}
    assert _dns(spec)[1] == ("fits.test",)
    (caution,) = cautions(pod(spec), settings(), HOSTED)
    assert (caution.reason, caution.message.endswith("the applied search line is: fits.test")) == (
        "DNSConfigForming", True,
    )  # fmt: skip


def test_no_resolv_conf_at_all_is_the_loopback():
    assert _dns({"dnsPolicy": "Default"}, node=settings(resolv_conf="")) == (("127.0.0.1",), (".",), ())


def test_more_than_three_servers_are_cut_with_a_warning():
    made = pod({"dnsPolicy": "None", "dnsConfig": {"nameservers": [f"1.1.1.{n}" for n in range(5)]}})
    assert len(sandbox_of(made).dns_config.servers) == 3
    (caution,) = cautions(made, settings(), HOST)
    assert caution.reason == "DNSConfigForming"
    assert caution.message.endswith("the applied nameserver line is: 1.1.1.0 1.1.1.1 1.1.1.2")


@pytest.mark.parametrize(
    ("searches", "kept"), [([f"s{n}.test" for n in range(40)], 32), ([f"{n}{'x' * 198}" for n in range(11)], 10)]
)
def test_too_many_or_too_long_search_paths_are_cut_with_a_warning(searches, kept):
    made = pod({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": searches}})
    assert list(sandbox_of(made).dns_config.searches) == searches[:kept]
    (caution,) = cautions(made, settings(), HOST)
    assert caution.message.startswith("Search Line limits were exceeded")


@pytest.mark.parametrize(
    ("spec", "hostname"),
    [
        ({}, "web"),
        ({"hostname": "own"}, "own"),
        ({"hostname": "h" * 62 + "-" + "x" * 9}, "h" * 62),
        ({"hostNetwork": True, "hostname": "own"}, ""),
        ({"subdomain": "sub", "setHostnameAsFQDN": True}, "web.sub.prod.svc.cluster.local"),
        ({"subdomain": "sub"}, "web"),
        ({"setHostnameAsFQDN": True}, "web"),
        ({"hostnameOverride": "over.ride", "hostname": "own", "subdomain": "sub"}, "over.ride"),
        ({"hostnameOverride": "o" * 64}, "o" * 63),
    ],
)
def test_hostname_rules(spec, hostname):
    assert sandbox_of(pod(spec), node=CLUSTER).hostname == hostname


def test_an_overlong_fqdn_is_refused():
    with pytest.raises(ContainerConfigError, match="too long, 64 characters"):
        sandbox_of(pod({"hostname": "h" * 40, "subdomain": "sub", "setHostnameAsFQDN": True}), node=CLUSTER)
