"""The emulator over HTTP, on a port of its own, in a thread."""

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
    """A running emulator; use it in a ``with``. Its rows are ``world``; ``calls`` counts what was carried out.

    Everything that touches the rows holds ``lock``: tests that act while calls may be under way take it too.
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
        """What PROLIFIC_API_URL is set to."""
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
        """A participant takes a place: the submission's id and the address they are sent to."""
        with self.lock:
            return self.world.enter(study, participant)

    def come_back(self, submission: str, code: str | None) -> None:
        """A participant returns with a completion code, or without one."""
        with self.lock:
            self.world.come_back(submission, code)

    def carry_out(self, method: str, target: str, token: str, body: Any) -> Answer:
        """One call that arrived, without what may go wrong on the way."""
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
        """The operation that a call means."""
        for verb, pattern, operation, endpoint in ROUTES:
            found = re.fullmatch(f"/api/v1/{pattern}", path)
            if verb == method and found:
                return operation, endpoint, found.groups()
        raise Refusal(f"Not found: {method} {path}", status=404, code=140001)

    def operation(self, method: str, path: str) -> str:
        """Its name alone, for the faults."""
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
    wbufsize = -1  # the head and the body leave together

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """The library looks for a method named after each verb; all of them are one."""
        self._meet()

    def do_POST(self) -> None:
        self._meet()

    def do_PATCH(self) -> None:
        self._meet()

    def do_DELETE(self) -> None:
        self._meet()

    def _meet(self) -> None:
        emulator = self.server.emulator
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = emulator.faults.draw(emulator.operation(self.command, urlsplit(self.path).path))
        if fault is Fault.DROP_BEFORE:
            return self._drop()
        if fault is Fault.ERROR_BEFORE:
            return self._say(500, {"detail": "Internal server error"})
        if fault is Fault.THROTTLE:
            waiting = {"Retry-After": str(emulator.faults.retry_after)}
            return self._say(429, {"detail": "Request was throttled."}, waiting)
        body = json.loads(raw) if raw else None
        token = self.headers.get("Authorization", "")
        status, answer, *more = emulator.carry_out(self.command, self.path, token, body)
        if fault is Fault.DROP_AFTER:
            return self._drop()
        if fault is Fault.ERROR_AFTER:
            return self._say(502, {"detail": "Bad gateway"})
        headers = more[0] if more else None
        return self._say(status, answer, headers, cut_short=fault is Fault.CUT_SHORT)

    def _say(
        self, status: int, answer: object, headers: dict[str, str] | None = None, *, cut_short: bool = False
    ) -> None:
        kept = isinstance(answer, str) and (headers or {}).get("Content-Type") == "text/csv"
        content = b"" if answer is None else (str(answer) if kept else json.dumps(answer)).encode()
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
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
