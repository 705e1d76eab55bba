"""Help in reach: each page of the admin leads to the page of the documentation that explains it, and that is there."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.admin.documentation import document_html, documents
from judgments.models import Study
from tests.evaluation.test_study_page import pairwise
from tests.strangers import addresses

pytestmark = pytest.mark.django_db
HELP = re.compile(r'class="q-help-link" href="/admin/help/([^"]+)"')


@pytest.fixture(scope="module")
def study(module_db: None) -> Study:
    study: Study = pairwise().study
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
    return study


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def pages_of(client: Client, study: Study) -> Iterator[tuple[str, str]]:
    """Each address of the admin that answers with a whole page, and the page."""
    for address in addresses(study):
        if not address.startswith("/admin/") or re.search("/do/|logout", address):
            continue
        answer = client.get(address)
        if answer.status_code == 200 and not answer.streaming and b"</html>" in answer.content:
            yield address, answer.content.decode()


@pytest.mark.long
def test_every_page_of_the_admin_leads_to_a_page_and_heading_that_explain_it(
    client: Client, study: Study
) -> None:
    led = {address: HELP.findall(page) for address, page in pages_of(client, study)}
    assert len(led) > 100
    assert [address for address, found in led.items() if len(found) != 1] == []
    lost = []
    for name, _, anchor in {found.partition("#") for [found] in led.values()}:
        answer = client.get(f"/admin/help/{name}")
        if answer.status_code != 200 or (anchor and f'id="{anchor}"' not in answer.content.decode()):
            lost.append((name, anchor))
    assert lost == []
    # the tutorial explains what has no page of its own, and that is little
    assert sum(found == ["tutorial.md"] for found in led.values()) < 6


@pytest.mark.parametrize("name", [name for name in documents() if name.endswith(".md")])
def test_links_within_the_documentation_lead_somewhere(name: str) -> None:
    for address in re.findall(r'(?:href|src)="([^"]*)"', document_html(name)):
        if not re.match("https?:|mailto:", address):
            there, _, anchor = address.removeprefix("/admin/help/").partition("#")
            assert (there or name) in documents(), address
            assert not anchor or f'id="{anchor}"' in document_html(there or name), address


def test_other_files_and_strangers_get_nothing(client: Client) -> None:
    assert client.get("/admin/help/../README.md").status_code == 404
    assert client.get("/admin/help/figures/pages.csv").status_code == 404
    assert Client().get("/admin/help/tutorial.md").status_code == 302


def test_the_terms_are_those_of_the_glossary(client: Client) -> None:
    answer = client.get("/admin/terms/en/").json()
    assert dict(answer["terms"])["consensus"]
    page, _, anchor = answer["glossary"]["address"].removeprefix("/admin/help/").partition("#")
    assert f'id="{anchor}"' in document_html(page)
    assert all(f"<strong>{name}</strong>" in document_html(page) for name, _ in answer["terms"])


def test_an_address_of_the_admin_without_a_page_leads_back_to_the_studies(client: Client) -> None:
    answer = client.get("/admin/judgments/nothing/")
    assert answer.status_code == 404
    assert 'q-primary" href="/admin/"' in answer.content.decode()
    assert 'class="q-help-link"' in answer.content.decode()
