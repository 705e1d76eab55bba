"""The texts of workers, and those of staff, in every language that is shipped."""

from gettext import c2py

import pytest
from babel.messages.catalog import Message
from django.conf import settings
from django.test import Client
from django.utils import translation
from django.utils.translation import ngettext, to_language

from scripts import messages

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_every_text_of_a_worker_is_translated_and_compiled(language: str) -> None:
    assert messages.problems(language) == []


@pytest.mark.parametrize("language", messages.STAFF_LANGUAGES)
def test_every_text_for_staff_is_translated_and_compiled(language: str) -> None:
    assert messages.problems(language, staff=True) == []


def test_a_translation_without_a_placeholder_or_with_a_strange_one_is_found() -> None:
    form_of = c2py("n != 1")
    one, many = "%(n)d page of %(all)d", "%(n)d pages of %(all)d"
    fine = ("Eine von %(all)d Seiten", "%(n)d von %(all)d Seiten")
    for string, wrong in ((fine, 0), ((fine[0], "von %(all)d Seiten"), 1), ((fine[0], many + " %(no)s"), 1)):
        message = Message((one, many), string)
        assert len(list(messages.placeholder_problems(message, form_of))) == wrong
    assert list(messages.placeholder_problems(Message("{here} of {all}", "{here}"), form_of))


def test_numbers_take_the_forms_of_arabic() -> None:
    with translation.override("ar"):
        said = [ngettext("%(n)d question", "%(n)d questions", n) % {"n": n} for n in (1, 2, 3, 11, 100)]
    assert said == ["سؤال واحد", "سؤالان", "3 أسئلة", "11 سؤالًا", "100 سؤال"]


def test_the_languages_offered_are_those_with_a_catalogue() -> None:
    catalogues = {to_language(locale) for locale in messages.LANGUAGES}
    assert {code for code, _ in settings.LANGUAGES} == {"en", *catalogues}


def test_a_worker_gets_the_browser_s_language_and_can_choose_another() -> None:
    browser = Client(headers={"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    page = browser.get("/")
    assert page.headers["Content-Language"] == "de"
    assert '<html lang="de"' in page.text
    assert browser.post("/language/", {"language": "en", "next": "/"}).status_code == 302
    assert '<html lang="en"' in browser.get("/").text


def test_staff_read_german_or_english_whatever_the_browser_asks_for() -> None:
    browser = Client(headers={"accept-language": "de-CH,de;q=0.9"})
    page = browser.get("/admin/login/")
    assert page.headers["Content-Language"] == "de"
    assert '<html lang="de"' in page.text
    assert "Anmelden" in page.text
    assert "Log in" not in page.text
    assert browser.post("/language/", {"language": "en", "next": "/admin/login/"}).status_code == 302
    assert "Log in" in browser.get("/admin/login/").text
    spanish = Client(headers={"accept-language": "es"}).get("/admin/login/").text
    assert '<html lang="en"' in spanish
    assert "Log in" in spanish
    assert "Iniciar" not in spanish


def test_calls_stay_english() -> None:
    browser = Client(headers={"accept-language": "de"})
    assert "Content-Language" not in browser.get("/api/schema/").headers
    assert "credentials" in browser.get("/api/studies/").json()["detail"]
