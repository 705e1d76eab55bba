"""The worker's pages in German: no English left on them, numbers for scripts as scripts read them."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone, translation

from annotation.models import Assignment, Judgment, Participation
from judgments.design.reading import PRESETS
from judgments.design.requirements import QUIZ_PRESETS
from judgments.kinds import KINDS
from judgments.models import Caption, Item, Output, Study, System
from judgments.studies.studies import mark_closed
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.foreign_pages import english_on, texts_of
from tests.annotation.posting import submit, work_of
from tests.annotation.quizzing import take
from tests.annotation.scenes import make_scenes
from tests.crowd import first_answers
from tests.templating import make_template_study

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


@pytest.mark.parametrize("protocol", list(KINDS))
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
    asked = {option for one in QUIZ_PRESETS["hodosh-2013-english"].questions for option in one.options}
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
    assert "What is wrong with number 1?" in jutta.client.get(report).content.decode()
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
