"""Help in reach: each page of the admin leads to the page of the documentation that explains it, and that is there."""

import html
import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.features import active_features, all_features
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.admin.absent_features import FEATURE_LINK, without_absent_features
from judgments.admin.documentation import document_html, documents
from judgments.models import Study
from tests.evaluation.test_study_page import pairwise
from tests.installations import ROOT, Installations
from tests.strangers import addresses

pytestmark = pytest.mark.django_db
VISIT = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from judgments.admin.documentation import documents

browser = Client()
browser.force_login(User.objects.create_superuser("rosa", password="a long enough password"))
pages = [name for name in documents() if name.endswith(".md")]
print(json.dumps({name: browser.get(f"/admin/help/{name}").content.decode() for name in pages}))
"""
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


def test_pictures_of_features_have_names_of_their_own() -> None:
    """The documentation has them all in one folder."""
    names = [path.name for path in ROOT.glob("contrib/*/*.png")]
    assert names
    assert len(names) == len(set(names))


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


def links_of(name: str, page: str) -> Iterator[tuple[str, str]]:
    """The page of the documentation and the anchor of each link of a page to it."""
    document = page.partition('class="q-card q-document"')[2]
    assert document, name
    for address, anchor in re.findall(r'href="(?:/admin/help/([^"#]+\.md))?(#[^"]+)?"', document):
        if address or anchor:
            yield address or name, anchor.removeprefix("#")


@pytest.mark.long
def test_without_features_no_page_speaks_of_what_is_not_there(installations: Installations) -> None:
    with installations.fresh("sqlite") as installation:
        installation.turn_off("challenges")
        installation.env["CONTRIB_APPS"] = ""
        pages = installation.reply_of(VISIT)
    assert len(pages) > 40
    links = [(name, *link) for name, page in pages.items() for link in links_of(name, page)]
    assert len(links) > 100
    assert [link for link in links if link[1] not in pages] == []
    assert [link for link in links if link[2] and f'id="{link[2]}"' not in pages[link[1]]] == []
    for name, page in pages.items():
        text = html.unescape(re.sub("<[^>]*>", "", page.partition('class="q-card q-document"')[2]))
        source = (ROOT / "docs" / name).read_text("utf-8")
        linked = re.compile(r"\[([^]]*)(?=" + FEATURE_LINK.pattern + ")")
        rest = linked.sub("", source)
        labels = {match[1].replace("`", "") for match in linked.finditer(source)}
        assert [label for label in labels if label in text and label not in rest] == [], name
    for trace in ("a model may judge", "Judges that are no people", "archives", "an arena", "HIT templates"):
        assert trace not in pages["index.md"]
    speaking = {name for name, page in pages.items() if "challenge" in page.lower()}
    assert [name for name in speaking if not name.startswith("decisions/")] == []  # these are records


@pytest.mark.parametrize("absent", all_features())
def test_without_a_feature_no_page_leads_to_it(absent: str) -> None:
    features = active_features([name for name in all_features() if name != absent])
    for name, path in documents().items():
        if name.endswith(".md"):
            page = without_absent_features(path.read_text("utf-8"), features)
            assert {link[2] for link in FEATURE_LINK.finditer(page)} <= features.keys(), name


THERE, AWAY = "[there](../contrib/there/README.md)", "[away](../contrib/away/README.md#part)"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (f"| find {THERE} | a |\n| find out | {AWAY} |\n| b | c |", f"| find {THERE} | a |\n| b | c |"),
        (f"| find | [a](a.md), {AWAY}, [b](b.md) |", "| find | [a](a.md), [b](b.md) |"),
        (f"| {AWAY} | a [page](a.md) |\n| `k` | `a`, {AWAY}; or b |", "| `k` | `a`; or b |"),
        (f"Read [a](a.md), {THERE} and {AWAY}.", f"Read [a](a.md) and {THERE}."),
        (f"It is so ({AWAY} says why). It is {THERE}.", f"It is so. It is {THERE}."),
        (f"One is {THERE}. Two\nis {AWAY}. Three stays.", f"One is {THERE}. Three stays."),
        (f"A.\n\n{AWAY} goes. B stays.", "A.\n\nB stays."),
        (f"Take some, e.g. {AWAY}. Meyen et al. 2021 has {AWAY}. B stays.", "B stays."),
        (f"- a\n- an {AWAY}: b. More of it.\n- c", "- a\n- c"),
        (f"1. a\n2. b ({AWAY}). More of it.\n3. an {AWAY}: b. More.\n4. c", "1. a\n2. b. More of it.\n4. c"),
        (f"# Page\n\n## First\n\n{AWAY} only.\n\n## Second\n\nText.", "# Page\n\n## Second\n\nText."),
        (
            f"# Page\n\n## First\n\n### Part\n\n{AWAY} only.\n\n## Second\n\nText.",
            "# Page\n\n## Second\n\nText.",
        ),
        (f"# Page\n\nText.\n\n## Last\n\n{AWAY} only.\n", "# Page\n\nText.\n\n"),
        (f"Nothing (of {THERE}) is away.\n", f"Nothing (of {THERE}) is away.\n"),
    ],
    ids=[
        "row",
        "list",
        "first cell",
        "conjunction",
        "parentheses",
        "sentence",
        "paragraph",
        "abbreviations",
        "item",
        "numbers",
        "section",
        "subsection",
        "last section",
        "nothing",
    ],
)
def test_what_is_said_of_a_feature_goes_with_it(source: str, shown: str) -> None:
    assert without_absent_features(source, ["there"]) == shown
