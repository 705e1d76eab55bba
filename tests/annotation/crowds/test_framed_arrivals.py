"""What Mechanical Turk's frame loads first, by one person and by many at once; and what it keeps to itself."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.urls import get_script_prefix, reverse

from annotation.crowds.mturk.frames import SALT, new_ticket
from annotation.models import Assignment, CrowdSession, Judgment, Participation, Publication, RawId, Worker
from annotation.quality.exclusions import pause_worker
from judgments.models import HIT, Study, StudyEvent
from judgments.studies.studies import mark_closed
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.crowds.framing import PREVIEW, SITE, Turker, first_publication, publish, study_at_mturk
from tests.crowd import all_at_once
from tests.doors import signed_in
from tests.installations import Installation

pytestmark = pytest.mark.django_db

ROWS = (Assignment, CrowdSession, Judgment, Participation, RawId, StudyEvent, Worker)


def recorded() -> list[int]:
    return [model.objects.count() for model in ROWS] + [
        HIT.objects.filter(open_slots__gt=0).count(),
    ]


@pytest.fixture
def study() -> Study:
    return study_at_mturk(instructions="Judge *what is described*.", examples=[EXAMPLE])


EXAMPLE = {
    "scene": "A dog on a bench.",
    "image": "secret-file-07.jpg",
    "shown": ["A dog sits.", "A dog on a bench.", "A cat."],
    "answer": "The first one",
    "why": "It says the same.",
}


def previewed(study: Study) -> str:
    return f"/s/{study.slug}/mturk/?assignmentId={PREVIEW}&hitId={first_publication(study).external_id}"


def test_a_preview_shows_an_example_and_writes_nothing(study: Study, client: Client) -> None:
    before = recorded()
    response = client.get(previewed(study))
    html = response.content.decode()
    assert response.status_code == 200
    assert "Accept the HIT to begin." in html
    assert "A dog on a bench." in html
    assert "<em>what is described</em>" in html
    assert "<form" not in html
    assert "<button" not in html
    assert recorded() == before


def test_a_preview_shows_nothing_of_a_unit_and_the_picture_of_the_example_alone(
    study: Study, client: Client
) -> None:
    html = client.get(previewed(study)).content.decode()
    texts = set(study.dataset.captions.values_list("text", flat=True))
    assert texts
    assert not [text for text in texts if text in html]
    assert "/pictures/" not in html
    found = re.search(r'<img src="([^"]+)"', html)
    assert found is not None
    shown = client.get(found[1])
    assert shown.status_code == 200
    shown.close()
    mark_closed(study=study)
    assert client.get(found[1]).status_code == 404


def test_an_example_of_a_study_that_is_not_at_a_crowd_stays_with_its_workers(client: Client) -> None:
    local = make_study(make_dataset(), examples=[EXAMPLE])
    assert client.get(f"/s/{local.slug}/examples/1/picture/").status_code == 404


def test_whoever_has_no_assignment_sees_the_preview(study: Study, client: Client) -> None:
    before = recorded()
    for query in ("", "assignmentId=", f"assignmentId={PREVIEW}&workerId=A1", "assignmentId=3A&hitId=3H"):
        response = client.get(f"/s/{study.slug}/mturk/?{query}")
        assert response.status_code == 200, query
        assert "Accept the HIT to begin." in response.content.decode(), query
    assert recorded() == before


def test_a_foreign_turk_submit_to_is_refused_and_nothing_recorded(study: Study) -> None:
    before = recorded()
    for site in (
        "",
        "https://evil.example",
        "https://workersandbox.mturk.com.evil.example",
        "https://workersandbox.mturk.com@evil.example",
        "https://evil.example/https://workersandbox.mturk.com",
        "https://workersandbox.mturk.com/elsewhere",
        "http://workersandbox.mturk.com",
        "https://workersandbox.mturk.com:444",
        "https://www.mturk.com",
        "javascript:alert(1)",
        "https://[",
        "//workersandbox.mturk.com",
    ):
        response = Turker(study, site=site).arrive()
        assert response.status_code == 403, site
        html = response.content.decode()
        assert "Nothing was recorded" in html, site
        assert "<form" not in html, site
    assert recorded() == before


def test_the_sandbox_takes_no_live_worker_and_the_other_way_round() -> None:
    live = study_at_mturk(platform="mturk-live")
    assert Turker(live).arrive().status_code == 403
    assert Turker(live, site="https://www.mturk.com").arrive().status_code == 200


def test_a_slash_at_the_end_of_turk_submit_to_is_no_other_site(study: Study) -> None:
    assert Turker(study, site=f"{SITE}/").arrive().status_code == 200


def test_made_up_hits_of_others_and_of_another_place_are_refused(study: Study) -> None:
    other = study_at_mturk(make_dataset("others"), slug="other")
    elsewhere = publish(study, study.hits.all()[1], platform="mturk-live", external_id="3LIVE", token="live")
    planned = publish(study, study.hits.all()[2], state="withdrawn", external_id="3GONE", token="gone")
    before = recorded()
    for hit in ("3MADEUP", first_publication(other).external_id, elsewhere.external_id, planned.external_id):
        response = Turker(study).arrive(hitId=hit)
        assert response.status_code == 403, hit
        assert "this HIT is not open in this study" in response.content.decode()
    assert recorded() == before


def test_ids_of_another_form_and_a_parameter_that_stands_there_twice_are_refused(study: Study) -> None:
    before = recorded()
    for name in ("assignmentId", "workerId", "hitId"):
        for value in ("<script>", "A" * 65, "A B", "Ä", "A\x00", "../..", "A'--"):
            response = Turker(study).arrive(**{name: value})
            assert response.status_code == 403, (name, value)
            assert value not in response.content.decode(), (name, value)
    assert recorded() == before
    turker = Turker(study)
    before = recorded()
    response = turker.client.get(f"{turker.entry()}&turkSubmitTo={quote('https://evil.example')}")
    assert response.status_code == 403
    assert recorded() == before


def test_a_study_that_is_not_at_mechanical_turk_has_no_such_page() -> None:
    local = make_study(make_dataset())
    assert Client().get(f"/s/{local.slug}/mturk/").status_code == 404
    assert Client().get("/s/nowhere/mturk/").status_code == 404


def test_who_accepts_a_hit_gets_its_page_and_a_session(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    assert work.prefix.startswith("/f/")
    assert ada.session.status == "working"
    assert not ada.session.confirmed
    assert ada.session.platform == "mturk-sandbox"
    assert ada.session.publication == ada.publication
    assert ada.assignment.hit == ada.publication.hit
    assert ada.assignment.external_id == ada.assignment_id
    assert Worker.objects.get().name.startswith("p-")
    assert not Worker.objects.get().token_hash


def test_consent_is_asked_in_the_frame_before_anything_is_recorded() -> None:
    study = study_at_mturk(consent="You may **stop** at any time.")
    ada = Turker(study)
    before = recorded()
    response = ada.arrive()
    assert response.status_code == 200
    assert "<strong>stop</strong>" in response.content.decode()
    assert recorded() == before
    refused = ada.client.post(ada.entry(), {})
    assert refused.status_code == 422
    assert "Nothing was recorded" in refused.content.decode()
    assert recorded() == before
    agreed = ada.client.post(ada.entry(), {"consent": "1"}, follow=True)
    assert agreed.status_code == 200
    assert ada.assignment.state == "accepted"
    part = Participation.objects.get()
    assert part.consented_at is not None
    assert part.consent_version
    assert ada.begin().html  # and is not asked again


def test_the_consent_text_stands_in_the_preview(client: Client) -> None:
    study = study_at_mturk(consent="You may **stop** at any time.")
    html = client.get(previewed(study)).content.decode()
    assert "<strong>stop</strong>" in html
    assert "<input" not in html


def test_who_is_new_reads_the_instructions_once(study: Study) -> None:
    ada = Turker(study)
    html = ada.arrive().content.decode()
    assert "What to do" in html
    assert "<em>what is described</em>" in html
    assert ada.assignment.state == "accepted"
    assert "data-work" in ada.arrive().content.decode()  # not again after a reload
    second = Turker(study, assignment_id="3SECOND")
    second.publication = Publication.objects.filter(study=study).order_by("pk")[1]
    assert "data-work" in second.arrive().content.decode()  # nor with the next HIT


def test_a_reload_shows_the_same_page_with_its_draft(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    fields = work.answers()
    first = next(iter(fields))
    ada.client.post(work.form.replace("/submit/", "/save/"), {first: fields[first]})
    again = ada.begin()
    assert ada.client.cookies.output() == ""
    assert again.form.split("/work/")[1] == work.form.split("/work/")[1]
    assert re.search(rf'name="{first}" value="{fields[first]}"[^>]* checked', again.html)
    assert CrowdSession.objects.count() == Assignment.objects.count() == 1


def test_one_worker_holds_several_hits_at_once(study: Study) -> None:
    hits = list(Publication.objects.filter(study=study).order_by("pk"))[:3]
    turkers = []
    for number, publication in enumerate(hits):
        turker = Turker(study, assignment_id=f"3A{number}")
        turker.publication = publication
        turkers.append((turker, turker.begin()))
    assert {turker.assignment.state for turker, _ in turkers} == {"accepted"}
    assert {turker.assignment.hit for turker, _ in turkers} == {one.hit for one in hits}
    assert Worker.objects.count() == Participation.objects.count() == 1
    for turker, work in turkers:
        assert work.submit().status_code == 303
        assert turker.session.status == "submitted"


def test_who_did_as_many_hits_as_the_study_wants_of_one_person_is_told_to_return_the_next() -> None:
    study = study_at_mturk(workers={"hits_at_most": 1})
    first, second = Publication.objects.filter(study=study).order_by("pk")[:2]
    assert Turker(study).begin().submit().status_code == 303
    again = Turker(study, assignment_id="3ASSIGNMENT2")
    again.publication = second
    told = again.arrive()
    assert told.status_code == 403
    assert "one person can do" in told.content.decode()
    assert Assignment.objects.get().hit == first.hit
    assert Turker(study).arrive().status_code == 200  # the first is still theirs


def test_the_same_page_of_work_under_two_hits_is_done_once(study: Study) -> None:
    ada = Turker(study)
    ada.begin()
    second = publish(study, ada.assignment.hit or study.hits.all()[0])
    response = ada.arrive(hitId=second.external_id, assignmentId="3ANOTHER")
    assert response.status_code == 409
    assert "Please return this HIT" in response.content.decode()
    assert Assignment.objects.count() == 1


def test_who_was_let_in_has_a_place_when_all_of_ours_are_taken(study: Study) -> None:
    people = [Turker(study, worker_id=f"A{n}", assignment_id=f"3A{n}") for n in range(4)]
    for one in people:
        one.begin()
    hit = people[0].hit
    assert (hit.required, hit.open_slots) == (4, 0)


def test_a_closed_study_lets_who_is_at_work_go_on_and_nobody_else_begin(study: Study) -> None:
    ada = Turker(study)
    ada.begin()
    mark_closed(study=study)
    Publication.objects.filter(study=study).update(state="expired")
    assert ada.begin().submit().status_code == 303
    bob = Turker(study, worker_id="A1BOB", assignment_id="3ASSIGNMENT2")
    response = bob.arrive()
    assert response.status_code == 409
    assert "accepts no more work" in response.content.decode()


def test_a_worker_who_is_paused_is_told_so_in_the_frame(study: Study) -> None:
    ada = Turker(study)
    ada.begin().submit()
    pause_worker(study=study, worker=Worker.objects.get())
    publication = Publication.objects.filter(study=study).order_by("pk")[1]
    response = ada.arrive(hitId=publication.external_id, assignmentId="3SECOND")
    assert response.status_code == 403
    assert "paused" in response.content.decode()
    assert "href" not in response.content.decode().split("<main")[1]


MAKE_STUDY = """
from tests.annotation.crowds.framing import first_publication, study_at_mturk
study = study_at_mturk()
print(study.slug, first_publication(study).external_id)
"""
FOUND = """
import json
from annotation.models import Assignment, CrowdSession, Worker
from judgments.models import HIT
held = Assignment.objects.filter(state="accepted")
hit = HIT.objects.order_by("position").first() if not held else held[0].hit
print(json.dumps({
    "workers": Worker.objects.count(),
    "sessions": sorted(CrowdSession.objects.values_list("status", flat=True)),
    "accepted": held.count(),
    "seats": len(set(held.values_list("slot", flat=True))),
    "hit": [hit.required, hit.open_slots, hit.assignments.filter(state="accepted").count()],
}))
"""


def load(url: str) -> int:
    """What the frame's address answers, down to the page of work."""
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        error.close()
        return int(error.code)


def found(installation: Installation) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(installation.python(FOUND).splitlines()[-1])
    return rows


def test_frames_that_load_at_once_make_one_session_each_and_share_no_seat(
    live_server_on: Callable[[str], Installation], database: str
) -> None:
    installation = live_server_on(database)
    slug, hit = installation.python(MAKE_STUDY).splitlines()[-1].split()

    def entry(worker: str, assignment: str) -> str:
        asked = f"hitId={hit}&workerId={worker}&assignmentId={assignment}&turkSubmitTo={SITE}"
        return f"{installation.url}/s/{slug}/mturk/?{asked}"

    statuses: list[int] = []

    def arrive(worker: str, assignment: str) -> None:
        statuses.append(load(entry(worker, assignment)))

    all_at_once([partial(arrive, "A1", "3A1") for _ in range(6)])
    assert statuses == [200] * 6
    assert found(installation) == {
        "workers": 1,
        "sessions": ["working"],
        "accepted": 1,
        "seats": 1,
        "hit": [2, 1, 1],
    }
    # more people than seats, and an id that is going on to one of them
    statuses.clear()
    all_at_once(
        [partial(arrive, f"A{number}", f"3A{number}") for number in range(2, 7)]
        + [partial(arrive, "A7", "3A1")]
    )
    assert statuses == [200] * 6
    after = found(installation)
    assert after["sessions"] == ["returned"] + ["working"] * 6
    assert (after["accepted"], after["seats"]) == (6, 6)
    required, free, held = after["hit"]
    assert required == free + held


@pytest.fixture
def plain_study() -> Study:
    return study_at_mturk()


def policy_of(response: Any) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in response.headers["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in parts}


def is_framable(response: Any, *sites: str) -> None:
    policy = policy_of(response)
    assert policy["frame-ancestors"] == " ".join(sites)
    assert policy["form-action"] == " ".join(("'self'", *sites))
    assert policy["script-src"] == "'self'"
    assert "X-Frame-Options" not in response.headers
    assert "Set-Cookie" not in str(response.serialize_headers())
    assert response.headers["Referrer-Policy"] in ("no-referrer", "strict-origin")


def test_every_page_in_the_frame_is_framed_by_mechanical_turk_alone_and_sets_no_cookie(
    plain_study: Study,
) -> None:
    ada = Turker(plain_study)
    work = ada.begin()
    preview = ada.client.get(f"/s/{plain_study.slug}/mturk/?assignmentId={PREVIEW}")
    entry = ada.client.get(ada.entry())
    refused = ada.client.get(ada.entry(hitId="3MADEUP"))
    for response in (preview, entry, refused, work.get(), work.get("start/"), work.get("nothing/")):
        is_framable(response, SITE)
    saved = ada.client.post(work.form.replace("/submit/", "/save/"), work.answers())
    for response in (saved, work.submit(), work.get("finish/")):
        is_framable(response, SITE)


def test_the_live_site_frames_from_both_of_its_hosts() -> None:
    plain_study = study_at_mturk(platform="mturk-live")
    work = Turker(plain_study, site="https://www.mturk.com").begin()
    is_framable(work.get(), "https://www.mturk.com", "https://worker.mturk.com")


def test_a_setting_names_other_sites(plain_study: Study, settings: Any) -> None:
    settings.MTURK_SITES = ["http://127.0.0.1:8090/"]
    assert Turker(plain_study).arrive().status_code == 403
    ada = Turker(plain_study, site="http://127.0.0.1:8090")
    work = ada.begin()
    is_framable(work.get(), "http://127.0.0.1:8090")
    settings.MTURK_SITES = []
    assert work.get().status_code == 404  # the ticket's site is not allowed any more


def test_all_other_pages_are_framed_by_nobody(plain_study: Study) -> None:
    person = joined(make_study(make_dataset("here"), slug="here"))
    pages = [
        "/",
        "/me/",
        "/s/here/",
        "/s/here/work/",
        "/s/here/start/",
        f"/s/{plain_study.slug}/",
        "/admin/login/",
    ]
    for address in [*pages, "/s/here/mturk/", f"/s/{plain_study.slug}/finish/"]:
        response = person.client.get(address)
        policy = policy_of(response)
        assert policy["frame-ancestors"] == "'none'", address
        assert policy["form-action"] == "'self'", address
        assert response.headers["X-Frame-Options"] == "DENY", address


def test_a_ticket_opens_the_studys_work_and_no_other_page(plain_study: Study) -> None:
    make_study(make_dataset("others"), slug="other")
    work = Turker(plain_study).begin()
    own = ("", "resume/", "done/", "preview/", "credits/", "mturk/")
    addresses = [work.at(one) for one in own] + [
        f"{work.prefix}{one}"
        for one in ("", "me/", "me/answers/", "admin/", "api/", "language/", "adjudicate/", "s/other/work/")
    ]
    addresses += [
        work.form.replace("/submit/", f"/{one}/") for one in ("ahead", "extend", "retake", "change")
    ]
    addresses += [f"{work.prefix}{work.prefix.lstrip('/')}s/{plain_study.slug}/work/"]
    for address in addresses:
        for send in (work.turker.client.get, work.turker.client.post):
            assert send(address).status_code == 404, address


def test_a_forged_ticket_opens_nothing(plain_study: Study) -> None:
    ada = Turker(plain_study)
    work = ada.begin()
    ticket = work.prefix.split("/")[2]
    forged = (
        "x",
        ticket[:-1] + ("A" if ticket[-1] != "A" else "B"),
        signing.dumps([ada.session.pk, SITE], salt="another"),
        signing.dumps([ada.session.pk, "https://evil.example"], salt=SALT),
        signing.dumps([10**6, SITE], salt=SALT),
        signing.dumps("nonsense", salt=SALT),
        signing.dumps({"a": 1}, salt=SALT),
    )
    for one in forged:
        response = Client().get(f"/f/{one}/s/{plain_study.slug}/work/")
        assert response.status_code == 404, one
        assert "not valid any more" in response.content.decode()
        assert "href" not in response.content.decode().split("<main")[1]
        is_framable(response, "https://www.mturk.com", "https://worker.mturk.com", SITE)


def test_a_ticket_ends_one_day(plain_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Turker(plain_study).begin()
    monkeypatch.setattr("annotation.crowds.mturk.frames.TICKET_SECONDS", -1)
    assert work.get().status_code == 404


def test_the_ticket_names_the_worker_whatever_cookie_comes_along(plain_study: Study) -> None:
    ada = Turker(plain_study)
    work = ada.begin()
    person = joined(make_study(make_dataset("here"), slug="here"))
    response = person.client.get(work.at())
    assert response.status_code == 200
    assert work.form.split("/work/")[1] in response.content.decode()
    staff = User.objects.create_superuser("root")
    client = signed_in(staff)
    assert client.get(work.at()).status_code == 200
    assert Assignment.objects.filter(study=plain_study).count() == 1


def test_a_form_in_the_frame_needs_no_cookie_and_elsewhere_still_does(plain_study: Study) -> None:
    work = Turker(plain_study).begin()
    client = Client(enforce_csrf_checks=True)
    assert client.post(work.form, work.answers()).status_code == 303
    person = joined(make_study(make_dataset("here"), slug="here"))
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = person.client.cookies
    strict.get("/s/here/work/")
    held = Assignment.objects.get(worker=person.worker)
    assert strict.post(f"/s/here/work/{held.pk}/submit/", {}).status_code == 403


def test_pictures_are_shown_under_the_ticket_alone() -> None:
    plain_study = study_at_mturk(protocol="pairwise")
    work = Turker(plain_study).begin()
    picture = work.html.split('<img src="')[1].split('"')[0]
    assert picture.startswith(work.prefix)
    shown = Client().get(picture)
    assert shown.status_code == 200
    shown.close()
    assert Client().get("/" + picture.removeprefix(work.prefix)).status_code in (401, 404)
    other = Turker(plain_study, worker_id="A1BOB", assignment_id="3OTHER").begin()
    assert Client().get(picture.replace(work.prefix, other.prefix)).status_code == 404


def test_what_a_frame_changed_about_addresses_is_over_with_its_page(plain_study: Study) -> None:
    work = Turker(plain_study).begin()
    for address in (work.at(), work.at("nothing/")):
        work.turker.client.get(address)
        assert get_script_prefix() == "/"
        assert reverse("annotation:home") == "/"


def test_the_credits_open_without_the_ticket() -> None:
    dataset = make_dataset()
    dataset.attribution = "Photo 1: somebody"
    dataset.save()
    plain_study = study_at_mturk(dataset, protocol="pairwise")
    html = Turker(plain_study).begin().html
    assert f'href="/s/{plain_study.slug}/credits/" target="_blank"' in html


def test_the_ticket_says_nothing_of_the_person(plain_study: Study) -> None:
    ada = Turker(plain_study)
    ada.begin()
    ticket = new_ticket(ada.session, site=SITE)
    body = signing.b64_decode(ticket.split(":")[0].encode()).decode()
    assert ada.worker_id not in body
    assert ada.assignment_id not in body


def test_addresses_of_an_earlier_version_open_still() -> None:
    """Frames stay open at Mechanical Turk while Quorum is updated; version 0.5.0 signed with this name."""
    assert SALT == "annotation.frames"
