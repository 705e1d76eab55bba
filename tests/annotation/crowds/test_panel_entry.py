"""The door for people whom a panel sends: looking, starting, coming back, wrong links, strangers."""

import csv
import io
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

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.crowds.opening import close_study, open_study
from annotation.crowds.panel.links import PanelIds, link_signature_of, link_signing_key
from annotation.models import Assignment, CrowdSession, Judgment, Participation, RawId, Worker
from common.errors import WrongState
from judgments.models import Study, StudyEvent
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.crowds.framing import Turker, study_at_mturk
from tests.annotation.crowds.panels import (
    ADA,
    BOB,
    do_page,
    entry,
    pages,
    panel_study,
    publication,
    seal_on,
    session,
    start,
)
from tests.installations import Installation
from tests.judgments.desk import do, page, words

pytestmark = pytest.mark.django_db

TABLES = (Worker, Participation, CrowdSession, RawId, Assignment, Judgment)


def rows() -> list[int]:
    """How many rows of a person there are."""
    return [table.objects.count() for table in TABLES]


def test_the_panel_s_link_says_what_the_study_is_what_it_pays_and_asks_for_consent() -> None:
    study = panel_study(hits=2, reward=75, consent="You may **stop** at any time.", seconds_per_unit=60)
    page = entry(study, ADA).content.decode()
    assert "Shapes by triplet" in page
    assert "2 pages of work, each" in page
    assert "about 8 min" in page
    assert "1.50" in page
    assert "You may <strong>stop</strong> at any time." in page
    assert 'name="consent"' in page


def test_looking_at_the_link_writes_nothing_and_sets_no_cookie() -> None:
    study = panel_study()
    events = StudyEvent.objects.count()
    before = rows()
    response = entry(study, ADA)
    assert rows() == before
    assert StudyEvent.objects.count() == events
    assert not response.cookies


LINKS = (
    ({"PROLIFIC_PID": ""}, "“PROLIFIC_PID” is missing in the link"),
    ({"SESSION_ID": " "}, "“SESSION_ID” is missing in the link"),
    (
        {"PROLIFIC_PID": "<script>alert(1)</script>"},
        "“PROLIFIC_PID” in the link that you followed is not a valid id",
    ),
    ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "is not a valid id"),
    ({"PROLIFIC_PID": "a" * 10_000}, "is not a valid id"),
    ({"PROLIFIC_PID": "a\x00b"}, "is not a valid id"),
    ({"PROLIFIC_PID": "zoë"}, "is not a valid id"),
    ({"PROLIFIC_PID": "ada\u202egpj"}, "is not a valid id"),
    ({"SESSION_ID": '=HYPERLINK("x")'}, "“SESSION_ID” in the link"),
    ({"SESSION_ID": "a b"}, "“SESSION_ID” in the link"),
)


def test_a_link_that_does_not_say_who_comes_is_told_in_one_sentence_and_nothing_is_recorded() -> None:
    study = panel_study()
    before = rows()
    for changed, said in LINKS:
        response = entry(study, ADA | changed)
        page = response.content.decode()
        assert response.status_code == 400, changed
        assert said in page
        assert "Nothing was recorded" in page
        assert "<script>alert" not in page
        assert 'name="seal"' not in page
    assert rows() == before


def test_an_odd_id_of_the_study_is_left_out_and_harms_nobody() -> None:
    study = panel_study()
    _, response = start(study, ADA | {"STUDY_ID": "<b>"})
    assert response.status_code == 303
    assert session(study).status == "working"


def test_a_study_without_a_panel_has_no_such_door_and_one_that_is_not_open_says_so() -> None:
    local = make_study(make_dataset("other"), slug="other")
    assert entry(local, ADA).status_code == 404
    waiting = panel_study(opened=False)
    page = entry(waiting, ADA)
    assert "This study is not open yet." in page.content.decode()
    assert not page.cookies


def test_nobody_joins_a_panel_s_study_by_its_plain_link() -> None:
    study = panel_study()
    assert "come from a panel" in Client().get(f"/s/{study.slug}/").content.decode()
    Client().post(f"/s/{study.slug}/", {"name": "ada"})
    refused = Client().post(f"/api/studies/{study.slug}/join/", {"worker": "ada"}, "application/json")
    assert refused.status_code == 403
    assert not Worker.objects.exists()
    assert study.name not in Client().get("/").content.decode()


def test_start_records_a_pseudonym_and_keeps_the_raw_ids_apart() -> None:
    study = panel_study()
    client, response = start(study, ADA)
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/start/")
    ada = Worker.objects.get()
    assert (ada.source, ada.platform) == ("crowd", "external")
    assert ADA["PROLIFIC_PID"] not in ada.name
    found = session(study)
    assert ADA["SESSION_ID"] not in found.external_id
    assert set(RawId.objects.values_list("name", "value")) == {
        ("PROLIFIC_PID", ADA["PROLIFIC_PID"]),
        ("SESSION_ID", ADA["SESSION_ID"]),
    }
    assert client.get(f"/s/{study.slug}/start/").status_code == 200


def test_work_is_taken_for_the_session_and_the_last_page_completes_it() -> None:
    study = panel_study(hits=2)
    client, _ = start(study, ADA)
    do_page(study, client)
    assert session(study).status == "working"
    assert Assignment.objects.filter(session=session(study)).count() == 2
    do_page(study, client)
    done = session(study)
    assert (done.status, done.submitted_at is not None) == ("submitted", True)
    assert len(done.code) == 10
    assert pages(study, "submitted") == 2
    again = client.get(f"/s/{study.slug}/work/")
    assert again["Location"] == f"/s/{study.slug}/panel/end/"
    assert Assignment.objects.count() == 2


def test_consent_is_needed_and_without_it_nothing_is_recorded() -> None:
    study = panel_study(consent="Please agree.")
    before = rows()
    client, refused = start(study, ADA)
    assert refused.status_code == 403
    assert "before you join" in refused.content.decode()
    assert rows() == before
    assert not refused.cookies
    _, agreed = start(study, ADA, client, consent="1")
    assert agreed.status_code == 303
    assert Participation.objects.get().consented_at is not None


def test_who_does_not_agree_goes_back_with_the_code_for_it_and_is_not_recorded() -> None:
    study = panel_study(consent="Please agree.", panel={"codes": {"returned": "NOTHANKS"}})
    before = rows()
    _, response = start(study, ADA, decline="1")
    page = response.content.decode()
    assert "Nothing about you was recorded." in page
    assert "https://app.prolific.com/submissions/complete?cc=NOTHANKS" in page
    assert rows() == before
    assert not response.cookies


def test_a_form_from_another_site_a_changed_seal_and_another_study_s_seal_are_refused() -> None:
    study = panel_study()
    seal = seal_on(entry(study, ADA))
    path = f"/s/{study.slug}/panel/"
    before = rows()
    foreign = Client().post(path, {"seal": seal}, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403
    for wrong in ("", "x", seal[:-1] + ("a" if seal[-1] != "a" else "b"), "\x00", "a" * 10_000):
        assert Client().post(path, {"seal": wrong}).status_code == 400
    other = panel_study(dataset="elsewhere", name="Another", slug="another")
    assert Client().post(f"/s/{other.slug}/panel/", {"seal": seal}).status_code == 400
    assert rows() == before


def test_a_country_is_asked_for_where_the_study_wants_one() -> None:
    study = panel_study(workers={"countries": ["DE"]})
    assert 'name="country"' in entry(study, ADA).content.decode()
    client, odd = start(study, ADA, country="XX")
    assert odd.status_code == 400
    assert not Worker.objects.exists()
    client, response = start(study, ADA, client, country="FR")
    page = client.get(response["Location"]).content.decode()
    assert "There is no work for you in this study" in page
    assert session(study).status == "screened-out"
    _, welcome = start(study, BOB, country="DE")
    assert welcome["Location"].endswith("/start/")


def test_a_person_coming_back_is_the_same_worker_with_the_same_page_in_another_browser_too() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.get(f"/s/{study.slug}/work/")
    held = Assignment.objects.get()
    client.post(f"/s/{study.slug}/work/{held.pk}/save/", {"u1": "1"})
    page = entry(study, ADA)
    assert "Welcome back" in page.content.decode()
    phone, response = start(study, ADA)
    assert response["Location"] == f"/s/{study.slug}/work/"
    assert str(held.pk) in phone.get(response["Location"]).content.decode()
    assert "1" in Assignment.objects.get().answers
    # both browsers go on, and one page of work is submitted once
    assert client.get(f"/s/{study.slug}/work/").status_code == 200
    do_page(study, phone)
    assert (Worker.objects.count(), CrowdSession.objects.count()) == (1, 1)
    assert session(study).status == "submitted"
    late = client.post(f"/s/{study.slug}/work/{held.pk}/submit/", {})
    assert late.status_code in (303, 409, 422)
    assert Judgment.objects.filter(assignment=held, replaces=None).count() == Judgment.objects.count()


def test_start_pressed_twice_or_in_two_windows_makes_one_session() -> None:
    study = panel_study()
    seal = seal_on(entry(study, ADA))
    first, second = (Client().post(f"/s/{study.slug}/panel/", {"seal": seal}) for _ in range(2))
    assert (first.status_code, second.status_code) == (303, 303)
    assert (Worker.objects.count(), CrowdSession.objects.count(), Participation.objects.count()) == (1, 1, 1)


def test_whose_session_ended_gets_the_same_page_again_without_a_cookie() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    done = do_page(study, client).content.decode()
    code = session(study).code
    again = entry(study, ADA)
    for shown in (done, again.content.decode(), client.get(f"/s/{study.slug}/panel/end/").content.decode()):
        assert "All your answers are stored." in shown
        assert f"https://app.prolific.com/submissions/complete?cc={code}" in shown
    assert not again.cookies
    close_study(study=study)
    assert code in entry(study, ADA).content.decode()


def test_somebody_else_s_submission_is_nobody_s_way_in() -> None:
    study = panel_study()
    start(study, ADA)
    before = rows()
    response = entry(study, BOB | {"SESSION_ID": ADA["SESSION_ID"]})
    assert response.status_code == 400
    assert "belongs to somebody else" in response.content.decode()
    assert rows() == before
    assert session(study).status == "working"


def test_another_submission_of_who_is_at_work_takes_the_place_of_the_first() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    client.get(f"/s/{study.slug}/work/")
    start(study, ADA | {"SESSION_ID": "second"}, client)
    assert list(CrowdSession.objects.order_by("pk").values_list("status", flat=True)) == [
        "returned",
        "working",
    ]
    assert Assignment.objects.get().state == "returned"
    do_page(study, client)
    assert CrowdSession.objects.latest("pk").status == "submitted"


def test_who_took_part_before_gets_no_second_pay() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    do_page(study, client)
    _, response = start(study, ADA | {"SESSION_ID": "second"}, client)
    page = client.get(response["Location"]).content.decode()
    assert "You took part in this study before" in page
    assert session(study, status="submitted").code not in page
    assert CrowdSession.objects.latest("pk").status == "returned"


def test_a_stranger_and_a_local_worker_have_no_way_to_somebody_s_end_page() -> None:
    study = panel_study()
    start(study, ADA)
    assert Client().get(f"/s/{study.slug}/panel/end/")["Location"] == f"/s/{study.slug}/"
    local = joined(make_study(make_dataset("other"), slug="other"))
    assert local.client.get(f"/s/{study.slug}/panel/end/")["Location"] == f"/s/{study.slug}/"
    assert local.client.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"}).status_code == 302
    assert session(study).status == "working"


def test_a_panel_s_person_joins_a_local_study_as_somebody_else() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    local = make_study(make_dataset("other"), name="Open to all", slug="open-to-all")
    page = client.get(f"/s/{local.slug}/").content.decode()
    assert Worker.objects.get().name not in page
    client.post(f"/s/{local.slug}/", {"name": "ada"})
    assert Worker.objects.get(name="ada").source == "local"
    assert Participation.objects.filter(study=local).count() == 1


def test_a_panel_s_person_sees_their_work_and_no_codes_that_are_for_others() -> None:
    study = panel_study()
    client, _ = start(study, ADA)
    do_page(study, client)
    page = client.get("/me/").content.decode()
    assert study.name in page
    assert "resume code" not in page
    assert Participation.objects.get().completion_code not in page
    assert ADA["PROLIFIC_PID"] not in page


def test_opening_puts_up_as_many_places_as_sessions_are_needed_and_keeps_their_price() -> None:
    study = panel_study(hits=2, reward=50)
    slots = sum(study.hits.values_list("required", flat=True))
    up = publication(study)
    assert (up.state, up.hit, up.places, up.held_slots) == ("published", None, -(-slots // 2), -(-slots // 2))
    assert (up.reward_cents, up.fee_cents) == (100, 30)
    budget = study.budgets.get()
    assert (budget.reserved_cents, budget.spent_cents) == (up.places * 130, 0)
    open_study(study=study)
    assert study.publications.count() == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"hits": 500}, "500.*of a person's"),
        ({"access": {"join": "code", "code": "a-secret-code"}}, r"access\.join.*open"),
        ({"hits": 2, "workers": {"hits_at_most": 1}}, "may do 1 HITs"),
        ({"budget": 10}, "Nothing was published"),
    ],
)
def test_what_could_not_work_is_said_before_anybody_is_let_in(values: dict[str, Any], said: str) -> None:
    study = panel_study(opened=False, **values)
    with pytest.raises(WrongState, match=said):
        open_study(study=study)
    study.refresh_from_db()
    assert (study.state, study.publications.count()) == ("generated", 0)


def plain(**panel: Any) -> Study:
    return panel_study(preset="plain", panel=panel, judgments_per_unit=1, units_per_hit=20)


class TestSignedLinks:
    def test_only_an_id_with_its_signature_lets_in(self) -> None:
        study = plain(worker="id", signature="sig")
        good = {"id": "ada", "sig": link_signature_of(study, PanelIds(worker="ada"))}
        for wrong in (
            {"id": "ada"},
            {"id": "ada", "sig": "0" * 64},
            good | {"id": "eve"},
            good | {"sig": "ä"},
        ):
            refused = entry(study, wrong)
            assert refused.status_code == 400
            assert "is not complete" in refused.content.decode()
        browser, _ = start(study, good)
        do_page(study, browser)
        assert session(study).status == "submitted"

    def test_the_panel_s_page_makes_links_and_shows_the_key_to_who_may_change_the_study(
        self, designer: Client
    ) -> None:
        study = plain(worker="id", signature="sig")
        assert link_signing_key(study) in designer.get(page(study, "panel")).content.decode()
        form = {"page": "panel", "people": "ada\nben\n\nada"}
        made = designer.post(do(study, "signed-links"), form).content.decode()
        rows = list(csv.DictReader(io.StringIO(made)))
        assert [row["id"] for row in rows] == ["ada", "ben"]
        assert Client().get(rows[1]["link"]).status_code == 200
        wrong = designer.post(do(study, "signed-links"), form | {"people": "a b"}, follow=True)
        assert "'a b' is no id" in words(wrong)


def test_one_address_enters_with_so_many_ids_in_a_while(settings: Settings) -> None:
    settings.LIMITS = settings.LIMITS | {"join": "1/10 minutes"}
    crowd, study = study_at_mturk(), panel_study(dataset="more-shapes", slug="panel-study")
    for number, status in ((1, 200), (2, 429), (1, 200)):
        turker = Turker(crowd, worker_id=f"A1{number}", assignment_id=f"3A{number}")
        turker.client = Client(REMOTE_ADDR="198.51.100.201")
        assert turker.arrive().status_code == status
    for ids, status in ((ADA, 303), (BOB, 429), (ADA, 303)):
        _, answer = start(study, ids, Client(REMOTE_ADDR="198.51.100.201"))
        assert answer.status_code == status


PEOPLE, SLOTS = 12, 5

MAKE_STUDY = """
from annotation.crowds.opening import open_study
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
from annotation.crowds.opening import close_study
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
    assert int(site.python(MAKE_STUDY).splitlines()[-1]) == SLOTS
    with ThreadPoolExecutor(max_workers=2 * PEOPLE) as crowd:
        arrivals = [number for number in range(PEOPLE) for _browser in "ab"]
        met = sum(crowd.map(lambda number: take_part(site.url, number), arrivals), Counter[int]())
    # 409: the page was handed in in the other browser, or all places were taken by people who had not begun
    assert set(met) <= {200, 409, 422}, met
    for number in range(PEOPLE):
        take_part(site.url, number)
    found: dict[str, Any] = json.loads(site.python(AUDIT).splitlines()[-1])
    assert found["workers"] == PEOPLE
    assert found["sessions"] == {"submitted": SLOTS, "full": PEOPLE - SLOTS}
    assert found["assignments"]["approved"] == SLOTS
    assert set(found["assignments"]) <= {"approved", "returned"}
    assert found["judgments"] == found["units"]
    assert (found["spent"], found["reserved"]) == (SLOTS * 50, 0)
    assert found["books"] == [0, SLOTS * 50, 0]
