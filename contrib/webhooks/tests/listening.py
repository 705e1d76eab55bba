"""A program that listens to webhooks, over real sockets, and can misbehave."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Heard:
    """A message as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        """The message."""
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class Listener:
    """What it heard, and how it answers.

    Attributes:
        status: of its answers.
        more: headers of its answers.
        before: done before an answer, as something that kills the sender.
        hangs: whether it sends a byte of an answer now and then and never all of one.
    """

    url: str = ""
    status: int = 200
    more: dict[str, str] = field(default_factory=dict)
    before: Callable[[], None] | None = None
    hangs: bool = False
    heard: list[Heard] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def listening() -> Iterator[Listener]:
    """Listens on a free loopback port."""
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            listener.heard.append(Heard(headers, body))
            if listener.before is not None:
                listener.before()
            if listener.hangs:
                self.wfile.write(b"HTTP/1.1 2")
                while not listener.over.wait(0.05):
                    try:
                        self.wfile.write(b"0")
                        self.wfile.flush()
                    except OSError:
                        return
                return
            try:
                self.send_response(listener.status)
                for name, value in listener.more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
            except OSError:
                return  # whoever asked is gone

        def log_message(self, *_: Any) -> None:
            """Nothing: tests read ``heard``."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.url = f"http://127.0.0.1:{server.server_address[1]}/hook?key=1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        listener.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
