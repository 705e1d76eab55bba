"""More people than places arrive at once, each in two browsers, at real server processes on both kinds of database."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from typing import Any

from tests.installations import Installation

PEOPLE, PLACES = 12, 5
MAKE_STUDY = """
from annotation.crowds.publishing import open_study
from tests.annotation.casting import make_dataset, make_study

study = make_study(
    make_dataset(pictures=False), opened=False, slug="rush", judgments_per_unit=1, units_per_hit=3,
    controls={"per_hit": 0}, sampling={"pairs": {"MM": 5}, "references": 3},
    crowd={"backend": "external", "reward_cents": 50, "budget_cents": 100000}, panel={"preset": "prolific"},
)
open_study(study=study)
print(study.publications.get().places)
"""
AUDIT = """
import json
from collections import Counter
from annotation.models import Assignment, CrowdSession, Judgment, Worker
from annotation.money.ledger import ledger_sums, reserved_cents
from annotation.money.payments import decide_session
from annotation.crowds.publishing import close_study
from judgments.models import Study

study = Study.objects.get()
sessions = Counter(CrowdSession.objects.values_list("status", flat=True))
for session in CrowdSession.objects.filter(status="submitted"):
    decide_session(session=session, approve=True)
close_study(study=study)
budget = study.budgets.get()
print(json.dumps({
    "sessions": sessions, "workers": Worker.objects.count(),
    "assignments": Counter(Assignment.objects.values_list("state", flat=True)),
    "judgments": Judgment.objects.count(), "units": study.units.count(),
    "spent": budget.spent_cents, "reserved": budget.reserved_cents,
    "books": [*ledger_sums(budget), reserved_cents(budget)],
}))
"""


class Visitor:
    """A browser without scripts."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> tuple[int, str]:
        return self._open(urllib.request.Request(self.url + path))

    def post(self, path: str, fields: dict[str, str]) -> tuple[int, str]:
        body = urllib.parse.urlencode(fields).encode()
        return self._open(urllib.request.Request(self.url + path, data=body))

    def _open(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self.opener.open(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


def take_part(url: str, number: int) -> Counter[int]:
    """Arrive, start, and hand in the page of work there is; the statuses met on the way."""
    visitor, met = Visitor(url), Counter[int]()

    def kept(answer: tuple[int, str]) -> str:
        met[answer[0]] += 1
        return answer[1]

    page = kept(visitor.get(f"/s/rush/panel/?PROLIFIC_PID=person{number}&SESSION_ID=session{number}"))
    seal = re.search(r'name="seal" value="([^"]+)"', page)
    if seal is None:  # this person's other browser was faster
        return met
    kept(visitor.post("/s/rush/panel/", {"seal": seal[1]}))
    page = kept(visitor.get("/s/rush/work/"))
    form = re.search(r"(/s/rush/work/[0-9a-f-]{36}/submit/)", page)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    if form is None or token is None:
        return met
    fields = dict(re.findall(r'<input type="radio" name="([^"]+)" value="(1)"', page))
    kept(visitor.post(form[1], fields | {"csrfmiddlewaretoken": token[1]}))
    return met


def test_no_more_people_than_places_are_let_in_and_the_books_agree_to_the_cent(
    live_server_on: Callable[[str], Installation], database: str
) -> None:
    site = live_server_on(database)
    assert int(site.python(MAKE_STUDY).splitlines()[-1]) == PLACES
    with ThreadPoolExecutor(max_workers=2 * PEOPLE) as crowd:
        arrivals = [number for number in range(PEOPLE) for _browser in "ab"]
        met = sum(crowd.map(lambda number: take_part(site.url, number), arrivals), Counter[int]())
    # 409: the page was handed in in the other browser, or all places were taken by people who had not begun
    assert set(met) <= {200, 409, 422}, met
    for number in range(PEOPLE):
        take_part(site.url, number)
    found: dict[str, Any] = json.loads(site.python(AUDIT).splitlines()[-1])
    assert found["workers"] == PEOPLE
    assert found["sessions"] == {"submitted": PLACES, "full": PEOPLE - PLACES}
    assert found["assignments"]["approved"] == PLACES
    assert set(found["assignments"]) <= {"approved", "returned"}
    assert found["judgments"] == found["units"]
    assert (found["spent"], found["reserved"]) == (PLACES * 50, 0)
    assert found["books"] == [0, PLACES * 50, 0]
