"""Accounts that upload files on the pages: one tables of 20 kB, another files that fill memory or time."""

import html.parser
import http.client
import http.cookiejar
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from urllib3.filepost import encode_multipart_formdata

from tests.bombs import BOMBS
from tests.crowd import Server
from tests.installations import PATIENCE

ADD = "/admin/judgments/dataset/add/"
HOSTILE = (
    "one-string.parquet",
    "list.parquet",
    "texts.xlsx",
    "gzip-line-feeds.csv",
    "gzip-one-entry.json.gz",
    "deep.jsonl",
    "many-columns.csv",
    "gzip-in-zip.zip",
)
JOB = re.compile("/judgments/job/([0-9]+)/change/$")
ROWS = 500  # of a table of 20 kB
PAUSE = 1.0  # seconds between two uploads at most


class ObjectNotFound(Exception):
    """A page is answered with status 404."""


class Unfollowed(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to who asked: what was posted is answered, and only the page behind it may have to wait."""

    def redirect_request(self, *_: object) -> None:
        return None


class Form(html.parser.HTMLParser):
    """The fields that a browser would send of the form with a field ``upload``."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._open: dict[str, str] = {}
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        name, value = values.get("name") or "", values.get("value") or ""
        if tag == "form":
            self._open = {}
        elif tag == "input" and values.get("type") not in ("submit", "file"):
            if values.get("type") not in ("checkbox", "radio") or "checked" in values:
                self._open[name] = value
        elif tag == "select":
            self._select = name
        elif tag == "option" and ("selected" in values or self._select not in self._open):
            self._open[self._select] = value
        elif tag == "textarea":
            self._open[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and "upload" in self._open:
            self.fields = self._open


@dataclass
class Uploader:
    """A researcher's browser, signed in.

    Attributes:
        datasets: names of the datasets whose import was acknowledged.
        uploads: how many files were taken or refused with a page.
    """

    server: Server
    account: str
    datasets: list[str] = field(default_factory=list)
    uploads: int = 0

    def __post_init__(self) -> None:
        self._cookies = http.cookiejar.CookieJar()
        self._browser = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self._cookies), Unfollowed()
        )

    def sign_in(self) -> None:
        self._open("/admin/login/")
        self._post("/admin/login/", {"username": self.account, "password": self.account})

    def upload_tables(self, is_over: Callable[[], bool], rng: random.Random) -> None:
        """Upload and import one table of 20 kB after the other."""
        self.sign_in()
        while not is_over():
            name = f"{self.account}-{self.uploads}"
            url, page = self._post(ADD, {}, (f"{name}.csv", table()))
            self.uploads += 1
            if job := JOB.search(url):
                url, page = self._look_until_done(job[1])
            fields = Form(page).fields
            assert fields, words(url, page)
            url, page = self._post(ADD, fields | {"name": name})
            # An acknowledgement that a kill took away is followed by the page that asks for the files again.
            if JOB.search(url):
                self.datasets.append(name)
            time.sleep(rng.uniform(0, PAUSE))

    def upload_bombs(self, is_over: Callable[[], bool], rng: random.Random) -> None:
        """Upload files that fill the memory or the time of who reads them carelessly."""
        files = hostile_files()
        self.sign_in()
        while not is_over():
            name = rng.choice(HOSTILE)
            self._post(ADD, {}, (name, files[name]))
            self.uploads += 1
            time.sleep(rng.uniform(0, PAUSE))

    def _look_until_done(self, job: str) -> tuple[str, str]:
        """Return the page of what a job understood, when it is there."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self._open(f"{ADD}?job={job}")
            except ObjectNotFound:
                assert time.monotonic() < end, f"job {job} does not end"
                time.sleep(0.2)

    def _post(
        self, path: str, fields: dict[str, str], file: tuple[str, bytes] | None = None
    ) -> tuple[str, str]:
        token = next(one.value for one in self._cookies if one.name.startswith("csrf"))
        sent: dict[str, str | tuple[str, bytes]] = {**fields, "csrfmiddlewaretoken": token or ""}
        body, kind = encode_multipart_formdata(sent | ({"files": file} if file else {}))
        return self._open(path, body, kind)

    def _open(self, path: str, body: bytes | None = None, kind: str = "") -> tuple[str, str]:
        """Return the address and the text of the page; ask again while the server is away."""
        end = time.monotonic() + PATIENCE
        while True:
            url = urllib.parse.urljoin(self.server.url, path)
            headers = {"Content-Type": kind, "Referer": url} if body else {}
            try:
                with self._browser.open(
                    urllib.request.Request(url, body, headers), timeout=PATIENCE
                ) as reply:
                    return reply.url, reply.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    page = error.read().decode()
                if error.code == 302:
                    path, body = error.headers["Location"], None
                    continue
                if error.code == 404:
                    raise ObjectNotFound(path) from None
                if error.code != 503:
                    raise AssertionError(words(f"{error.code} at {path}", page)) from None
            except (OSError, http.client.HTTPException):
                pass
            assert time.monotonic() < end, f"{path} is away"
            time.sleep(0.1)


@cache
def hostile_files() -> dict[str, bytes]:
    return {name: BOMBS[name]() for name in HOSTILE}


def table() -> bytes:
    rows = (f"{number}.jpg,A shape that is number {number} of all.\n" for number in range(ROWS))
    return ("image,caption\n" + "".join(rows)).encode()


def words(where: str, page: str) -> str:
    """Return what a page says, for a message."""
    return f"{where}: {' '.join(re.sub('<[^>]*>', ' ', page).split())[:2000]}"
