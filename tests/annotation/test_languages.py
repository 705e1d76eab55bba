"""A study's own texts in several languages, the page's direction, and what it promises."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils.translation import override

from annotation.quiz.quizzes import labelled_texts, sheet_of, start_attempt, translate_sheet
from annotation.work.worksheet import translated_text
from common.errors import DesignError
from evaluation.management.installation import FOLDER, OPENED
from judgments.design.reading import make_design, read_toml, write_toml
from judgments.design.study_design import design_in
from judgments.kinds import KINDS
from judgments.models import HITUnit
from judgments.studies.studies import design_of
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.posting import work_of

pytestmark = pytest.mark.django_db

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
        ({"pt": TEXTS}, "'pt' is no language of the workers' pages"),
        ({"es": TEXTS | {"labels": ["uno"]}}, "translations.es.labels has 1 entries; expected 0"),
        (
            {"es": TEXTS | {"examples": TEXTS["examples"] * 2}},
            "translations.es.examples has 2 entries; expected 1",
        ),
        ({"es": {"questoin": "?"}}, "the nearest one is 'question'"),
    ],
)
def test_texts_that_do_not_fit_the_design_are_refused(translations: dict[str, Any], sentence: str) -> None:
    asked = {"name": "Shapes", "dataset": "shapes", "protocol": "pairwise", **VALUES}
    with pytest.raises(DesignError, match=sentence.replace("?", r"\?")):
        make_design(asked | {"translations": translations})
    design = make_design(asked | {"translations": {"es": TEXTS}})
    assert read_toml(write_toml(design)) == design
    assert "translations" not in write_toml(make_design(asked))
    graded = {"protocol": "graded", "labels": ["a", "b", "c", "d"], "examples": []}
    with pytest.raises(DesignError, match=r"translations\.es\.labels has the same text twice"):
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
    (example,) = design_in(design_of(study), "es").examples
    assert (example.scene, example.answer, example.why) == ("A dog.", "The first.", "Es un perro.")
    attempt = start_attempt(study=study, worker=joined(study).worker)
    with override("es"):
        shown = [one.question for one in translate_sheet(sheet_of(attempt)).questions.values()]
    assert {one.why for one in shown if one.text == "¿Cuál?"} == {"It is one."}
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


@pytest.mark.parametrize("name", OPENED)
def test_the_demo_s_texts_are_in_every_language_of_the_workers_pages(name: str) -> None:
    design = read_toml((FOLDER / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    for code, _ in settings.LANGUAGES[1:]:
        with override(code):
            there = design_in(design, code)
            for key in ("name", "question", "instructions"):
                assert translated_text(getattr(there, key)) != getattr(design, key)
