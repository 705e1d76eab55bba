"""Check addresses before calling them: whether a token may be sent to them, and whether they are public."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # addresses that represent all IPv4 addresses (RFC 6052)
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291, 2.4
PRIVATE_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home.arpa")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadAddress(Exception):
    """An address must not be called. ``str()`` is the reason."""


def host_of(url: str) -> str:
    """Return the host of a URL; "" if it has no host, or if the text is not a URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # the text is not a URL, such as https://[
        return ""


def keeps_secrets(url: str) -> bool:
    """Return whether a token may be sent to a URL, which must be https or of this machine."""
    host = host_of(url)
    if url.startswith("https://"):
        return bool(host)
    return url.startswith("http://") and host in THIS_MACHINE


def refuse_private_host(host: str) -> None:
    """Raise BadAddress for a private host, such as localhost, even in other spellings, such as 127.1 or 0x7f000001."""
    host = host.rstrip(".")
    try:
        _refuse_private(ipaddress.ip_address(host if ":" in host else socket.inet_aton(host)))
    except ValueError:
        raise BadAddress("it is no address") from None
    except OSError:  # the host is a name and not an address
        if "." not in host or host.endswith(PRIVATE_SUFFIXES):
            raise BadAddress("it leads into a private network") from None


def resolve_host(host: str, port: int, *, private: bool) -> str:
    """Return the IP address of a host. Unless ``private``, raise BadAddress if one of its addresses is private.

    Connect to the returned address. Connecting to the name would resolve it again, perhaps to another address.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    if not private:
        for address in addresses:
            plain_address = address.partition("%")[0]  # such as fe80::1 of fe80::1%eth0
            _refuse_private(ipaddress.ip_address(plain_address))
    return addresses[0]


def _refuse_private(address: Address) -> None:
    """Raise BadAddress unless an address, and the IPv4 addresses within it, are public.

    The network translates some IPv6 addresses to the IPv4 addresses that they contain.
    """
    addresses: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.sixtofour:
            addresses.append(address.sixtofour)
        if address.teredo:
            addresses.extend(address.teredo)  # the server and the client
        if address in NAT64:
            addresses = [ipaddress.IPv4Address(int(address) % 2**32)]
        elif address not in GLOBAL_UNICAST:  # other ranges are local, unused, or translated to IPv4
            raise BadAddress("it leads into a private network")
    if not all(ip_address.is_global and not ip_address.is_multicast for ip_address in addresses):
        raise BadAddress("it leads into a private network")
