"""Pages in German and other languages: no English left on them, numbers for scripts as scripts read them."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.conf import settings
from django.db.models import F
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone, translation
from django.utils.translation import override

from annotation.crowds.mturk.pages import html_page
from annotation.crowds.opening import close_study
from annotation.models import AppealNote, Assignment, Judgment, Participation, QuizAttempt
from annotation.work.sheet.texts import translated_text
from common.errors import DesignError
from contrib.demo import FOLDER
from contrib.demo.management import OPEN_STUDIES
from contrib.hit_templates.tests.templating import TONE, make_template_study
from contrib.quiz.attempts.content import content_of, translate_content
from contrib.quiz.attempts.explanations import labelled_texts
from contrib.quiz.attempts.taking import start_attempt
from contrib.quiz.questions import ENGLISH
from contrib.quiz.tests.quizzing import take
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.study_design import translate_design
from judgments.kinds import KINDS
from judgments.models import Caption, HITUnit, Item, Output, Study, System
from judgments.studies.designs import design_of
from judgments.studies.studies import mark_closed
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.crowds.framing import PREVIEW, Turker, study_at_mturk
from tests.annotation.crowds.panels import ADA, BOB, EVE, panel_study, seal_on
from tests.annotation.crowds.test_mturk_pages import HOSTS, make_hit
from tests.annotation.foreign_pages import english_on, texts_of
from tests.annotation.posting import submit, work_of
from tests.annotation.scenes import make_scenes
from tests.crowd import first_answers
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def study_of(protocol: str, **values: Any) -> Study:
    """A study of the kind with its built-in texts and a German name."""
    if protocol == "template":
        with TemporaryDirectory() as folder:
            return make_template_study(Path(folder), name="Formen", **values)
    wanted: dict[str, Any] = {"name": "Formen", "units_per_hit": 3, "contact": "labor@example.org"}
    if protocol in ("keywords", "grounding"):
        return make_study(make_scenes(), protocol, **(wanted | {"controls": {"per_hit": 0}} | values))
    dataset = make_dataset()
    for number in range(3 if protocol == "best-worst" else 0):
        system = System.objects.create(dataset=dataset, name=f"more-{number}")
        for item in Item.objects.filter(dataset=dataset):
            caption = Caption.objects.create(
                dataset=dataset,
                key=f"more-{number}-{item.position}",
                text=f"Shape {item.position}, told for the time {number}.",
                role="candidate",
            )
            Output.objects.create(system=system, item=item, caption=caption)
    if protocol in ("caption", "spans"):  # a damaged text is none of the captions that the test knows
        wanted["controls"] = {"per_hit": 0}
    return make_study(dataset, protocol, **(wanted | values))


def german(study: Study, name: str = "jutta", **values: Any) -> Person:
    """A person whose browser asks for German."""
    person = joined(study, name, **values)
    person.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    return person


def seen(client: Client, address: str, status: int = 200, **data: Any) -> str:
    """A page, which is German all over; numbers in attributes have no comma in them."""
    response = client.post(address, data) if data else client.get(address)
    assert response.status_code == status
    html = response.content.decode()
    assert '<html lang="de"' in html
    assert english_on(html) == []
    assert re.findall(r'[a-z-]+="-?\d+,\d+"', html) == []
    return html


@pytest.mark.parametrize(
    "protocol", long_except(list(KINDS), "triplet", "caption", "best-worst", "grounding", "template")
)
def test_a_page_of_work_of_any_kind_says_nothing_in_english(protocol: str) -> None:
    preset = next((one.values for one in PRESETS.values() if one.values["protocol"] == protocol), {})
    built_in = {key: preset[key] for key in ("question", "instructions", "examples") if key in preset}
    study = study_of(protocol, **built_in)
    jutta = german(study)
    address = f"/s/{study.slug}/work/"
    html = seen(jutta.client, address)
    assert len(texts_of(html)) > 60
    assignment = Assignment.objects.get(worker=jutta.worker, state="accepted")
    seen(jutta.client, f"{address}{assignment.pk}/submit/", 422, u1="")
    seen(jutta.client, f"/s/{study.slug}/start/")
    with translation.override("en"):
        assert english_on(jutta.client.get(address, headers={"accept-language": "en"}).content.decode())


def test_a_study_s_own_texts_stay_as_they_were_written() -> None:
    study = study_of("graded", question="Passt das zu dem Foto?", instructions="Schauen Sie **genau** hin.")
    jutta = german(study)
    html = seen(jutta.client, f"/s/{study.slug}/work/")
    assert "Passt das zu dem Foto?" in html
    assert "Schauen Sie <strong>genau</strong> hin." in html
    assert "Beschreibt das Bild ohne jeden Fehler" in html


def test_the_way_from_the_link_to_the_last_page_is_german() -> None:
    study = study_of("relevance", consent="Sie können jederzeit aufhören.", crowd={"reward_cents": 25})
    stranger = Client(headers={"accept-language": "de"})
    for address in ("/", "/me/", f"/s/{study.slug}/"):
        seen(stranger, address)
    seen(stranger, f"/s/{study.slug}/", 403, name="jutta")
    seen(stranger, f"/s/{study.slug}/", 400, code="x")
    seen(stranger, "/me/", 400, name="x")
    jutta = german(study, consent=True)
    seen(jutta.client, f"/s/{study.slug}/done/")
    html, assignment = work_of(study, jutta)
    base = f"/s/{study.slug}/work/{assignment.pk}"
    seen(jutta.client, f"{base}/report/1/")
    seen(jutta.client, f"{base}/report/1/", 400, what="nothing")
    assert submit(study, jutta, assignment, first_answers(html)).status_code == 303
    seen(jutta.client, f"{base}/change/")
    seen(jutta.client, f"{base}/submit/", 409, u1="1", none5="1", none9="1")
    seen(jutta.client, f"/s/{study.slug}/done/")
    then = datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    Assignment.objects.filter(pk=assignment.pk).update(state="rejected", accepted_at=then, submitted_at=then)
    assert "5. März 2026, 10:30" in seen(jutta.client, "/me/")
    _, held = work_of(study, jutta)
    seen(jutta.client, f"/s/{study.slug}/work/{held.pk}/return/")
    seen(jutta.client, f"/s/{study.slug}/work/{held.pk}/return/", confirm="1")
    mark_closed(study=study)
    seen(Client(headers={"accept-language": "de"}), f"/s/{study.slug}/")


def test_what_ends_work_is_told_in_german() -> None:
    study = study_of("triplet")
    jutta = german(study)
    html, assignment = work_of(study, jutta)
    Assignment.objects.filter(pk=assignment.pk).update(
        answers={"1": {"value": 1}}, expires_at=timezone.now() - timedelta(minutes=1)
    )
    seen(jutta.client, f"/s/{study.slug}/work/")
    late = seen(jutta.client, f"/s/{study.slug}/work/{assignment.pk}/submit/", 409, **first_answers(html))
    assert "Die Zeit für diese Arbeitsseite ist um" in late
    for standing in ("paused", "excluded"):
        Participation.objects.filter(worker=jutta.worker).update(standing=standing)
        seen(jutta.client, f"/s/{study.slug}/work/?another", 403)
        seen(jutta.client, "/me/")


def test_the_test_before_the_work_is_explained_in_german_and_asks_in_its_own_language() -> None:
    study = study_of(
        "caption", language="en", quiz={"preset": "hodosh-2013-english", "explain": "at-the-end"}
    )
    jutta = german(study)
    seen(jutta.client, f"/s/{study.slug}/quiz/")
    jutta.client.post(f"/s/{study.slug}/quiz/start/")
    html = seen(jutta.client, f"/s/{study.slug}/quiz/")
    assert "Welche" in html
    asked = {option for one in ENGLISH.questions for option in one.options}
    shown = set(map(unescape, re.findall(r'<bdi class="said"[^>]*>(.*?)</bdi>', html)))
    assert len(shown & asked) > 1
    take(study, jutta, wrong=8)
    result = jutta.client.get(f"/s/{study.slug}/quiz/").content.decode()
    verdicts = re.sub(r"<bdi.*?</bdi>", "", result)
    assert english_on(verdicts) == []


@pytest.mark.parametrize("page", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_the_pages_of_errors_are_german_too(page: str) -> None:
    with translation.override("de"):
        html = render_to_string(page, request=RequestFactory().get("/"))
    assert english_on(html) == []
    assert len(texts_of(html)) > 5


def test_times_and_values_survive_a_whole_page_in_german() -> None:
    study = study_of("slider")
    jutta = german(study)
    html, assignment = work_of(study, jutta)
    names = re.findall(r'name="(u\d+)" min="0" max="100"', html)
    saved = jutta.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/",
        {"answers": [{"position": 1, "value": 37, "seconds": 1234.5, "wall_seconds": 2345.25}]},
        content_type="application/json",
    )
    assert saved.json() == {"saved": True}
    again = jutta.client.get(f"/s/{study.slug}/work/").content.decode()
    assert 'data-seconds="1234.5" data-wall="2345.25"' in again
    assert 'name="u1" min="0" max="100" step="1" inputmode="numeric" autocomplete="off" value="37"' in again
    fields = dict.fromkeys(names, "62") | {"u1": "37"} | {f"t{name[1:]}": "2.75" for name in names}
    assert submit(study, jutta, assignment, fields).status_code == 303
    stored = Judgment.objects.filter(assignment=assignment).order_by("pk").values_list("value", "seconds")
    assert list(stored) == [(37, 2.75), *[(62, 2.75)] * (len(names) - 1)]
    refused = submit(study, jutta, *_next(study, jutta))
    assert refused.status_code == 400
    assert "erwartet wird 0 bis 100" in refused.content.decode()


def _next(study: Study, person: Person) -> tuple[Assignment, dict[str, str]]:
    return work_of(study, person)[1], {"u1": "170"}


def test_countries_are_named_and_sorted_in_german() -> None:
    study = study_of("graded", workers={"countries": ["AT", "DE"]})
    html = Client(headers={"accept-language": "de"}).get(f"/s/{study.slug}/").content.decode()
    names = re.findall(r'<option value="[A-Z]{2}">([^<]+)', html)
    assert len(names) > 240
    assert (
        names.index("Ägypten")
        < names.index("Deutschland")
        < names.index("Österreich")
        < names.index("Zypern")
    )


def test_a_report_and_a_language_are_chosen_without_scripts() -> None:
    study, jutta = with_person(study_of("pairwise"), "jutta")
    _, assignment = work_of(study, jutta)
    report = f"/s/{study.slug}/work/{assignment.pk}/report/1/"
    assert "What is wrong with item 1?" in jutta.client.get(report).content.decode()
    chosen = jutta.client.post("/language/", {"language": "de", "next": report})
    assert (chosen.status_code, chosen["Location"]) == (302, report)
    assert "Das Bild ist nicht zu sehen" in seen(jutta.client, report)
    assert jutta.client.post(report, {"what": "picture"}).status_code == 303
    assert assignment.reports.get().what == "picture"


def test_sentences_keep_the_language_the_study_says_they_have() -> None:
    study = study_of("triplet", language="en")
    html = seen(german(study).client, f"/s/{study.slug}/work/")
    said = re.findall(r'<bdi class="said"[^>]*>', html)
    assert said
    assert set(said) == {'<bdi class="said" dir="auto" lang="en">'}


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
    assert "2 Arbeitsseiten mit je" in page
    assert "<dd>1,00 GBP</dd>" in page
    seal = seal_on(browser().get(f"/s/{study.slug}/panel/", ADA))
    seen(browser(), f"/s/{study.slug}/panel/", 403, seal=seal)  # did not agree
    ada = sent(study, ADA, consent="1")
    seen(ada, f"/s/{study.slug}/start/")
    do_page(study, ada)
    assert "1 von 2 Arbeitsseiten abgegeben" in seen(ada, f"/s/{study.slug}/panel/end/")
    assert "Willkommen zurück" in entry_of(study, ADA)
    do_page(study, ada)
    assert "von der Sie kamen. Erst dann zählt die Website Ihre Arbeit" in seen(
        ada, f"/s/{study.slug}/panel/end/"
    )
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
    assert "Ihre Zeit ist um" in seen(ada, f"/s/{study.slug}/panel/end/")
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
    assert "auch bei Mechanical Turk zurück, mit dem Knopf dort" in seen(
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
    assert "Wenn Sie das für falsch halten" in seen(jutta.client, "/me/")
    seen(jutta.client, f"/me/appeal/{assignment.pk}/", 409, text=" ")
    for number in range(5):
        sent_ = jutta.client.post(
            f"/me/appeal/{assignment.pk}/", {"text": f"Ich war langsam, zum {number}. Mal."}
        )
        assert sent_.status_code in (302, 303)
    seen(jutta.client, f"/me/appeal/{assignment.pk}/", 409, text="Und noch einmal.")
    AppealNote.objects.create(assignment=assignment, text="Wir sehen nach.", from_worker=False)
    assert "Das Forschungsteam:" in seen(jutta.client, "/me/")


EXAMPLE = {"scene": "A dog.", "shown": ["A dog.", "A cat."], "answer": "The first.", "why": "It is a dog."}
TEXTS: dict[str, Any] = {
    "name": "Formas",
    "question": "¿Cuál es mejor?",
    "instructions": "Lea **todo**.",
    "consent": "Puede parar.",
    "labels": [],
    "examples": [{"scene": "Un perro.", "answer": "La primera.", "why": "Es un perro."}],
}
VALUES: dict[str, Any] = {
    "question": "Which is better?",
    "instructions": "Read **all**.",
    "consent": "You may stop.",
    "examples": [EXAMPLE],
}


def test_a_study_s_own_texts_come_in_the_language_of_the_page() -> None:
    study = make_study(make_dataset(), "pairwise", name="Shapes", translations={"es": TEXTS}, **VALUES)
    browser = Client(headers={"accept-language": "es-MX,es;q=0.9"})
    page = browser.get(f"/s/{study.slug}/").text
    for words in ("<bdi>Formas</bdi>", "¿Cuál es mejor?", "Puede parar.", "Participar en el estudio"):
        assert words in page
    ada = joined(study, consent=True)
    ada.client.cookies["django_language"] = "es"
    html, _ = work_of(study, ada)
    for words in ("¿Cuál es mejor?", "Lea <strong>todo</strong>.", "Un perro.", "La primera.", "A dog."):
        assert words in html
    ada.client.cookies["django_language"] = "fr"
    html, _ = work_of(study, ada)
    for words in ("Which is better?", "Read <strong>all</strong>.", "The first.", "Suivant"):
        assert words in html


def test_a_language_in_the_address_is_used_and_remembered() -> None:
    browser = Client()
    assert '<html lang="ar" dir="rtl">' in browser.get("/?language=ar").text
    assert '<html lang="ar" dir="rtl">' in browser.get("/me/").text
    assert '<html lang="en">' in browser.get("/me/?language=en").text
    assert '<html lang="en">' in browser.get("/?language=xx").text
    linked = browser.get("/?page=1&language=fr").text
    assert (
        'name="next" value="/?page=1"' in linked
    )  # or the choice of another language would lead back to French


def test_a_panel_s_page_offers_the_languages_without_a_cookie() -> None:
    study = make_study(make_dataset(), crowd={"backend": "external"}, panel={"signature": ""})
    browser = Client()
    address = f"/s/{study.slug}/panel/?id=p-1&session=s-1"
    page = browser.get(address)
    assert f"?{address.partition('?')[2].replace('&', '&amp;')}&amp;language=zh-hans" in page.text
    chinese = browser.get(f"{address}&language=zh-hans")
    assert '<html lang="zh-hans">' in chinese.text
    assert not browser.cookies
    assert f'action="/s/{study.slug}/panel/?language=zh-hans"' in chinese.text


@pytest.mark.parametrize(
    ("translations", "sentence"),
    [
        ({"pt": TEXTS}, "'pt' is not a language of participants' pages"),
        (
            {"es": TEXTS | {"labels": ["uno"]}},
            "translations.es.labels (entries: 1): expected 0",
        ),
        (
            {"es": TEXTS | {"examples": TEXTS["examples"] * 2}},
            "translations.es.examples (entries: 2): expected 1",
        ),
        ({"es": {"questoin": "?"}}, "the nearest one is 'question'"),
    ],
)
def test_texts_that_do_not_fit_the_design_are_refused(translations: dict[str, Any], sentence: str) -> None:
    asked = {"name": "Shapes", "dataset": "shapes", "protocol": "pairwise", **VALUES}
    with pytest.raises(DesignError, match=re.escape(sentence)):
        make_design(asked | {"translations": translations})
    design = make_design(asked | {"translations": {"es": TEXTS}})
    assert read_toml(write_toml(design)) == design
    assert "translations" not in write_toml(make_design(asked))
    graded = {"protocol": "graded", "labels": ["a", "b", "c", "d"], "examples": []}
    with refuses(DesignError, "translations.es.labels", field="translations.es"):
        make_design(asked | graded | {"translations": {"es": {"labels": ["uno", "uno", "dos", "tres"]}}})


def test_what_a_translation_leaves_out_stays_as_it_is() -> None:
    asked = {"text": "Which?", "options": ["one", "two"], "answer": 1, "why": "It is one."}
    question = {"text": "¿Cuál?", "options": ["uno", "dos"]}
    texts = {"examples": [{"why": "Es un perro."}], "questions": [question, question]}
    study = make_study(
        make_dataset(),
        examples=[EXAMPLE],
        quiz={"questions": [asked, asked], "preset": "hodosh-2013-english", "ask": 100},
        translations={"es": texts},
    )
    (example,) = translate_design(design_of(study), "es").examples
    assert (example.scene, example.answer, example.why) == ("A dog.", "The first.", "Es un perro.")
    attempt = start_attempt(study=study, worker=joined(study).worker)
    with override("es"):
        shown = [one.question for one in translate_content(content_of(attempt)).questions.values()]
    assert {one.explanation for one in shown if one.text == "¿Cuál?"} == {"It is one."}
    assert all(len(one.options) == 2 for one in shown if one.text == "¿Cuál?")


def test_people_are_promised_what_a_page_of_work_holds(client: Client) -> None:
    study = make_study(
        make_dataset(), "pairwise", units_per_hit=20, seconds_per_unit=60, controls={"per_hit": 0}
    )
    drawn = HITUnit.objects.filter(hit__study=study, hit__position=0).count()
    assert drawn < 20
    for address in ("/", f"/s/{study.slug}/"):
        page = client.get(address).text
        assert f"{drawn} questions" in page
        assert f"about {drawn} min" in page


def test_the_options_of_a_pair_are_a_and_b_unless_the_study_speaks_of_c() -> None:
    asked = {"name": "Shapes", "dataset": "shapes", "protocol": "pairwise"}
    kind = KINDS["pairwise"].for_design(make_design(asked))
    assert [(one.label, one.letter) for one in kind.choices] == [
        ("Description A", "A"),
        ("Description B", "B"),
    ]
    assert labelled_texts({"b": {"text": "x"}, "c": {"text": "y"}}, kind.page.letters) == [
        ("A", "x"),
        ("B", "y"),
    ]
    french = KINDS["pairwise"].for_design(make_design(asked | {"question": "C’est laquelle, A ou B ?"}))
    assert [one.letter for one in french.choices] == ["A", "B"]
    before = KINDS["pairwise"].for_design(make_design(asked | {"question": "Which is better, B or C?"}))
    assert [one.label for one in before.choices] == ["Description B", "Description C"]


def test_the_page_of_the_api_says_its_language_and_has_a_main_part(client: Client) -> None:
    page = client.get("/api/docs/").text
    assert '<html lang="en">' in page
    assert "<main" in page


@pytest.mark.parametrize("name", OPEN_STUDIES)
def test_the_demo_s_texts_are_in_every_language_of_the_workers_pages(name: str) -> None:
    design = read_toml((FOLDER / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    for code, _ in settings.LANGUAGES[1:]:
        with override(code):
            there = translate_design(design, code)
            for key in ("name", "question", "instructions"):
                assert translated_text(getattr(there, key)) != getattr(design, key)
