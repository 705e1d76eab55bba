"""A panel's own site, as small as it can be: a page that sends a person to a study, and the address that takes them
back. It keeps what came back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

PAGE = "<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1>{body}</html>"


@dataclass
class FakePanel:
    """Where it stands, and what came back: the parameters of each return, in order."""

    url: str = ""
    returns: list[dict[str, str]] = field(default_factory=list)

    def sends(self, link: str) -> str:
        """The address of its page with a link to a study."""
        return f"{self.url}/study?{link}"


@contextmanager
def fake_panel() -> Iterator[FakePanel]:
    """Running on a free port of this machine until the block ends."""
    panel = FakePanel()

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the server's own name for it
            parts = urlsplit(self.path)
            if parts.path == "/study":
                body = f'<a href="{escape(parts.query)}">Take part</a>'
                self._say("A study", body)
            elif parts.path == "/back":
                given = {name: values[0] for name, values in parse_qs(parts.query).items()}
                panel.returns.append(given)
                self._say("Welcome back", f"<p>Your code is {escape(given.get('cc', ''))}.</p>")
            else:
                self.send_error(404)

        def _say(self, title: str, body: str) -> None:
            content = PAGE.format(title=title, body=body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    panel.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield panel
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
