"""An emulator of an OpenAI-compatible endpoint, POST /v1/chat/completions, and of what goes wrong with one.

Rules come from OpenAI's public reference of chat completions: the body's `model` and `messages`, the answer's
`choices[0].message.content` and `usage`; errors as `{"error": {"message": ...}}`.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

KEY = "sk-secret-0123456789"
TOKENS_IN, TOKENS_OUT = 40, 2

# What is wrong with one call: a status, or one of these.
HANG_UP, NO_JSON, NO_CHOICES = "hang up after it was served", "no JSON", "no choices"


@dataclass
class FakeChat:
    """A model that `answers` by what it is asked, and the calls it got, in order.

    Attributes:
        faults: what is wrong with the next calls, one after the other; None for a call that goes well.
        served: bodies that it answered and would charge for.
    """

    answers: Callable[[dict[str, Any]], str]
    url: str = ""
    faults: list[Any] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    served: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    tokens_in: int = TOKENS_IN
    during: Callable[[], None] = lambda: None
    lock: Any = field(default_factory=Lock)


@contextmanager
def fake_chat(answers: Callable[[dict[str, Any]], str]) -> Iterator[FakeChat]:
    """Running on a free port of this machine until the block ends."""
    chat = FakeChat(answers)

    class Site(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the server's own name for it
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with chat.lock:
                chat.calls.append(body)
                chat.names.append(self.headers["Idempotency-Key"])
                fault = chat.faults.pop(0) if chat.faults else None
            if self.path != "/v1/chat/completions":
                return self._say(404, {"error": {"message": f"no {self.path}"}})
            if self.headers["Authorization"] != f"Bearer {KEY}":
                told = self.headers["Authorization"].removeprefix("Bearer ")
                return self._say(401, {"error": {"message": f"Incorrect API key provided: {told}."}})
            if isinstance(fault, int):
                return self._say(fault, {"error": {"message": "not now"}})
            with chat.lock:
                chat.served.append(body)
                chat.during()
            if fault == HANG_UP:
                return self.connection.close()
            if fault == NO_JSON:
                return self._send(200, b"<html>a proxy's page</html>")
            if fault == NO_CHOICES:
                return self._say(200, {"choices": []})
            if isinstance(fault, dict) and "sends" in fault:
                return self._send(200, fault["sends"])
            text = fault["says"] if isinstance(fault, dict) else chat.answers(body)
            return self._say(
                200,
                {
                    "model": f"{body['model']}-2026-01",
                    "choices": [{"message": {"role": "assistant", "content": text}}],
                    "usage": {"prompt_tokens": chat.tokens_in, "completion_tokens": TOKENS_OUT},
                },
            )

        def _say(self, status: int, body: Any) -> None:
            self._send(status, json.dumps(body).encode())

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
