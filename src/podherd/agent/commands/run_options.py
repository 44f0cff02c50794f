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
Kubeconfig: TypeAlias = Annotated[OptionalPath, typer.Option("--kubeconfig", help="Not yet: an API server to serve.")]
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
