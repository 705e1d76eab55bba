"""Who may frame which page, what a ticket opens, and that no cookie and no address leaves the frame."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.urls import get_script_prefix, reverse

from annotation.crowds.mturk.pages import SALT, new_ticket
from annotation.models import Assignment
from judgments.models import Study
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.crowds.framing import PREVIEW, SITE, Turker, study_at_mturk
from tests.doors import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
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


def test_every_page_in_the_frame_is_framed_by_mechanical_turk_alone_and_sets_no_cookie(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    preview = ada.client.get(f"/s/{study.slug}/mturk/?assignmentId={PREVIEW}")
    entry = ada.client.get(ada.entry())
    refused = ada.client.get(ada.entry(hitId="3MADEUP"))
    for response in (preview, entry, refused, work.get(), work.get("start/"), work.get("nothing/")):
        is_framable(response, SITE)
    saved = ada.client.post(work.form.replace("/submit/", "/save/"), work.answers())
    for response in (saved, work.submit(), work.get("finish/")):
        is_framable(response, SITE)


def test_the_live_site_frames_from_both_of_its_hosts() -> None:
    study = study_at_mturk(platform="mturk-live")
    work = Turker(study, site="https://www.mturk.com").begin()
    is_framable(work.get(), "https://www.mturk.com", "https://worker.mturk.com")


def test_a_setting_names_other_sites(study: Study, settings: Any) -> None:
    settings.MTURK_SITES = ["http://127.0.0.1:8090/"]
    assert Turker(study).arrive().status_code == 403
    ada = Turker(study, site="http://127.0.0.1:8090")
    work = ada.begin()
    is_framable(work.get(), "http://127.0.0.1:8090")
    settings.MTURK_SITES = []
    assert work.get().status_code == 404  # the ticket's site is not allowed any more


def test_all_other_pages_are_framed_by_nobody(study: Study) -> None:
    person = joined(make_study(make_dataset("here"), slug="here"))
    pages = ["/", "/me/", "/s/here/", "/s/here/work/", "/s/here/start/", f"/s/{study.slug}/", "/admin/login/"]
    for address in [*pages, "/s/here/mturk/", f"/s/{study.slug}/finish/"]:
        response = person.client.get(address)
        policy = policy_of(response)
        assert policy["frame-ancestors"] == "'none'", address
        assert policy["form-action"] == "'self'", address
        assert response.headers["X-Frame-Options"] == "DENY", address


def test_a_ticket_opens_the_studys_work_and_no_other_page(study: Study) -> None:
    make_study(make_dataset("others"), slug="other")
    work = Turker(study).begin()
    own = ("", "resume/", "done/", "preview/", "credits/", "mturk/")
    addresses = [work.at(one) for one in own] + [
        f"{work.prefix}{one}"
        for one in ("", "me/", "me/answers/", "admin/", "api/", "language/", "adjudicate/", "s/other/work/")
    ]
    addresses += [
        work.form.replace("/submit/", f"/{one}/") for one in ("ahead", "extend", "retake", "change")
    ]
    addresses += [f"{work.prefix}{work.prefix.lstrip('/')}s/{study.slug}/work/"]
    for address in addresses:
        for send in (work.turker.client.get, work.turker.client.post):
            assert send(address).status_code == 404, address


def test_a_forged_ticket_opens_nothing(study: Study) -> None:
    ada = Turker(study)
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
        response = Client().get(f"/f/{one}/s/{study.slug}/work/")
        assert response.status_code == 404, one
        assert "not valid any more" in response.content.decode()
        assert "href" not in response.content.decode().split("<main")[1]
        is_framable(response, "https://www.mturk.com", "https://worker.mturk.com", SITE)


def test_a_ticket_ends_one_day(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Turker(study).begin()
    monkeypatch.setattr("annotation.crowds.mturk.pages.TICKET_SECONDS", -1)
    assert work.get().status_code == 404


def test_the_ticket_names_the_worker_whatever_cookie_comes_along(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    person = joined(make_study(make_dataset("here"), slug="here"))
    response = person.client.get(work.at())
    assert response.status_code == 200
    assert work.form.split("/work/")[1] in response.content.decode()
    staff = User.objects.create_superuser("root")
    client = signed_in(staff)
    assert client.get(work.at()).status_code == 200
    assert Assignment.objects.filter(study=study).count() == 1


def test_a_form_in_the_frame_needs_no_cookie_and_elsewhere_still_does(study: Study) -> None:
    work = Turker(study).begin()
    client = Client(enforce_csrf_checks=True)
    assert client.post(work.form, work.answers()).status_code == 303
    person = joined(make_study(make_dataset("here"), slug="here"))
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = person.client.cookies
    strict.get("/s/here/work/")
    held = Assignment.objects.get(worker=person.worker)
    assert strict.post(f"/s/here/work/{held.pk}/submit/", {}).status_code == 403


def test_pictures_are_shown_under_the_ticket_alone() -> None:
    study = study_at_mturk(protocol="pairwise")
    work = Turker(study).begin()
    picture = work.html.split('<img src="')[1].split('"')[0]
    assert picture.startswith(work.prefix)
    shown = Client().get(picture)
    assert shown.status_code == 200
    shown.close()
    assert Client().get("/" + picture.removeprefix(work.prefix)).status_code in (401, 404)
    other = Turker(study, worker_id="A1BOB", assignment_id="3OTHER").begin()
    assert Client().get(picture.replace(work.prefix, other.prefix)).status_code == 404


def test_what_a_frame_changed_about_addresses_is_over_with_its_page(study: Study) -> None:
    work = Turker(study).begin()
    for address in (work.at(), work.at("nothing/")):
        work.turker.client.get(address)
        assert get_script_prefix() == "/"
        assert reverse("annotation:home") == "/"


def test_the_credits_open_without_the_ticket() -> None:
    dataset = make_dataset()
    dataset.attribution = "Photo 1: somebody"
    dataset.save()
    study = study_at_mturk(dataset, protocol="pairwise")
    html = Turker(study).begin().html
    assert f'href="/s/{study.slug}/credits/" target="_blank"' in html


def test_the_ticket_says_nothing_of_the_person(study: Study) -> None:
    ada = Turker(study)
    ada.begin()
    ticket = new_ticket(ada.session, site=SITE)
    body = signing.b64_decode(ticket.split(":")[0].encode()).decode()
    assert ada.worker_id not in body
    assert ada.assignment_id not in body


def test_addresses_of_an_earlier_version_open_still() -> None:
    """Frames stay open at Mechanical Turk while Quorum is updated; version 0.5.0 signed with this name."""
    assert SALT == "annotation.frames"
