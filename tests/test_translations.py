"""The workers' texts in every language that is shipped."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

from scripts import messages

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_every_text_of_a_worker_is_translated_and_compiled(language: str) -> None:
    assert messages.problems(language) == []


def test_the_languages_offered_are_those_with_a_catalogue() -> None:
    assert {code for code, _ in settings.LANGUAGES} == {"en", *messages.LANGUAGES}


def test_a_worker_gets_the_browser_s_language_and_can_choose_another() -> None:
    browser = Client(headers={"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    page = browser.get("/")
    assert page.headers["Content-Language"] == "de"
    assert '<html lang="de"' in page.text
    assert browser.post("/language/", {"language": "en", "next": "/"}).status_code == 302
    assert '<html lang="en"' in browser.get("/").text


def test_admin_and_api_stay_english() -> None:
    browser = Client(headers={"accept-language": "de"})
    assert "Log in" in browser.get("/admin/login/").text
    assert "Content-Language" not in browser.get("/api/schema/").headers
