"""Variables of services (kubelet behaviour, section 3.12)."""

from podherd.cri.convert.services import service_variables


def _service(name, address="10.0.0.9", *ports):
    return {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": list(ports)}}


def _port(port, name="", protocol="TCP"):
    return {"name": name, "port": port, "protocol": protocol}


KUBERNETES = _service("kubernetes", "10.0.0.1", _port(443, "https"))


def test_a_service_with_two_ports_has_all_the_names_that_the_kubelet_gives():
    dns = _service("kube-dns", "10.0.0.10", _port(53, "dns", "UDP"), _port(9153, "dns-metrics"))
    assert service_variables("shop", True, {"shop": [dns]}) == [
        ("KUBE_DNS_SERVICE_HOST", "10.0.0.10"),
        ("KUBE_DNS_SERVICE_PORT", "53"),
        ("KUBE_DNS_SERVICE_PORT_DNS", "53"),
        ("KUBE_DNS_SERVICE_PORT_DNS_METRICS", "9153"),
        ("KUBE_DNS_PORT", "udp://10.0.0.10:53"),
        ("KUBE_DNS_PORT_53_UDP", "udp://10.0.0.10:53"),
        ("KUBE_DNS_PORT_53_UDP_PROTO", "udp"),
        ("KUBE_DNS_PORT_53_UDP_PORT", "53"),
        ("KUBE_DNS_PORT_53_UDP_ADDR", "10.0.0.10"),
        ("KUBE_DNS_PORT_9153_TCP", "tcp://10.0.0.10:9153"),
        ("KUBE_DNS_PORT_9153_TCP_PROTO", "tcp"),
        ("KUBE_DNS_PORT_9153_TCP_PORT", "9153"),
        ("KUBE_DNS_PORT_9153_TCP_ADDR", "10.0.0.10"),
    ]


def test_an_address_of_ipv6_stands_in_brackets_where_a_port_follows():
    variables = dict(service_variables("shop", True, {"shop": [_service("db", "fd00::9", _port(5432))]}))
    assert variables["DB_PORT"] == "tcp://[fd00::9]:5432"
    assert variables["DB_SERVICE_HOST"] == variables["DB_PORT_5432_TCP_ADDR"] == "fd00::9"


def test_services_without_address_or_ports_are_not_told():
    services = [_service("a", "None", _port(1)), _service("b", "", _port(1)), _service("c")]
    assert service_variables("shop", True, {"shop": services}) == []


def test_kubernetes_of_default_is_told_everywhere_also_without_links_and_nothing_else_of_default():
    known = {
        "default": [KUBERNETES, _service("other", "10.0.0.2", _port(1))],
        "shop": [_service("db", "1.2.3.4", _port(1))],
    }
    assert dict(service_variables("shop", False, known))["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"
    assert {name.partition("_")[0] for name, _ in service_variables("shop", False, known)} == {"KUBERNETES"}
    assert {name.partition("_")[0] for name, _ in service_variables("shop", True, known)} == {"KUBERNETES", "DB"}
    assert {name.partition("_")[0] for name, _ in service_variables("default", True, known)} == {"KUBERNETES", "OTHER"}


def test_a_namespaces_own_kubernetes_service_takes_the_place_of_the_masters():
    own = _service("kubernetes", "10.9.9.9", _port(443))
    known = {"default": [KUBERNETES], "shop": [own]}
    assert dict(service_variables("shop", True, known))["KUBERNETES_SERVICE_HOST"] == "10.9.9.9"
    assert dict(service_variables("shop", False, known))["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"
