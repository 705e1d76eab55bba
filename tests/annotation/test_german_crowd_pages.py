"""What people see whom a crowd sends, in German: the panel's entry and outcomes, the frame, and the word against a
rejection. No English is left on these pages."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotation.crowds.mturk.pages import html_page
from annotation.crowds.publishing import close_study
from annotation.models import AppealNote, Assignment, Participation, QuizAttempt
from judgments.kinds import KINDS
from judgments.models import Study
from tests.annotation.crowds.framing import PREVIEW, Turker, study_at_mturk
from tests.annotation.crowds.panels import ADA, BOB, EVE, panel_study, seal_on
from tests.annotation.crowds.test_mturk_pages import HOSTS, make_hit
from tests.annotation.foreign_pages import english_on
from tests.annotation.posting import submit, work_of
from tests.annotation.test_german_pages import german, seen, study_of
from tests.crowd import first_answers
from tests.templating import TONE

pytestmark = pytest.mark.django_db

NAMED: dict[str, Any] = {
    "name": "Formen",
    "question": "Welcher Satz passt besser?",
    "contact": "labor@example.org",
}
CONSENT = "Sie können **jederzeit** aufhören."
QUIZ = {
    "questions": [{"text": "Dürfen Sie raten?", "options": ["ja", "nein"], "answer": 2}],
    "ask": 1,
    "attempts": 1,
}


def browser() -> Client:
    return Client(headers={"accept-language": "de"})


def sent(study: Study, ids: dict[str, str], **fields: str) -> Client:
    """Somebody who follows the panel's link and presses Start."""
    client = browser()
    page = client.get(f"/s/{study.slug}/panel/", ids)
    assert client.post(f"/s/{study.slug}/panel/", {"seal": seal_on(page)} | fields).status_code == 303
    return client


def entry_of(study: Study, ids: dict[str, str], status: int = 200) -> str:
    """The page that the panel's link leads to, as ``seen``."""
    address = "&".join(f"{name}={value}" for name, value in ids.items())
    return seen(browser(), f"/s/{study.slug}/panel/?{address}", status)


def do_page(study: Study, client: Client) -> None:
    """The page of work that this browser gets, submitted."""
    html = seen(client, f"/s/{study.slug}/work/")
    held = Assignment.objects.filter(study=study, state="accepted").latest("accepted_at")
    address = f"/s/{study.slug}/work/{held.pk}/submit/"
    assert client.post(address, first_answers(html)).status_code == 303


def test_the_way_from_the_panel_s_link_to_the_last_page_is_german() -> None:
    study = panel_study(hits=2, consent=CONSENT, **NAMED)
    page = entry_of(study, ADA)
    assert "2 Arbeitsseiten zu je" in page
    assert "<dd>1,00 GBP</dd>" in page
    seal = seal_on(browser().get(f"/s/{study.slug}/panel/", ADA))
    seen(browser(), f"/s/{study.slug}/panel/", 403, seal=seal)  # did not agree
    ada = sent(study, ADA, consent="1")
    seen(ada, f"/s/{study.slug}/start/")
    do_page(study, ada)
    assert "1 von 2 Arbeitsseiten abgegeben" in seen(ada, f"/s/{study.slug}/panel/end/")
    assert "Willkommen zurück" in entry_of(study, ADA)
    do_page(study, ada)
    assert "damit Ihre Arbeit dort gezählt wird" in seen(ada, f"/s/{study.slug}/panel/end/")
    seal = seal_on(browser().get(f"/s/{study.slug}/panel/", BOB))
    left = seen(browser(), f"/s/{study.slug}/panel/", seal=seal, decline="1")
    assert "Über Sie wurde nichts aufgezeichnet" in left
    seen(ada, "/me/")


def test_every_other_end_at_a_panel_is_told_in_german() -> None:
    study = panel_study(judgments_per_unit=1, units_per_hit=20, quiz=QUIZ, preset="plain", **NAMED)
    ids = [{"id": one["PROLIFIC_PID"]} for one in (ADA, BOB, EVE)]
    failed = sent(study, ids[0])
    failed.post(f"/s/{study.slug}/quiz/start/")
    shown = QuizAttempt.objects.get().items[0]["order"]
    failed.post(f"/s/{study.slug}/quiz/1/answer/", {"step": "1", "u1": str(shown.index(0) + 1)})
    seen(failed, f"/s/{study.slug}/quiz/")
    failed.get(f"/s/{study.slug}/work/")
    assert "In dieser Studie gibt es keine Arbeit für Sie" in seen(failed, f"/s/{study.slug}/panel/end/")
    stopped = sent(study, ids[1])
    stopped.post(f"/s/{study.slug}/panel/end/", {"confirm": "1"})
    assert "Sie haben aufgehört" in seen(stopped, f"/s/{study.slug}/panel/end/")
    close_study(study=study)
    assert "Alle Plätze sind vergeben" in entry_of(study, ids[2])


def test_whose_time_is_over_and_who_took_part_before_are_told_in_german() -> None:
    study = panel_study(judgments_per_unit=1, units_per_hit=20, **NAMED)
    ada = sent(study, ADA)
    ada.get(f"/s/{study.slug}/work/")
    gone = timedelta(hours=3)
    Assignment.objects.update(expires_at=F("expires_at") - gone, accepted_at=F("accepted_at") - gone)
    study.crowd_sessions.update(arrived_at=F("arrived_at") - gone)
    do_page(study, sent(study, BOB))
    assert "Die Zeit war um" in seen(ada, f"/s/{study.slug}/panel/end/")
    again = sent(study, BOB | {"SESSION_ID": "6f0c5e55000000000000000f"})
    assert "Sie haben an dieser Studie schon teilgenommen" in seen(again, f"/s/{study.slug}/panel/end/")


def test_links_that_lead_nowhere_are_explained_in_german() -> None:
    study = panel_study(**NAMED)
    incomplete = seen(browser(), f"/s/{study.slug}/panel/", 400)
    assert f"/s/{study.slug}/work/" not in incomplete  # there is none to go on with
    seen(browser(), f"/s/{study.slug}/panel/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&SESSION_ID=x", 400)
    seen(browser(), f"/s/{study.slug}/panel/", 400, seal="made-up")
    seen(browser(), f"/s/{study.slug}/")
    sent(study, ADA)
    seen(
        browser(),
        f"/s/{study.slug}/panel/?PROLIFIC_PID={BOB['PROLIFIC_PID']}&SESSION_ID={ADA['SESSION_ID']}",
        400,
    )


def turker(study: Study, **values: str) -> Turker:
    """Somebody there whose browser asks for German."""
    person = Turker(study, **values)
    person.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    return person


def test_the_way_through_the_frame_is_german() -> None:
    study = study_at_mturk(consent=CONSENT, **NAMED)
    ada = turker(study)
    assert "Nehmen Sie den HIT an" in seen(ada.client, ada.entry(assignmentId=PREVIEW, workerId=""))
    assert "Stimmen" not in seen(ada.client, ada.entry())
    assert ada.client.post(ada.entry(), {"consent": "1"}).status_code == 303
    work = ada.begin()
    assert english_on(work.html) == []
    seen(ada.client, work.form.replace("/submit/", "/return/"))
    assert work.submit().status_code == 303
    assert "Ein letzter Schritt" in seen(ada.client, work.at("finish/"))
    ada.session.publication.sessions.update(confirmed=True)
    assert "Der HIT ist abgegeben" in seen(ada.client, work.at("finish/"))
    bob = turker(study, worker_id="A1BOB", assignment_id="3ASSIGNMENT2")
    assert "Stimmen Sie dem Text oben zu" in seen(bob.client, bob.entry(), 422, other="1")


def test_what_ends_work_in_the_frame_is_told_in_german() -> None:
    study = study_at_mturk(**NAMED)
    ada = turker(study)
    work = ada.begin()
    Assignment.objects.filter(pk=ada.assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    seen(ada.client, work.at(), 409)
    assert "werden getrennt aufbewahrt" in seen(ada.client, work.form, 409, **work.answers())
    seen(
        turker(study, worker_id="A1BOB").client, turker(study, worker_id="A1BOB").entry(hitId="3MADEUP"), 403
    )
    for wrong in ({"workerId": "a b"}, {"turkSubmitTo": "https://evil.example.com"}):
        seen(ada.client, ada.entry(**wrong), 403)
    seen(ada.client, work.at().replace("/f/", "/f/x"), 404)
    Participation.objects.update(standing="paused")
    seen(ada.client, work.at(), 409)


def test_a_hit_that_is_given_back_or_passed_on_is_told_in_german() -> None:
    study = study_at_mturk(**NAMED)
    ada = turker(study)
    work = ada.begin()
    turker(study, worker_id="A1BOB").begin()  # the same assignment's id
    seen(ada.client, work.at(), 409)
    eve = turker(study, worker_id="A1EVE", assignment_id="3ASSIGNMENT2")
    given = eve.begin()
    assert "Knopf von Mechanical Turk" in seen(
        eve.client, given.form.replace("/submit/", "/return/"), confirm="1"
    )


@pytest.mark.parametrize("protocol", [name for name, kind in KINDS.items() if kind.page.self_contained])
def test_a_page_that_needs_no_server_says_nothing_in_english(protocol: str) -> None:
    # the researcher's words are German too
    own: dict[str, Any] = {"template": {"html": TONE}} if KINDS[protocol].page.custom else {}
    design, hit, units = make_hit(protocol, consent=CONSENT, **own)
    for unit in units if own else []:
        unit.content = {"fields": {"text": "Es regnet.", "id": "1"}}
    html = html_page(design=design, hit=hit, units=units, hosts=HOSTS, language="de")
    assert [text for text in english_on(html) if text not in (design.name, design.question)] == []


def test_a_word_against_a_rejection_is_asked_for_and_answered_in_german() -> None:
    study = study_of("triplet")
    jutta = german(study)
    html, assignment = work_of(study, jutta)
    assert submit(study, jutta, assignment, first_answers(html)).status_code == 303
    seen(jutta.client, f"/me/appeal/{assignment.pk}/", 409, text="Das stimmt nicht.")  # not rejected
    Assignment.objects.filter(pk=assignment.pk).update(state="rejected", reason="Zu schnell.")
    assert "Stimmt das nicht?" in seen(jutta.client, "/me/")
    seen(jutta.client, f"/me/appeal/{assignment.pk}/", 409, text=" ")
    for number in range(5):
        sent_ = jutta.client.post(
            f"/me/appeal/{assignment.pk}/", {"text": f"Ich war langsam, zum {number}. Mal."}
        )
        assert sent_.status_code in (302, 303)
    seen(jutta.client, f"/me/appeal/{assignment.pk}/", 409, text="Und noch einmal.")
    AppealNote.objects.create(assignment=assignment, text="Wir sehen nach.", from_worker=False)
    assert "Das Forschungsteam:" in seen(jutta.client, "/me/")
