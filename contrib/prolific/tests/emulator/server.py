"""Serve the emulator over HTTP, on a port of its own, in a thread."""

import json
import re
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from contrib.prolific.tests.emulator.api import ROUTES, Answer, Endpoint
from contrib.prolific.tests.emulator.faults import Fault, Faults
from contrib.prolific.tests.emulator.world import Refusal, World

TOKEN = "emulated-token"


class ProlificEmulator:
    """An emulator that runs within a ``with`` block.

    Attributes:
        world: the rows.
        faults: what goes wrong with calls.
        lock: held while rows are read or changed. Tests that act while calls may be running must hold it, too.
        calls: how often each operation was carried out.
    """

    def __init__(self, world: World | None = None, faults: Faults | None = None, *, port: int = 0) -> None:
        self.world = world or World()
        self.faults = faults or Faults()
        self.token = TOKEN
        self.lock = threading.RLock()
        self.calls: Counter[str] = Counter()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.emulator = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The value for the setting PROLIFIC_API_URL."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "ProlificEmulator":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def enter(self, study: str, participant: str) -> tuple[str, str]:
        """Let a participant take a place. Return the submission's id, and the address to which they are sent."""
        with self.lock:
            return self.world.enter(study, participant)

    def come_back(self, submission: str, code: str | None) -> None:
        """Let a participant return with a completion code, or without one."""
        with self.lock:
            self.world.come_back(submission, code)

    def carry_out(self, method: str, target: str, token: str, body: Any) -> Answer:
        """Carry out a call that has arrived, and return the response."""
        parts = urlsplit(target)
        with self.lock:
            try:
                if token != f"Token {self.token}":
                    raise Refusal(f"Invalid token: {token}", status=401, code=140002)
                operation, endpoint, path = self.route(method, parts.path)
                self.world.settle()
                answer = endpoint(self.world, path, dict(parse_qsl(parts.query)), body or {})
                self.calls[operation] += 1
                return answer
            except Refusal as refusal:
                return refusal.status, refusal.body

    def route(self, method: str, path: str) -> tuple[str, Endpoint, tuple[str, ...]]:
        """Return the name of a call's operation, its endpoint, and the ids in its path."""
        for verb, pattern, operation, endpoint in ROUTES:
            found = re.fullmatch(f"/api/v1/{pattern}", path)
            if verb == method and found:
                return operation, endpoint, found.groups()
        raise Refusal(f"Not found: {method} {path}", status=404, code=140001)

    def operation_name(self, method: str, path: str) -> str:
        """Return the name of a call's operation, for the faults; "unknown" if there is none."""
        try:
            return self.route(method, path)[0]
        except Refusal:
            return "unknown"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    emulator: ProlificEmulator


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # buffered, so that head and body are sent together

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Handle a request. The library looks for a method named after each HTTP method; all do the same."""
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def _handle(self) -> None:
        """Draw a fault for the request, and answer it, carry it out, or drop the connection accordingly."""
        emulator = self.server.emulator
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = emulator.faults.draw(emulator.operation_name(self.command, urlsplit(self.path).path))
        if fault is Fault.DROP_BEFORE:
            return self._drop()
        if fault is Fault.ERROR_BEFORE:
            return self._respond(500, {"detail": "Internal server error"})
        if fault is Fault.THROTTLE:
            retry_header = {"Retry-After": str(emulator.faults.retry_after)}
            return self._respond(429, {"detail": "Request was throttled."}, retry_header)
        body = json.loads(raw) if raw else None
        token = self.headers.get("Authorization", "")
        status, answer, *headers_of_answer = emulator.carry_out(self.command, self.path, token, body)
        if fault is Fault.DROP_AFTER:
            return self._drop()
        if fault is Fault.ERROR_AFTER:
            return self._respond(502, {"detail": "Bad gateway"})
        headers = headers_of_answer[0] if headers_of_answer else None
        return self._respond(status, answer, headers, cut_short=fault is Fault.CUT_SHORT)

    def _respond(
        self, status: int, answer: object, headers: dict[str, str] | None = None, *, cut_short: bool = False
    ) -> None:
        is_csv = isinstance(answer, str) and (headers or {}).get("Content-Type") == "text/csv"
        content = b"" if answer is None else (str(answer) if is_csv else json.dumps(answer)).encode()
        if cut_short:
            content = content[: len(content) // 2]
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _drop(self) -> None:
        """Close the connection without an answer."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
