"""The texts of workers, and those of staff, in every language that is shipped."""

import shutil
import subprocess
import sys
from gettext import c2py
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from django.conf import settings
from django.test import Client
from django.utils import translation
from django.utils.translation import ngettext, to_language

from scripts import messages

pytestmark = pytest.mark.django_db

# Prints the messages of this folder's sources that none of its catalogues has.
UNTRANSLATED = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from scripts import messages
found = [*messages.collect_messages(), *messages.collect_messages(staff=True)]
stored = messages.stored_messages("de")
keys = [messages.key_of(message) for message in found if message.id]
assert len(keys) > 1000
print([key for key in keys if key not in stored])
"""


def folders_of(text: str, language: str = "de") -> list[str]:
    """The folders of the catalogues that have a text."""
    places = messages.catalogues().items()
    return [place[0] for place, catalog in places if place[1] == language and catalog.get(text) is not None]


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_every_text_is_translated_and_compiled(language: str) -> None:
    assert messages.problems(language) == []


def test_a_text_that_one_feature_has_is_in_its_folder() -> None:
    of_workers, of_staff = "You did not pass the test", "Errors by system"
    assert folders_of(of_workers) == folders_of(of_workers, "es") == ["contrib/quiz/locale"]
    assert folders_of(of_staff) == ["contrib/error_spans/locale"]
    assert folders_of(of_staff, "es") == []  # staff read German or English
    with translation.override("de"):
        assert translation.gettext(of_staff) == "Fehler je System"


def test_a_text_that_others_have_too_is_in_the_platform_s_folder() -> None:
    assert folders_of("Sign out") == ["locale"]  # of two features
    assert folders_of("Which metric agrees with people?") == ["locale/staff"]  # of the platform and a feature
    # Django's admin translates it for another meaning, and is read after a feature's catalogue.
    assert folders_of("Addition") == ["locale"]


@pytest.mark.long
def test_the_platform_has_all_its_translations_without_the_folders_of_features(tmp_path: Path) -> None:
    packages = [name for name in messages.PACKAGES if name != messages.CONTRIB]
    for name in (*packages, "docs", "locale", "quorum", "scripts", "static", "templates"):
        ignored = shutil.ignore_patterns("__pycache__", "tests", "examples")
        shutil.copytree(messages.ROOT / name, tmp_path / name, ignore=ignored)
    (tmp_path / messages.CONTRIB).mkdir()
    command = [sys.executable, "-c", UNTRANSLATED]
    environment = {"DATA_DIR": str(tmp_path / "var"), "SECRET_KEY": "of a test"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"


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
