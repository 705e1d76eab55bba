"""Checks of addresses to call: this machine, addresses to which a token may be sent, and public addresses."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: stands for all IPv4 addresses
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291, 2.4
PRIVATE_NAMES = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home.arpa")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadAddress(Exception):
    """An address that must not be used; ``str()`` is the reason."""


def host_of(url: str) -> str:
    """Return the host of a URL; "" if it has none, or if the text is no URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # such as https://[
        return ""


def keeps_secrets(url: str) -> bool:
    """Return whether a token may be sent to a URL: whether it is https or this machine."""
    host = host_of(url)
    return bool(host) and (url.startswith("https://") or (url.startswith("http://") and host in THIS_MACHINE))


def refuse_private_host(host: str) -> None:
    """Raise BadAddress for a private host, also in spellings for a resolver: 127.1, 0x7f000001, localhost."""
    host = host.rstrip(".")
    try:
        _refuse_private(ipaddress.ip_address(host if ":" in host else socket.inet_aton(host)))
    except ValueError:
        raise BadAddress("it is no address") from None
    except OSError:  # not an address, but a name
        if "." not in host or host.endswith(PRIVATE_NAMES):
            raise BadAddress("it leads into a private network") from None


def resolved(host: str, port: int, *, private: bool) -> str:
    """Return the address to connect to. Unless ``private``, raise BadAddress if any address of the name is private.

    Connect to this address: connecting to the name would resolve it again, perhaps to another address.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    if not private:
        for address in addresses:
            _refuse_private(ipaddress.ip_address(address.partition("%")[0]))
    return addresses[0]


def _refuse_private(address: Address) -> None:
    inner: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner += [address.sixtofour] if address.sixtofour else []
        inner += list(address.teredo or ())
        if address in NAT64:
            inner = [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
        elif address not in GLOBAL_UNICAST:  # other ranges are translated to IPv4, local, or unused
            raise BadAddress("it leads into a private network")
    if not all(inner_address.is_global and not inner_address.is_multicast for inner_address in inner):
        raise BadAddress("it leads into a private network")
