"""TCP sockets to an API server that notice a peer that is gone: long watches send nothing that would find out."""

import socket

import aiohttp

_IDLE_S, _EVERY_S, _TIMES = 30, 5, 3
_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _EVERY_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _TIMES),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, (_IDLE_S + _EVERY_S * _TIMES) * 1000),
)


def kept_alive(address: aiohttp.AddrInfoType) -> socket.socket:
    """One that breaks 45 s after the last sign of life of the other end's machine, as client-go's HTTP/2 pings do."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    for level, option, value in _OPTIONS:
        made.setsockopt(level, option, value)
    return made
