"""Authors are named wherever their pictures are shown."""

import pytest
from django.test import Client

from judgments.models import Dataset
from tests.studies import make_study

pytestmark = pytest.mark.django_db

CREDIT = "pagoda.jpg: A pagoda, <b>Somebody</b>, CC BY 2.0 (example.org/pagoda)"


def credited(protocol: str = "pairwise") -> str:
    study = make_study(protocol)
    Dataset.objects.update(attribution=CREDIT)
    return study.slug


def test_a_page_with_pictures_links_to_who_made_them(client: Client) -> None:
    slug = credited()
    client.post(f"/s/{slug}/", {"name": "worker"})
    assert f'href="/s/{slug}/credits/"' in client.get(f"/s/{slug}/work/").content.decode()


def test_the_credits_name_the_authors_and_are_escaped(client: Client) -> None:
    page = client.get(f"/s/{credited()}/credits/").content.decode()
    assert "&lt;b&gt;Somebody&lt;/b&gt;, CC BY 2.0" in page


def test_a_page_of_sentences_has_no_credits_to_give(client: Client) -> None:
    slug = credited("triplet")
    client.post(f"/s/{slug}/", {"name": "worker"})
    assert "credits" not in client.get(f"/s/{slug}/work/").content.decode()


def test_a_study_nobody_was_let_into_shows_strangers_nothing(client: Client) -> None:
    study = make_study(opened=False)
    Dataset.objects.update(attribution=CREDIT)
    assert client.get(f"/s/{study.slug}/credits/").status_code == 404
