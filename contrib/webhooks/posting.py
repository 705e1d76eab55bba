"""Post a message to an address that somebody typed in, and to none inside the installation's own network."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from common.features import feature_settings

POST_SECONDS = 5.0  # for a whole attempt
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: reaches any IPv4 address
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291, 2.4
PRIVATE_NAMES = (".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home.arpa")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BadAddress(Exception):
    """An address that must not be used; ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a post: the HTTP status, if any, the error, and the requested pause in seconds."""

    status: int | None
    problem: str = ""
    retry_after: int = 0


def checked_url(url: str) -> SplitResult:
    """Return the parts of a permitted address: https, or with private addresses allowed http to 127.0.0.1."""
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
        _refuse_private_host(host)
    return parts


def _refuse_private_host(host: str) -> None:
    """Refuse a private host, also in the spellings that only a resolver reads: 127.1, 0x7f000001, localhost."""
    host = host.rstrip(".")
    try:
        _refuse_private(ipaddress.ip_address(host if ":" in host else socket.inet_aton(host)))
    except ValueError:
        raise BadAddress("it is no address") from None
    except OSError:  # a name
        if "." not in host or host.endswith(PRIVATE_NAMES):
            raise BadAddress("it leads into a private network") from None


def post(url: str, *, body: bytes, headers: dict[str, str], seconds: float = POST_SECONDS) -> Answer:
    """Post once; the result has the error, if any."""
    sockets: list[socket.socket] = []
    late = threading.Event()

    def cut_off() -> None:
        late.set()
        for open_socket in sockets:
            try:
                open_socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed

    watchdog = threading.Timer(seconds, cut_off)  # a server that sends single bytes never times out
    watchdog.daemon = True
    watchdog.start()
    try:
        parts = checked_url(url)
        return _exchange(parts, body, headers, seconds, sockets)
    except BadAddress as problem:
        return Answer(None, f"Not sent: {problem}.")
    except ssl.SSLError as problem:
        return Answer(
            None, _note_delay(late, seconds) or f"No secure connection: {problem.reason or 'it was cut off'}."
        )
    except TimeoutError:
        return Answer(None, f"No answer within {seconds:g} seconds.")
    except OSError as problem:
        return Answer(
            None,
            _note_delay(late, seconds) or f"No connection: {problem.strerror or type(problem).__name__}.",
        )
    except (http.client.HTTPException, ValueError) as problem:
        return Answer(
            None, _note_delay(late, seconds) or f"The answer is not HTTP: {type(problem).__name__}."
        )
    finally:
        watchdog.cancel()
        for open_socket in sockets:
            open_socket.close()


def _note_delay(late: threading.Event, seconds: float) -> str:
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
        # verify the certificate for the name, not the address
        secure = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        sockets.append(secure)
        connection.sock = secure
    else:
        connection.sock = plain
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fixed = {"Host": parts.netloc, "Connection": "close"}
    connection.request("POST", path, body=body, headers=headers | fixed)
    reply = connection.getresponse()  # the body is never read
    if 200 <= reply.status < 300:
        return Answer(reply.status)
    retry_after = reply.headers.get("Retry-After", "")
    pause = int(retry_after) if retry_after.isdecimal() and len(retry_after) < 7 else 0
    where = "; redirects are not followed" if 300 <= reply.status < 400 else ""
    return Answer(reply.status, f"The answer was {reply.status}{where}.", pause)


def _address_of(host: str, port: int) -> str:
    """Return the address to connect to; refuse a name with a private address."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    if not _private_allowed():
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
        elif address not in GLOBAL_UNICAST:  # other ranges translate to IPv4, or are local, or without use
            raise BadAddress("it leads into a private network")
    if not all(inner_address.is_global and not inner_address.is_multicast for inner_address in inner):
        raise BadAddress("it leads into a private network")


def _private_allowed() -> bool:
    return bool(feature_settings.WEBHOOK_PRIVATE or settings.DEBUG)
