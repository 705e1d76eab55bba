"""Describe a release for archives: the facts about it, the card of a Hugging Face dataset, and Zenodo's metadata."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from contrib.archives.models import Deposit
from contrib.archives.planning.citations import Creator, Paper
from evaluation.data.releases.bundle import BundleReader
from evaluation.data.releases.documents import LICENCES
from evaluation.data.releases.storage import release_name
from evaluation.models import Release
from evaluation.presentation.rendering import text_templates
from judgments.models import Study
from judgments.studies.designs import design_of

# YAML reads JSON strings, but refuses these characters or takes them for the end of a line. They are escaped.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
TEMPLATES = text_templates(Path(__file__).parent.parent / "templates")
TEMPLATES.filters["json"] = lambda text: _UNPRINTABLE.sub(
    lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False)
)
FIRST_TABLE = "judgments.jsonl"
# The size categories of the Hugging Face Hub, each below a number of rows.
SIZE_CATEGORIES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
# The ISO 639-3 code, which Zenodo requires, by ISO 639-1 code. Other languages are left out at Zenodo.
LANGUAGES = {
    "ar": "ara",
    "de": "deu",
    "en": "eng",
    "es": "spa",
    "fr": "fra",
    "it": "ita",
    "ja": "jpn",
    "zh": "zho",
}


@dataclass(frozen=True)
class ReleaseFacts:
    """The facts about a release that the card and the metadata state. The templates use the attributes by name.

    Attributes:
        title: the release's title, with a remark if its answers are simulated.
        manifest: the bundle's manifest.json.
        design: the bundle's design.toml.
        datasheet: the datasheet in Markdown, without its title, and with headings one level lower than in the bundle.
        language: a code of ISO 639, or "".
        is_about_pictures: whether pictures were judged, and not texts alone.
        size_category: one of the size categories of the Hugging Face Hub.
        doi_elsewhere: the DOI of this release at another archive, or "".
        earlier_dois: the DOI of the newest earlier release that has a public one, alone in a list; otherwise [].
        bundle_name: the name of the bundle's file.
    """

    release: Release
    title: str
    manifest: Mapping[str, Any]
    design: Mapping[str, Any]
    creators: list[Creator]
    keywords: list[str]
    papers: list[Paper]
    language: str
    is_about_pictures: bool
    datasheet: str
    licence_name: str
    licence_address: str
    size_category: str
    doi_elsewhere: str
    earlier_dois: list[str]
    bundle_name: str

    @property
    def study(self) -> Study:
        return self.release.study

    @property
    def tables(self) -> list[tuple[str, int]]:
        """The names and numbers of rows of the tables that are not empty, judgments first.

        The library ``datasets`` cannot load an empty file.
        """
        files = self.manifest["files"]
        tables = [
            (name, files[name]["rows"])
            for name in files
            if name.endswith(".jsonl") and files[name].get("rows")
        ]
        return sorted(tables, key=lambda table: (table[0] != FIRST_TABLE, table[0]))

    def render(self, template: str, **variables: Any) -> str:
        context = {**vars(self), "study": self.study, "tables": self.tables, **variables}
        return TEMPLATES.get_template(template).render(**context)


def collect_facts(
    release: Release,
    reader: BundleReader,
    *,
    creators: list[Creator],
    keywords: list[str],
    papers: list[Paper],
) -> ReleaseFacts:
    """Collect the facts about a release from its bundle, its study and earlier deposits."""
    manifest = reader.json("manifest.json")
    design = tomllib.loads(reader.text("design.toml"))
    language = str(design.get("language") or "").partition("-")[0].lower()
    judgment_count = int(manifest["files"].get(FIRST_TABLE, {}).get("rows", 0))
    # A reserved DOI cannot be resolved yet, so only public deposits are named.
    deposits = Deposit.objects.filter(release__study=release.study_id, state=Deposit.State.PUBLIC)
    deposits_with_doi = deposits.exclude(doi="").order_by("-release_id")
    public_dois = list(deposits_with_doi.values_list("doi", "release_id"))
    return ReleaseFacts(
        release=release,
        title=f"{release.title} (simulated answers)" if manifest["simulated"] else release.title,
        manifest=manifest,
        design=design,
        creators=creators,
        keywords=keywords,
        papers=papers,
        language=language if len(language) in (2, 3) else "",
        is_about_pictures=design_of(release.study).about_pictures,
        datasheet=re.sub(r"(?m)^#", "##", reader.text("datasheet.md").partition("\n")[2].strip()),
        licence_name=LICENCES[release.licence]["name"],
        licence_address=LICENCES[release.licence]["address"],
        size_category=next((label for limit, label in SIZE_CATEGORIES if judgment_count < limit), "n>1M"),
        doi_elsewhere=next((doi for doi, pk in public_dois if pk == release.pk), ""),
        earlier_dois=[doi for doi, pk in public_dois if pk < release.pk][:1],
        bundle_name=release_name(release.study, release.version),
    )


def zenodo_metadata(facts: ReleaseFacts, licence: str) -> dict[str, Any]:
    """Return the metadata for InvenioRDM (https://inveniordm.docs.cern.ch/reference/metadata/).

    Args:
        licence: Zenodo's id of the licence; "" to give its name and address instead.
    """
    related_identifiers = [
        {
            "identifier": paper.identifier,
            "scheme": paper.scheme,
            "relation_type": {"id": "issupplementto"},
            "resource_type": {"id": "publication-article"},
        }
        for paper in facts.papers
    ]
    related_identifiers += [
        {"identifier": doi, "scheme": "doi", "relation_type": {"id": "isnewversionof"}}
        for doi in facts.earlier_dois
    ]
    licence_by_address = {"title": {"en": facts.licence_name}, "link": facts.licence_address}
    metadata: dict[str, Any] = {
        "title": facts.title,
        "publication_date": facts.manifest["released_on"],
        "publisher": "Zenodo",
        "resource_type": {"id": "dataset"},
        "creators": [_invenio_person(creator) for creator in facts.creators],
        "description": _description_in_html(facts),
        "rights": [{"id": licence} if licence else licence_by_address],
        "version": facts.release.version,
        "subjects": [{"subject": word} for word in facts.keywords],
    }
    if facts.language in LANGUAGES:
        metadata["languages"] = [{"id": LANGUAGES[facts.language]}]
    if related_identifiers:
        metadata["related_identifiers"] = related_identifiers
    return metadata


def _invenio_person(creator: Creator) -> dict[str, Any]:
    """Return a creator as InvenioRDM describes persons. A creator without a given name is an organisation."""
    if not creator.given:
        person: dict[str, Any] = {"person_or_org": {"type": "organizational", "name": creator.family}}
    else:
        orcid = [{"scheme": "orcid", "identifier": creator.orcid}] if creator.orcid else []
        names = {"family_name": creator.family, "given_name": creator.given}
        person = {"person_or_org": {"type": "personal", **names, "identifiers": orcid}}
    if creator.affiliation:
        person["affiliations"] = [{"name": creator.affiliation}]
    return person


def _description_in_html(facts: ReleaseFacts) -> str:
    text = facts.render("summary.j2")
    return "".join(f"<p>{escape(line, quote=False)}</p>" for line in text.splitlines() if line.strip())
