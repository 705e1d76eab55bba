"""People at work while the ground shakes: some here by the API, some in the frame of the emulated Mechanical Turk."""

import http.client
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crowd import Person, Server, first_answers
from tests.fakes.mturk import Turker
from tests.fakes.mturk.turker import Refused
from tests.installations import PATIENCE

FORM = re.compile(r'<form method="post" [^>]*action="([^"]+)" data-assignment')
NOT_YET = (
    "load the page again in a minute"  # the crowd has a HIT whose id was not booked here before the kill
)
PAUSE = 0.4  # seconds of thought at most


@dataclass
class Frame:
    """A browser's frame: the page that it shows. It is loaded again while the server is away."""

    url: str
    html: str = ""

    def open(self, url: str, fields: dict[str, str] | None = None) -> None:
        body = None if fields is None else urllib.parse.urlencode(fields).encode()
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(urllib.parse.urljoin(self.url, url), body, PATIENCE) as reply:
                    self.html, self.url = reply.read().decode(), reply.url
                return
            except urllib.error.HTTPError as error:
                with error:
                    page = error.read().decode()
                if error.code != 503 and NOT_YET not in page:
                    raise AssertionError(f"{error.code} at {url}: {page[-2000:]}") from None
            except (OSError, http.client.HTTPException):
                pass
            assert time.monotonic() < end, f"{url} is away"
            time.sleep(0.1)

    def work(self) -> str:
        """Go to the page of work; the address of its form."""
        if self.url.endswith("/start/"):  # what there is to read for who is new
            self.open(re.sub("/start/$", "/work/", self.url))
        found = FORM.search(self.html)
        assert found is not None, self.html
        return found[1]


@dataclass
class Turk:
    """A worker of Mechanical Turk, with the mishaps of people; ``said`` counts what they did.

    Their pages come from ``server``, as if a proxy had chosen it.
    """

    turker: Turker
    seed: int
    server: Server
    said: Counter[str] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)

    def take_part(self, is_over: Callable[[], bool]) -> None:
        """Do what is to be had until all is published and taken."""
        rng, seen, end = random.Random(self.seed), set[str](), time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < end, "not all was published: does the worker live?"
            over = is_over()
            there = [hit for hit in self.turker.hits() if hit not in seen]
            if not there and over:
                return
            if there:
                seen.add(hit := rng.choice(there))
                self._do(hit, rng)
            time.sleep(rng.uniform(0, PAUSE))

    def _do(self, hit: str, rng: random.Random) -> None:
        try:
            taken = self.turker.accept(hit)
        except Refused:  # somebody was quicker
            return
        url = urllib.parse.urljoin(
            self.server.url, urllib.parse.urlsplit(taken.url)._replace(scheme="", netloc="").geturl()
        )
        frame, what = Frame(url), rng.random()
        frame.open(url)
        form, fields = frame.work(), first_answers(frame.html)
        time.sleep(rng.uniform(0, PAUSE))
        if what < 0.04:  # another one gets the id
            self.turker.return_(taken.assignment_id)
            self.said["returned"] += 1
        elif what < 0.08:  # the page's last post to us was lost, the one to the crowd was not
            frame.open(form.replace("/submit/", "/save/"), fields)
            self._post(taken.assignment_id)
            self.said["saved"] += 1
        elif what < 0.10:
            self.said["abandoned"] += 1
        else:
            frame.open(form, fields)
            assert frame.url.endswith("/finish/"), frame.url
            self.acknowledged.append(taken.assignment_id)
            if what < 0.14:  # the post to the crowd was lost
                self.said["unposted"] += 1
            else:
                self._post(taken.assignment_id)
                self.said["done"] += 1

    def _post(self, assignment_id: str) -> None:
        self.turker.submit(assignment_id, {"receipt": "x"})


def take_part_here(person: Person, seed: int) -> None:
    rng = random.Random(seed)
    person.join()
    person.work(lambda: time.sleep(rng.uniform(0, PAUSE)))
