"""HTTP: one port for the requester's API, the workers' site and queues."""

import contextlib
import socket
import sys
import threading
import time
import uuid
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from tests.fakes.mturk.replies import Reply
from tests.fakes.mturk.service import Service
from tests.fakes.mturk.web import Web, visit

LARGEST_BODY = 2_000_000


class Parts(Protocol):
    """What a server hands its requests to."""

    service: Service
    web: Web


class Server(ThreadingHTTPServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, parts: Parts) -> None:
        self.parts = parts
        self.failures: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def close(self) -> None:
        """Stops listening, and ends the connections that clients keep alive."""
        self.shutdown()
        self.server_close()
        with self._lock:
            kept = list(self._open)
        for connection in kept:
            with contextlib.suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any
    ) -> None:
        """A connection is opened."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """A connection is closed."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A client that went away is nothing to report; anything else is a mistake of the emulator,
        which the end of its context reports."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError | TimeoutError):
            self.failures.append(error)


class Handler(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Pages."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Calls and forms."""
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            self._send(Reply(413, b"", "text/plain"))
            return
        self._answer(self.rfile.read(length))

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing; what happened is in the log of the service."""

    def _answer(self, body: bytes) -> None:
        parts = self.server.parts
        target = self.headers.get("X-Amz-Target")
        if target:
            self._send(parts.service.call(target, body, self.headers.get("Authorization", "")))
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(parts.web.answer(visit(self.command, self.path, headers, body)))

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            time.sleep(reply.delay)
        if reply.drop:
            self._hang_up()
            return
        promised = len(reply.body) if reply.promised is None else reply.promised
        headers = {
            "Content-Type": reply.content_type,
            "Content-Length": str(promised),
            "x-amzn-RequestId": str(uuid.uuid4()),
            "Date": format_datetime(datetime.now(UTC), usegmt=True),
        } | reply.headers
        lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines) + "\r\n\r\n"
        self.wfile.write(head.encode("latin-1") + reply.body)  # in one piece: two would wait for each other
        if promised != len(reply.body):
            self._hang_up()

    def _hang_up(self) -> None:
        """Closes the connection without another word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
