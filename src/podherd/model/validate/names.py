"""The shapes of names in Kubernetes. Each check returns why the value is wrong, or an empty string."""

import ipaddress
import re

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\Z")
_QUALIFIED = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_PORT = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z")
_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
_SYSCTL_PART = r"[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"(?:{_SYSCTL_PART}[./])*{_SYSCTL_PART}\Z")
_HEADER = re.compile(r"[-A-Za-z0-9!#$%&'*+.^_`|~]+\Z")

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character"
)
_QUALIFIED_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_UID_RULE = (
    "must consist of at most 128 alphanumeric characters, '-', '_' or '.', and must start with an alphanumeric one"
)


def pod_uid(value: str) -> str:
    """A `metadata.uid` of a manifest: it names directories and a cgroup of this node."""
    return "" if _UID.match(value) else _UID_RULE


def dns_label(value: str) -> str:
    """RFC 1123 label: container, volume and namespace names, host names."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    return "" if _LABEL.match(value) else _LABEL_RULE


def dns_subdomain(value: str) -> str:
    """RFC 1123 subdomain: pod names."""
    if len(value) > 253:
        return "must be no more than 253 characters"
    return "" if _SUBDOMAIN.match(value) else _SUBDOMAIN_RULE


def qualified_name(value: str) -> str:
    """Keys of labels and annotations: `[prefix/]name`."""
    prefix, slash, name = value.rpartition("/")
    if slash and (not prefix or "/" in prefix or dns_subdomain(prefix)):
        return "prefix part must be a lowercase RFC 1123 subdomain"
    if not name or len(name) > 63:
        return "name part must be 1 to 63 characters"
    return "" if _QUALIFIED.match(name) else f"name part {_QUALIFIED_RULE}"


def label_value(value: str) -> str:
    """The value of a label."""
    if len(value) > 63:
        return "must be no more than 63 characters"
    return "" if not value or _QUALIFIED.match(value) else f"a valid label value must be empty or {_QUALIFIED_RULE}"


def port_name(value: str) -> str:
    """IANA service name."""
    if len(value) > 15:
        return "must be no more than 15 characters"
    if not _PORT.match(value) or "--" in value:
        return "must contain only alphanumeric characters (a-z, 0-9) and single hyphens, not at either end"
    return "" if any(c.isalpha() for c in value) else "must contain at least one letter (a-z)"


def env_name(value: str) -> str:
    """Any printable ASCII but `=`."""
    if value and all(" " <= c <= "~" and c != "=" for c in value):
        return ""
    return "a valid environment variable name must consist only of printable ASCII characters other than '='"


def header_name(value: str) -> str:
    """The name of an HTTP header."""
    return "" if _HEADER.match(value) else "a valid HTTP header must consist of alphanumeric characters or '-'"


def port_number(value: float) -> str:
    """A port that can be listened on."""
    return "" if 0 < value < 65536 else "must be between 1 and 65535, inclusive"


def ip_address(value: str) -> str:
    """An IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    return ""


def sysctl_name(value: str) -> str:
    """A kernel parameter, its parts joined by dots or slashes."""
    if len(value) <= 253 and _SYSCTL.match(value):
        return ""
    return "must have at most 253 characters: lower case words of a-z, 0-9, '-' and '_', joined by '.' or '/'"
