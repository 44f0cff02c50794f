"""The messages of CSI and of plugin registration, as far as a node needs them, made from one table.

Field numbers and method names are those of csi.proto (package csi.v1) and of the kubelet's pluginregistration v1. An
enum is an int32, which is the same on the wire.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

Fields = Mapping[str, tuple[int, str]]
"""By name: the number, and the type; `*` before it for many, `map` for text to text, else another message."""

CSI = "csi.v1"
REGISTRATION = "pluginregistration"
_TABLE: Mapping[str, Mapping[str, Fields]] = {
    CSI: {
        "GetPluginInfoRequest": {},
        "GetPluginInfoResponse": {"name": (1, "string"), "vendor_version": (2, "string")},
        "NodeGetInfoRequest": {},
        "NodeGetInfoResponse": {
            "node_id": (1, "string"), "max_volumes_per_node": (2, "int64"), "accessible_topology": (3, "Topology"),
        },
        "Topology": {"segments": (1, "map")},
        "NodeGetCapabilitiesRequest": {},
        "NodeGetCapabilitiesResponse": {"capabilities": (1, "*NodeServiceCapability")},
        "NodeServiceCapability": {"rpc": (1, "Rpc")},
        "Rpc": {"type": (1, "int32")},
        "VolumeCapability": {"mount": (2, "MountVolume"), "access_mode": (3, "AccessMode")},
        "MountVolume": {"fs_type": (1, "string"), "mount_flags": (2, "*string"), "volume_mount_group": (3, "string")},
        "AccessMode": {"mode": (1, "int32")},
        "NodeStageVolumeRequest": {
            "volume_id": (1, "string"), "publish_context": (2, "map"), "staging_target_path": (3, "string"),
            "volume_capability": (4, "VolumeCapability"), "secrets": (5, "map"), "volume_context": (6, "map"),
        },
        "NodeStageVolumeResponse": {},
        "NodeUnstageVolumeRequest": {"volume_id": (1, "string"), "staging_target_path": (2, "string")},
        "NodeUnstageVolumeResponse": {},
        "NodePublishVolumeRequest": {
            "volume_id": (1, "string"), "publish_context": (2, "map"), "staging_target_path": (3, "string"),
            "target_path": (4, "string"), "volume_capability": (5, "VolumeCapability"), "readonly": (6, "bool"),
            "secrets": (7, "map"), "volume_context": (8, "map"),
        },
        "NodePublishVolumeResponse": {},
        "NodeUnpublishVolumeRequest": {"volume_id": (1, "string"), "target_path": (2, "string")},
        "NodeUnpublishVolumeResponse": {},
    },
    REGISTRATION: {
        "InfoRequest": {},
        "PluginInfo": {
            "type": (1, "string"), "name": (2, "string"), "endpoint": (3, "string"),
            "supported_versions": (4, "*string"),
        },
        "RegistrationStatus": {"plugin_registered": (1, "bool"), "error": (2, "string")},
        "RegistrationStatusResponse": {},
    },
}  # fmt: skip

METHODS: Mapping[str, tuple[str, str, str]] = {
    "/csi.v1.Identity/GetPluginInfo": (CSI, "GetPluginInfoRequest", "GetPluginInfoResponse"),
    "/csi.v1.Node/NodeGetInfo": (CSI, "NodeGetInfoRequest", "NodeGetInfoResponse"),
    "/csi.v1.Node/NodeGetCapabilities": (CSI, "NodeGetCapabilitiesRequest", "NodeGetCapabilitiesResponse"),
    "/csi.v1.Node/NodeStageVolume": (CSI, "NodeStageVolumeRequest", "NodeStageVolumeResponse"),
    "/csi.v1.Node/NodeUnstageVolume": (CSI, "NodeUnstageVolumeRequest", "NodeUnstageVolumeResponse"),
    "/csi.v1.Node/NodePublishVolume": (CSI, "NodePublishVolumeRequest", "NodePublishVolumeResponse"),
    "/csi.v1.Node/NodeUnpublishVolume": (CSI, "NodeUnpublishVolumeRequest", "NodeUnpublishVolumeResponse"),
    "/pluginregistration.Registration/GetInfo": (REGISTRATION, "InfoRequest", "PluginInfo"),
    "/pluginregistration.Registration/NotifyRegistrationStatus": (
        REGISTRATION, "RegistrationStatus", "RegistrationStatusResponse",
    ),
}  # fmt: skip
"""Package, request and reply of each method, by its gRPC path."""

_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
}


def message(package: str, name: str) -> Any:
    """The class of a message of the table."""
    return _CLASSES[package, name]


def _classes() -> Iterator[tuple[tuple[str, str], Any]]:
    """In a pool of their own: another library's CSI is none of ours."""
    pool = DescriptorPool()
    for package, messages in _TABLE.items():
        file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        file.message_type.extend(_descriptor(package, name, fields) for name, fields in messages.items())
        pool.Add(file)
        for name in messages:
            found = pool.FindMessageTypeByName(f"{package}.{name}")
            yield (package, name), GetMessageClass(found)


def _descriptor(package: str, name: str, fields: Fields) -> DescriptorProto:
    made = DescriptorProto(name=name)
    for field, (number, kind) in fields.items():
        many = kind == "map" or kind.startswith("*")
        label = FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
        added = made.field.add(name=field, number=number, label=label)
        kind = kind.removeprefix("*")
        if scalar := _SCALARS.get(kind):
            added.type = scalar
            continue
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        added.type_name = f".{package}.{kind}"
        if kind == "map":
            entry = made.nested_type.add(name="".join(map(str.capitalize, field.split("_"))) + "Entry")
            entry.options.map_entry = True
            for key, place in (("key", 1), ("value", 2)):
                entry.field.add(
                    name=key, number=place, label=FieldDescriptorProto.LABEL_OPTIONAL, type=_SCALARS["string"]
                )
            added.type_name = f".{package}.{name}.{entry.name}"
    return made


_CLASSES = dict(_classes())
