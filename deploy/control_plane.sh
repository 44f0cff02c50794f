#!/usr/bin/env bash
# The real control plane that tests run against: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.
# `control_plane.sh [NAME…]` builds from Go modules what is neither in $KUBEBUILDER_ASSETS nor in the cache yet (about 5
# minutes for all on 2 cores) and prints the cache directory; `control_plane.sh able` only says whether it could.
# Needs Go, any from 1.21: that fetches the release which Kubernetes asks for. Two at once: the second one waits for the
# first. Exit code 1: cannot.
set -euo pipefail

kubernetes=1.37.2
etcd=3.6.5
cache=${PODHERD_CONTROL_PLANE:-${XDG_CACHE_HOME:-$HOME/.cache}/podherd/control-plane-$kubernetes}
jobs=2

export PATH=$PATH:/usr/local/go/bin CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-mod=mod GOWORK=off GOMAXPROCS=$jobs

able() {
    local said
    if ! said=$(go env GOVERSION 2>/dev/null); then
        echo "no Go here to build a control plane with: install Go 1.21 or newer, or set KUBEBUILDER_ASSETS" >&2
        return 1
    fi
    if [ "$(printf '%s\n' go1.21 "$said" | sort -V | head -1)" != go1.21 ]; then
        echo "$said is too old to build a control plane: install Go 1.21 or newer, or set KUBEBUILDER_ASSETS" >&2
        return 1
    fi
}

# k8s.io/kubernetes names its staging modules without versions: each is told the one that belongs to this release.
kubernetes_module() {
    local at
    at=$(cd "$work" && go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    {
        printf 'module control-plane\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$kubernetes"
        sed -n "s#^\t\(k8s.io/[a-z0-9-]*\) => ./staging.*#\t\1 => \1 v0.${kubernetes#1.}#p" "$at/go.mod"
        echo ')'
    } >"$1/go.mod"
}

etcd_module() {
    printf 'module etcd\n\ngo 1.24.0\n\nrequire go.etcd.io/etcd/server/v3 v%s\n' "$etcd" >"$1/go.mod"
}

build() { # NAME IMPORT-PATH MODULE
    local place=$work/$3
    if [ ! -d "$place" ]; then
        mkdir "$place"
        "$3_module" "$place"
    fi
    local flags="-s -w" package
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags+=" -X $package.gitVersion=v$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=37"
    done
    echo "building $1" >&2
    (cd "$place" && go build -p "$jobs" -trimpath -ldflags "$flags" -o "$cache/.$1.new" "$2")
    mv "$cache/.$1.new" "$cache/$1"
}

[ "${1:-}" != able ] || { able && exit 0 || exit 1; }
[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kube-scheduler
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
for name; do
    [ ! -x "$cache/$name" ] && [ ! -x "${KUBEBUILDER_ASSETS:-/nowhere}/$name" ] || continue
    able
    if [ -z "${work:-}" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
    fi
    case $name in
    etcd) build etcd go.etcd.io/etcd/server/v3 etcd ;;
    kube-*) build "$name" "k8s.io/kubernetes/cmd/$name" kubernetes ;;
    *) echo "$name is no part of a control plane" >&2 && exit 2 ;;
    esac
done
echo "$cache"
