"""Names of the kubepods cgroups, for both drivers (kubelet behaviour, section 14.1). Pure.

A name is a path inside every hierarchy, such as `/kubepods/burstable/pod<uid>`; it is also what a runtime takes
as `cgroup_parent`.
"""

from podherd.model.path_part import path_part

GUARANTEED = "Guaranteed"
KUBEPODS = "kubepods"
SYSTEMD = "systemd"


def kubepods(driver: str, root: str = "/") -> str:
    """The cgroup above all pods: `/kubepods`, with systemd `/kubepods.slice`, both under `root`."""
    return _path([*_components(root), KUBEPODS], driver)


def qos_cgroup(qos: str, driver: str, root: str = "/") -> str:
    """The cgroup of a QoS class (`Guaranteed`, `Burstable`, `BestEffort`); Guaranteed is kubepods itself."""
    return _path(_qos_components(qos, root), driver)


def pod_cgroup(uid: str, qos: str, driver: str, root: str = "/") -> str:
    """The cgroup of one pod: `/kubepods/besteffort/pod<uid>` or its slice, dashes of the uid then being underscores.

    Raises PodherdError for a uid that would lead elsewhere.
    """
    return _path([*_qos_components(qos, root), f"pod{path_part('pod uid', uid)}"], driver)


def _components(root: str) -> list[str]:
    return [part for part in root.split("/") if part]


def _qos_components(qos: str, root: str) -> list[str]:
    above = [*_components(root), KUBEPODS]
    return above if qos == GUARANTEED else [*above, qos.lower()]


def _path(components: list[str], driver: str) -> str:
    """A slice's name holds the names of all its parents, joined with dashes; hence no dash inside one of them."""
    if driver != SYSTEMD:
        return "/" + "/".join(components)
    escaped = [part.replace("-", "_") for part in components]
    return "".join(f"/{'-'.join(escaped[: depth + 1])}.slice" for depth in range(len(escaped)))
