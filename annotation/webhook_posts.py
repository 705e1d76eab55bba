"""Posting to an address that somebody typed in, without becoming their way into this server's own network.

A name is resolved once and the connection made to the very address that was looked at, so that a second look-up cannot
lead elsewhere (OWASP, Server-Side Request Forgery Prevention Cheat Sheet). No redirect is followed, no proxy used.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

SECONDS = 5.0  # for an attempt as a whole
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: leads to any IPv4 address
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadAddress(Exception):
    """An address that nothing is ever posted to; ``str()`` is the reason in a sentence's end."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a post.

    Attributes:
        status: of HTTP; None where no answer came.
        problem: why it failed; '' where it did not.
        retry_after: seconds that the other side asked for.
    """

    status: int | None
    problem: str = ""
    retry_after: int = 0


def checked_url(url: str) -> SplitResult:
    """The parts of an address that a webhook may have.

    Raises:
        BadAddress: it is no https address; plain http reaches 127.0.0.1 alone, and that only where private addresses
            are allowed.
    """
    if len(url) > 500 or any(ord(letter) <= 32 or ord(letter) > 126 for letter in url):
        raise BadAddress("it is longer than 500 characters, or holds spaces or letters beyond ASCII")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadAddress("it is no address") from None
    if parts.scheme == "http" and not (_private_allowed() and host in ("127.0.0.1", "localhost")):
        raise BadAddress("expected https://, which keeps the message from being read on its way")
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadAddress("expected https://host/path")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadAddress("it holds a user name, a password or a fragment")
    if not _private_allowed():
        try:
            literal = ipaddress.ip_address(host)
        except ValueError:
            if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
                raise BadAddress("it leads into a private network") from None
        else:
            _refuse_private(literal)
    return parts


def post(url: str, *, body: bytes, headers: dict[str, str], seconds: float = SECONDS) -> Answer:
    """Post once; whatever goes wrong is said in the answer."""
    sockets: list[socket.socket] = []
    late = threading.Event()

    def cut_off() -> None:
        late.set()
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed already

    watchdog = threading.Timer(seconds, cut_off)  # a server that sends a byte now and then never times out
    watchdog.daemon = True
    watchdog.start()
    try:
        parts = checked_url(url)
        return _exchange(parts, body, headers, seconds, sockets)
    except BadAddress as problem:
        return Answer(None, f"Not sent: {problem}.")
    except ssl.SSLError as problem:
        return Answer(
            None, _late(late, seconds) or f"No secure connection: {problem.reason or 'it was cut off'}."
        )
    except TimeoutError:
        return Answer(None, f"No answer within {seconds:g} seconds.")
    except OSError as problem:
        return Answer(
            None, _late(late, seconds) or f"No connection: {problem.strerror or type(problem).__name__}."
        )
    except (http.client.HTTPException, ValueError) as problem:
        return Answer(None, _late(late, seconds) or f"The answer is not HTTP: {type(problem).__name__}.")
    finally:
        watchdog.cancel()
        for one in sockets:
            one.close()


def _late(late: threading.Event, seconds: float) -> str:
    return f"No answer within {seconds:g} seconds." if late.is_set() else ""


def _exchange(
    parts: SplitResult, body: bytes, headers: dict[str, str], seconds: float, sockets: list[socket.socket]
) -> Answer:
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address_of(host, port)
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    plain = socket.create_connection((address, port), timeout=seconds)
    sockets.append(plain)
    if parts.scheme == "https":
        # certificate and name are checked against the name, not the address
        secure = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        sockets.append(secure)
        connection.sock = secure
    else:
        connection.sock = plain
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    own = {"Host": parts.netloc, "Connection": "close"}
    connection.request("POST", path, body=body, headers=headers | own)
    reply = connection.getresponse()  # its body is nobody's concern, and never read
    if 200 <= reply.status < 300:
        return Answer(reply.status)
    asked = reply.headers.get("Retry-After", "")
    pause = int(asked) if asked.isdecimal() and len(asked) < 7 else 0
    where = "; redirects are not followed" if 300 <= reply.status < 400 else ""
    return Answer(reply.status, f"The answer was {reply.status}{where}.", pause)


def _address_of(host: str, port: int) -> str:
    """The address to connect to.

    Raises:
        BadAddress: one of those the name stands for is not public.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not _private_allowed():
        for address in addresses:
            _refuse_private(ipaddress.ip_address(address.partition("%")[0]))
    return addresses[0]


def _refuse_private(address: Address) -> None:
    inner: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner += [one for one in (address.ipv4_mapped, address.sixtofour) if one is not None]
        inner += list(address.teredo or ())
        if address in NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if not all(one.is_global and not one.is_multicast for one in inner):
        raise BadAddress("it leads into a private network")


def _private_allowed() -> bool:
    return bool(settings.WEBHOOK_PRIVATE or settings.DEBUG)
