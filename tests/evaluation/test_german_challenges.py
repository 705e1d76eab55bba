"""The evaluation server's pages in German: whoever chose the language gets all of them in it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.annotation.foreign_pages import english_on
from tests.evaluation.challenging import a_challenge, captions, file_of, participant, work_off

pytestmark = pytest.mark.django_db
GERMAN = {"accept-language": "de"}


def test_the_way_from_the_list_to_the_leaderboard_is_german() -> None:
    made = a_challenge(title="Wiesen", description="")
    browser = Client(headers=GERMAN)
    before = [reverse("evaluation:challenges"), reverse("evaluation:challenge", args=[made.slug])]
    pages = [browser.get(address).text for address in [*before, reverse("evaluation:sign-in")]]
    browser.force_login(participant())
    submit = reverse("evaluation:submit", args=[made.slug])
    pages.append(browser.get(submit).text)
    values = {"system": "Gaertner", "team": "Ada", "public": "on"}
    refused = browser.post(submit, values | {"file": SimpleUploadedFile("a.json", b"[]")})
    assert "Die Datei hat 0 von 24 Bildunterschriften" in refused.text
    done = browser.post(submit, values | {"file": file_of(captions(20))}, follow=True)
    assert "Ihre Bildunterschriften sind gespeichert und werden bewertet." in done.text
    pages += [refused.text, done.text]
    work_off()
    pages += [browser.get(address).text for address in [*before, reverse("evaluation:own", args=[made.slug])]]
    assert "Rangliste" in pages[-2]
    assert "Aus der Rangliste nehmen" in pages[-1]
    for shown in pages:
        assert '<html lang="de"' in shown
        assert english_on(shown) == []
