"""The guarantee of MEMORY_MODE=local, in one place: after `confine_to_loopback` nothing leaves this machine."""

import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from braindex.domain.errors import BraindexError
from braindex.domain.hosts import is_loopback_host

_SHOWN: Final = 100  # characters of an address in a message
_ONCE: Final = threading.Lock()  # taken by the first call and never given back
_ROLL_CALL: Final = "braindex.confined"  # an event of our own: the hook that hears it is in place


class LocalModeOnly(BraindexError):
    def __init__(self, where: object) -> None:
        shown = ascii(where)[:_SHOWN]
        super().__init__(
            f"MEMORY_MODE=local keeps everything on this machine, so a connection to {shown} was refused; "
            "set MEMORY_MODE to hybrid or cloud to allow it"
        )


class NotConfined(BraindexError):
    def __init__(self) -> None:
        super().__init__(
            "MEMORY_MODE=local cannot be guaranteed: another audit hook of this Python refuses braindex's; "
            "remove that hook, or set MEMORY_MODE to hybrid or cloud"
        )


def confine_to_loopback() -> None:
    """From here on this process reaches nothing but loopback and Unix sockets; the second call does nothing.

    For good: an audit hook cannot be taken away again. It sees what Python's own `socket` module does: connecting,
    sending without a connection, and looking up names, of which only `localhost` is. Attempts raise LocalModeOnly.
    What it cannot see is a library that makes system calls of its own, another process, the look-up that the C
    library does where a name instead of an address is given to `socket.connect` itself (the connection is refused all
    the same), and, on Windows, an address given to asyncio's proactor loop (engines use the selector loop there).

    Raises NotConfined where the hook could not be installed.
    """
    if not _ONCE.acquire(blocking=False):
        return
    heard: list[bool] = []
    sys.addaudithook(_guard(heard))
    sys.audit(_ROLL_CALL)
    if not heard:
        raise NotConfined  # Python drops a hook silently when an earlier one objects


def _guard(heard: list[bool]) -> Callable[[str, tuple[Any, ...]], None]:
    """The hook. It is called for every event of the process, so all but a few cost one look into a dict.

    Everything is bound here, since the module's globals are gone while the interpreter shuts down.
    """
    checks: dict[str, Callable[[tuple[Any, ...]], None]] = {
        "socket.connect": _check_address,
        "socket.sendto": _check_address,
        "socket.sendmsg": _check_address,
        "socket.getaddrinfo": _check_name,
        "socket.gethostbyname": _check_name,
        "socket.gethostbyaddr": _check_name,
        "socket.getnameinfo": _check_numeric,
        _ROLL_CALL: lambda _: heard.append(True),
    }
    find = checks.get

    def hook(event: str, args: tuple[Any, ...]) -> None:
        check = find(event)
        if check is not None:
            check(args)

    return hook


def _check_address(args: tuple[Any, ...]) -> None:
    """(socket, address). A socket that is connected sends with no address: its connection was checked."""
    sock, address = args[0], args[1]
    if address is None or (isinstance(address, tuple) and address and _is_here(address[0])):
        return
    unix = getattr(socket, "AF_UNIX", None)
    if unix is not None and getattr(sock, "family", None) == unix:
        return
    raise LocalModeOnly(address)


def _check_name(args: tuple[Any, ...]) -> None:
    """(name, …). No name at all means this machine."""
    if args[0] is not None and not _is_here(args[0]):
        raise LocalModeOnly(args[0])


def _check_numeric(args: tuple[Any, ...]) -> None:
    _check_name(args[0])


def _is_here(host: object) -> bool:
    if isinstance(host, bytes | bytearray):
        host = bytes(host).decode("ascii", "replace")
    return isinstance(host, str) and is_loopback_host(host)
