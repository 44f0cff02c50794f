"""The options of `podherd run`: the kubelet's spelling where the kubelet has the flag."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

OptionalPath: TypeAlias = Path | None

Config: TypeAlias = Annotated[
    OptionalPath, typer.Option("--config", help="KubeletConfiguration file; flags win over it.")
]
Manifests: TypeAlias = Annotated[OptionalPath, typer.Option("--manifests", help="Directory or file of static pods.")]
PodManifestPath: TypeAlias = Annotated[OptionalPath, typer.Option("--pod-manifest-path", hidden=True)]
ManifestUrl: TypeAlias = Annotated[str | None, typer.Option("--manifest-url", help="URL of static pods.")]
ManifestUrlHeader: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--manifest-url-header",
        help="NAME:VALUE for the URL; may be given several times. Every user of the host sees the words of a command: "
        "a secret goes into the --config file, as staticPodURLHeader.",
    ),
]
FileCheck: TypeAlias = Annotated[
    str | None, typer.Option("--file-check-frequency", help="Between reads of the manifests; default 20s.")
]
HttpCheck: TypeAlias = Annotated[
    str | None, typer.Option("--http-check-frequency", help="Between requests to the URL; default 20s.")
]
Kubeconfig: TypeAlias = Annotated[
    OptionalPath,
    typer.Option("--kubeconfig", help="Of the API server to serve; without it, static pods only."),
]
BootstrapKubeconfig: TypeAlias = Annotated[
    OptionalPath,
    typer.Option("--bootstrap-kubeconfig", help="What may ask for a certificate while there is no --kubeconfig yet."),
]
InCluster: TypeAlias = Annotated[
    bool | None, typer.Option("--in-cluster", help="Serve the API server by the service account of the own pod.")
]
CertDir: TypeAlias = Annotated[OptionalPath, typer.Option("--cert-dir", help="Certificates; default ROOT/pki.")]
NodeIp: TypeAlias = Annotated[
    str | None, typer.Option("--node-ip", help="The node's address, or one of each family with a comma between.")
]
NodeLabels: TypeAlias = Annotated[
    str | None, typer.Option("--node-labels", help="KEY=VALUE,… that a new Node object gets.")
]
RegisterNode: TypeAlias = Annotated[
    bool | None, typer.Option("--register-node/--no-register-node", help="Create the Node object; default yes.")
]
RegisterWithTaints: TypeAlias = Annotated[
    str | None, typer.Option("--register-with-taints", help="KEY=VALUE:EFFECT,… that a new Node object gets.")
]
MaxPods: TypeAlias = Annotated[
    int | None, typer.Option("--max-pods", min=0, help="Pods that the node takes; default 110, without a server 10000.")
]
CredentialConfig: TypeAlias = Annotated[
    OptionalPath, typer.Option("--image-credential-provider-config", help="CredentialProviderConfig of plugins.")
]
CredentialBinDir: TypeAlias = Annotated[
    OptionalPath, typer.Option("--image-credential-provider-bin-dir", help="Where the plugins' programs are.")
]
Runtime: TypeAlias = Annotated[
    str | None, typer.Option("--runtime", help="unix:///path/of/cri.sock, or hollow; default: what is found.")
]
Provision: TypeAlias = Annotated[
    bool, typer.Option("--provision", help="With no runtime found, install and start one under the root directory.")
]
OwnRoot: TypeAlias = Annotated[
    OptionalPath, typer.Option("--root-dir", envvar="PODHERD_ROOT", help="State; default /var/lib/podherd.")
]
NodeName: TypeAlias = Annotated[str | None, typer.Option("--node-name", help="Default: the host's name.")]
DrainOnExit: TypeAlias = Annotated[
    bool | None, typer.Option("--drain-on-exit", help="Stop all pods at the end; else containers run on.")
]
Shards: TypeAlias = Annotated[int | None, typer.Option("--shards", min=1, max=256, help="Pod shard actors.")]
Watch: TypeAlias = Annotated[bool, typer.Option("--watch/--no-watch", help="Show the pods while running.")]


def spelled(words: list[str]) -> list[str]:
    """The words of a command line, with Go's `--register-node=false` as this one's `--no-register-node`."""
    if words[:1] != ["run"]:
        return words
    return [_GO_FLAGS.get(word.lower(), word) for word in words]


_GO_FLAGS = {
    "--register-node=false": "--no-register-node",
    "--register-node=true": "--register-node",
    "--in-cluster=true": "--in-cluster",
}
