#!/usr/bin/env bash
# Debian packages that a checkout needs: `packages.sh build` to build it, `packages.sh runtime` to run real containers and
# the tests that want a real D-Bus.
# Installs what is missing when it may (root, apt); else says what to install. Exit code 1: cannot go on without.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

python=${PYTHON:-python3}
missing=()
case ${1:-} in
build)
    have gcc || missing+=(gcc libc6-dev)
    if ! have "$python"; then
        missing+=(python3 python3-venv python3-dev)
    else
        "$python" -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
        "$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
            || missing+=(python3-dev)
    fi
    ;;
runtime)
    { have containerd && have ctr; } || missing+=(containerd)
    have runc || missing+=(runc)
    [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ] || missing+=(containernetworking-plugins)
    { have busybox && ! grep -aq '/ld-' <(head -c 4096 "$(command -v busybox)"); } || missing+=(busybox-static)
    have iptables || missing+=(iptables)
    have dbus-daemon || missing+=(dbus)
    ;;
*)
    echo "usage: $0 build|runtime" >&2
    exit 2
    ;;
esac

[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    echo "missing: ${missing[*]}; as root on Debian or Ubuntu: apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# No service of a package starts: podherd runs a containerd of its own.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    trap 'rm -f $policy' EXIT
fi
apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
