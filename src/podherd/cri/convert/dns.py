"""A pod's resolv.conf and host name (kubelet behaviour, section 3.11)."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from podherd.cri.convert.host import Host
from podherd.errors import ContainerConfigError
from podherd.model.pod import Body, Pod
from podherd.model.settings import Settings

MAX_SERVERS = 3
MAX_SEARCHES = 32
MAX_SEARCH_CHARS = 2048
MAX_SEARCH_PATH = 253
"""Of one search path: longer ones make some resolvers abort."""
MAX_HOSTNAME = 63
MAX_FQDN = 64
CLUSTER_OPTIONS = ("ndots:5",)
FORMING = "DNSConfigForming"
MISSING = "MissingClusterDNS"
_NO_CLUSTER_DNS = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy.'
    ' Falling back to "Default" policy.'
)


class Resolver(NamedTuple):
    """The lines of a resolv.conf, and what had to be left out: pairs of event reason and message."""

    servers: tuple[str, ...]
    searches: tuple[str, ...]
    options: tuple[str, ...]
    cautions: tuple[tuple[str, str], ...] = ()


NO_FILE = Resolver(("127.0.0.1",), (".",), ())
"""What stands for the host's file when the configuration names none (`resolvConf: ""`)."""


def resolver_of(pod: Pod, settings: Settings, host: Host) -> Resolver:
    """What the pod's resolv.conf shall say, limits applied."""
    policy = pod.body["spec"].get("dnsPolicy") or "ClusterFirst"
    if policy == "ClusterFirst" and pod.host_network:
        policy = "Default"
    base = parse_resolv_conf(host.resolv_conf) if settings.resolv_conf else NO_FILE
    lacking = policy not in ("None", "Default") and not settings.cluster_dns
    policy = "Default" if lacking else policy
    found = _by_policy(policy, pod.namespace, settings.cluster_dns, settings.cluster_domain, base)
    if wanted := pod.body["spec"].get("dnsConfig"):
        found = _append(found, wanted)
    found = _limited(found)
    if not lacking:
        return found
    text = f'pod: "{pod.name}_{pod.namespace}({pod.uid})". {_NO_CLUSTER_DNS}'
    return found._replace(cautions=((MISSING, text), *found.cautions))


@lru_cache(maxsize=1024)
def _by_policy(policy: str, namespace: str, servers: tuple[str, ...], domain: str, base: Resolver) -> Resolver:
    if policy == "None":
        return Resolver((), (), ())
    if policy == "Default":
        return base
    own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain) if domain else ()
    return Resolver(servers, _unique((*own, *base.searches)), CLUSTER_OPTIONS)


@lru_cache(maxsize=8)
def parse_resolv_conf(text: str) -> Resolver:
    """Name servers, the last search line (without `.`), and the options of every line, the last of each name."""
    servers: list[str] = []
    searches: list[str] = []
    options: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0][0] in "#;":
            continue
        if words[0] == "nameserver" and len(words) > 1:
            servers.append(words[1])
        elif words[0] == "search":
            searches = [word.removesuffix(".") for word in words[1:] if word != "."]
        elif words[0] == "options":
            options |= {word.partition(":")[0]: word for word in words[1:]}
    return Resolver(tuple(servers), tuple(searches), tuple(options.values()))


def _append(found: Resolver, wanted: Body) -> Resolver:
    options = {option.partition(":")[0]: option for option in found.options}
    for option in wanted.get("options") or ():
        name, value = option.get("name") or "", option.get("value")
        options[name] = name if value in (None, "") else f"{name}:{value}"
    options.pop("", None)
    servers = _unique((*found.servers, *(wanted.get("nameservers") or ())))
    searches = _unique((*found.searches, *(wanted.get("searches") or ())))
    return Resolver(servers, searches, tuple(options.values()))


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


@lru_cache(maxsize=1024)
def _limited(found: Resolver) -> Resolver:
    cautions: list[tuple[str, str]] = []
    servers, searches = found.servers, _fitting(found.searches)
    if len(servers) > MAX_SERVERS:
        servers = servers[:MAX_SERVERS]
        cautions.append((FORMING, _omitted("Nameserver limits", "nameservers", "nameserver", servers)))
    if len(searches) < len(found.searches):
        cautions.append((FORMING, _omitted("Search Line limits", "search paths", "search", searches)))
    return Resolver(servers, searches, found.options, tuple(cautions))


def _fitting(searches: tuple[str, ...]) -> tuple[str, ...]:
    kept = tuple(path for path in searches[:MAX_SEARCHES] if len(path) <= MAX_SEARCH_PATH)
    while len(" ".join(kept)) > MAX_SEARCH_CHARS:
        kept = kept[:-1]
    return kept


def _omitted(limit: str, what: str, line: str, applied: tuple[str, ...]) -> str:
    return f"{limit} were exceeded, some {what} have been omitted, the applied {line} line is: {' '.join(applied)}"


def hostname_of(pod: Pod, settings: Settings) -> str:
    """The sandbox's host name; empty with the host's network. Raises ContainerConfigError for an over-long FQDN."""
    if pod.host_network:
        return ""
    name, domain = names_of(pod, settings)
    if not (domain and pod.body["spec"].get("setHostnameAsFQDN")):
        return name
    fqdn = f"{name}.{domain}"
    if len(fqdn) > MAX_FQDN:
        reason = f"host name {fqdn!r} is too long, {MAX_FQDN} characters is the max length"
        raise ContainerConfigError("spec.setHostnameAsFQDN", reason, "shorten the pod's name or subdomain")
    return fqdn


def names_of(pod: Pod, settings: Settings) -> tuple[str, str]:
    """The pod's short host name, and the domain that goes with it where it has a subdomain, else empty.

    `hostnameOverride` stands for both (KEP-4762).
    """
    spec = pod.body["spec"]
    if override := spec.get("hostnameOverride"):
        return short_hostname(override), ""
    name, subdomain = short_hostname(spec.get("hostname") or pod.name), spec.get("subdomain")
    if not (subdomain and settings.cluster_domain):
        return name, ""
    return name, f"{subdomain}.{pod.namespace}.svc.{settings.cluster_domain}"


def short_hostname(name: str) -> str:
    """The name cut to 63 characters, without a `-` or `.` at the cut."""
    return name if len(name) <= MAX_HOSTNAME else name[:MAX_HOSTNAME].rstrip("-.")
