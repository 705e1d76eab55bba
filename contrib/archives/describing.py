"""Plan a deposit: its files, its description, its licence, and reasons not to send it."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.utils.translation import gettext as _

from annotation.models import Erasure
from common.amounts import thousands
from common.features import feature_settings
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from evaluation.data.releases.bundle import CHUNK, BundleReader
from evaluation.data.releases.documents import LICENCES
from evaluation.data.releases.storage import release_name
from evaluation.models import Release
from evaluation.presentation.rendering import text_templates
from judgments.studies.designs import design_of

TEMPLATES = text_templates(Path(__file__).parent / "templates")
# A JSON string is also a YAML string, except for characters that YAML refuses or takes for the end of a line.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
TEMPLATES.filters["json"] = lambda text: _UNPRINTABLE.sub(
    lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False)
)
Archive = Deposit.Archive
SAMPLE_BYTES = 512  # number of first bytes from which Hugging Face guesses how to store a file
# Files of the bundle that are also sent separately, so that people can read them before they download the bundle.
ZENODO_FILES = ("README.md", "datasheet.md")
HUGGINGFACE_FILES = ("croissant.json", "datasheet.md", "LICENSE", "CITATION.cff")
FIRST_TABLE = "judgments.jsonl"
KEYWORDS = ("human judgments", "crowdsourcing", "evaluation")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
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
_CREATOR = re.compile(
    r"(?P<family>[^,()]+?)(?:, *(?P<given>[^()]+?))??(?: +(?P<orcid>\d{4}-\d{4}-\d{4}-\d{3}[\dX]))?"
    r"(?: *\((?P<affiliation>[^()]+)\))?"
)
_DOI = re.compile(r"(?:doi:|https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
_ARXIV = re.compile(
    r"(?:arxiv:|https?://arxiv\.org/abs/)(\d{4}\.\d{4,5}|[a-z.-]+/\d{7})(?:v\d+)?", re.IGNORECASE
)
_NON_COMMERCIAL = re.compile(r"\bBY[ -]NC\b|\bnon[ -]?commercial|\bnicht[ -]?kommerziell", re.IGNORECASE)
_SHARE_ALIKE = re.compile(r"\bBY(?:[ -]NC)?[ -]SA\b|\bshare[ -]?alike", re.IGNORECASE)
_NO_RIGHTS = re.compile(
    r"all rights reserved|alle rechte vorbehalten|\bproprietary\b|\b(?:no|not|never|without)\b[^.;]{0,30}\bredistribut"
    r"|\b(?:no|not)\b[^.;]{0,20}\bdistribut|\bkeine weitergabe|\bresearch(?: purposes| use)? only\b"
    r"|\bonly for (?:[\w-]+ ){0,2}research|\bnur (?:für|zu) forschung",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DepositFile:
    """A file to send. ``open`` yields its bytes from an offset (default 0), and can be called again."""

    name: str
    size: int
    sha256: str
    md5: str
    git: str  # the hash of a git blob
    sample: bytes
    open: Callable[..., Iterator[bytes]] = field(repr=False)

    def read(self, begin: int, end: int) -> Iterator[bytes]:
        left = end - begin
        for part in self.open(begin):
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return


@dataclass(frozen=True, slots=True)
class DepositPlan:
    """A planned deposit. ``obstacles`` are the reasons why it must not be made."""

    release: Release
    archive: str
    url: str
    host: str
    repository: str
    publish: bool
    licence: str
    metadata: Mapping[str, Any]
    files: tuple[DepositFile, ...]
    statements: Mapping[str, Any]
    obstacles: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "version": self.release.version,
            "place": self.archive,
            "address": self.url,
            "host": self.host,
            "repository": self.repository,
            "publish": self.publish,
            "licence": self.licence,
            "metadata": dict(self.metadata),
            "files": self.files_as_json(),
            "refused": list(self.obstacles),
        }

    def files_as_json(self) -> list[dict[str, Any]]:
        return [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in self.files]


def plan_deposit(
    *,
    release: Release,
    bundle: Path,
    to: str,
    sandbox: bool = False,
    publish: bool = False,
    repository: str = "",
    creators: str = "",
    keywords: str = "",
    papers: str = "",
    cleared: bool = False,
) -> DepositPlan:
    """Return the deposit that would be sent. Missing values are taken from the study's last deposit.

    Args:
        bundle: the release's file.
        creators: one per line, or separated by ";": "Doe, Jane 0000-0002-1825-0097 (University)".
        papers: DOIs, arXiv ids or addresses of related papers, separated by blanks.
        cleared: whether the person states that the release's licence covers the texts.

    Raises:
        PublishingError: a value cannot be parsed.
        VerificationError: the file is not the release's, or contradicts its own hashes.
    """
    url, host = address_of(to, sandbox=sandbox)
    last = Deposit.objects.filter(release__study=release.study_id).order_by("-pk").first()
    before = last.statements if last is not None else {}
    statements = {
        "creators": creators or before.get("creators", ""),
        "keywords": keywords or before.get("keywords", ""),
        "papers": papers or before.get("papers", ""),
    }
    if to == Archive.HUGGINGFACE and not repository:
        last_deposit = (
            Deposit.objects.filter(release__study=release.study_id, host=host).order_by("-pk").first()
        )
        repository = last_deposit.repository if last_deposit is not None else ""
    people, related = read_creators(statements["creators"]), read_papers(statements["papers"])
    subjects = [" ".join(part.split()) for part in statements["keywords"].split(",") if part.strip()]
    subjects = subjects or [*KEYWORDS, release.study.protocol]
    licence = LICENCES[release.licence].get(to, release.licence.lower())
    with closing(_open_bundle(bundle, release)) as reader:
        facts = _collect_facts(release, reader, people, subjects, related)
        members = [name for name in bundle_files_for(to, reader) if name in reader.names]
        files = [_content(release_name(release.study, release.version), partial(_read_file, bundle))]
        files += [_content(name, partial(_read_member, bundle, name)) for name in members]
        if to == Archive.HUGGINGFACE:
            card = TEMPLATES.get_template("card.md.j2").render(
                **facts, licence=licence, repository=repository, tables=_tables(facts)
            )
            files.insert(0, _content("README.md", partial(_read_text, card.encode())))
        for file in files:
            stated = facts["manifest"]["files"].get(file.name)
            if file.name in members and stated is not None and stated["sha256"] != file.sha256:
                raise PublishingError(f"{file.name} of {bundle} was changed; nothing was sent.")
    return DepositPlan(
        release=release,
        archive=to,
        url=url,
        host=host,
        repository=repository,
        publish=publish,
        licence=licence or release.licence,
        metadata=_zenodo_metadata(facts, licence) if to == Archive.ZENODO else {},
        files=tuple(files),
        statements={**statements, "cleared": cleared},
        obstacles=tuple(_refusals(release, to, repository, people, cleared=cleared)),
    )


def bundle_files_for(to: str, reader: BundleReader) -> list[str]:
    if to == Archive.ZENODO:
        return list(ZENODO_FILES)
    return [
        *(name for name in reader.names if name.endswith(".jsonl") and "/" not in name),
        *HUGGINGFACE_FILES,
    ]


def address_of(to: str, *, sandbox: bool) -> tuple[str, str]:
    if to == Archive.HUGGINGFACE and sandbox:
        raise PublishingError(
            _(
                "Hugging Face has no sandbox. Choose Zenodo, or leave out --sandbox; a dataset at "
                "Hugging Face stays private until you publish it."
            )
        )
    url = feature_settings.HUGGINGFACE_URL if to == Archive.HUGGINGFACE else feature_settings.ZENODO_URL
    url = feature_settings.ZENODO_SANDBOX_URL if sandbox else url
    host = url.partition("://")[2].partition("/")[0]
    if "@" in host:  # refuse a password, since the address is shown on pages and stored
        raise PublishingError(
            _(
                "The address of %(host)s in the settings contains a user name or a password; expected "
                "an address without them."
            )
            % {"host": host.rpartition("@")[2]}
        )
    return url.rstrip("/"), host


def read_creators(text: str) -> list[dict[str, str]]:
    """Return family, given, orcid and affiliation of each creator. Raise PublishingError if a line is invalid."""
    creators = []
    for line in re.split(r"[;\n]", text):
        if not (line := " ".join(line.split())):
            continue
        match = _CREATOR.fullmatch(line)
        if match is None:
            raise PublishingError(
                f"The creator {line!r} cannot be read; expected such as "
                "'Doe, Jane 0000-0002-1825-0097 (University of Somewhere)'."
            )
        person = {name: value or "" for name, value in match.groupdict().items()}
        if person["orcid"] and _check_digit(person["orcid"]) != person["orcid"][-1]:
            raise PublishingError(
                f"{person['orcid']} is no ORCID iD: its last digit does not follow from the others."
            )
        creators.append(person)
    return creators


def _check_digit(orcid: str) -> str:
    """Return the check digit of an ORCID iD, by ISO 7064 MOD 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def read_papers(text: str) -> list[dict[str, str]]:
    """Return the identifier and the scheme of each paper. Raise PublishingError if a paper is invalid."""
    papers = []
    for word in text.replace(",", " ").split():
        if match := _DOI.fullmatch(word):
            papers.append({"identifier": match[1].rstrip("."), "scheme": "doi"})
        elif match := _ARXIV.fullmatch(word):
            papers.append({"identifier": f"arXiv:{match[1]}", "scheme": "arxiv"})
        elif word.startswith("https://"):
            papers.append({"identifier": word, "scheme": "url"})
        else:
            raise PublishingError(
                f"The paper {word!r} cannot be read; expected a DOI, such as 10.1162/tacl_a_00449, "
                "arXiv:2401.12345, or an https address."
            )
    return papers


def _open_bundle(bundle: Path, release: Release) -> BundleReader:
    digest = hashlib.sha256()
    reader = BundleReader(bundle)
    for part in _read_file(bundle):
        digest.update(part)
    if digest.hexdigest() != release.sha256:
        reader.close()
        raise PublishingError(
            f"{bundle} is not release {release.version} of study {release.study.slug!r}: its SHA-256 is "
            f"{digest.hexdigest()}, expected {release.sha256}."
        )
    return reader


def _collect_facts(
    release: Release,
    reader: BundleReader,
    people: list[dict[str, str]],
    keywords: list[str],
    papers: list[dict[str, str]],
) -> dict[str, Any]:
    manifest = reader.json("manifest.json")
    design = tomllib.loads(reader.text("design.toml"))
    language = str(design.get("language") or "").partition("-")[0].lower()
    earlier = Deposit.objects.filter(release__study=release.study_id).exclude(doi="").order_by("-release_id")
    dois = list(earlier.values_list("host", "doi", "release_id", "release__version", "state"))
    return {
        "release": release,
        "study": release.study,
        "title": f"{release.title} (simulated answers)" if manifest["simulated"] else release.title,
        "manifest": manifest,
        "design": design,
        "people": people,
        "keywords": keywords,
        "papers": papers,
        "language": language if len(language) in (2, 3) else "",
        "pictures": design_of(release.study).about_pictures,
        "datasheet": re.sub(r"(?m)^#", "##", reader.text("datasheet.md").partition("\n")[2].strip()),
        "licence_name": LICENCES[release.licence]["name"],
        "licence_address": LICENCES[release.licence]["address"],
        "size": next((label for most, label in SIZES if _count_rows(manifest, FIRST_TABLE) < most), "n>1M"),
        # a reserved DOI cannot be resolved yet
        "doi": next((doi for _h, doi, pk, _v, state in dois if pk == release.pk and state == "public"), ""),
        "earlier": [doi for _h, doi, pk, _v, state in dois if pk < release.pk and state == "public"][:1],
        "bundle": release_name(release.study, release.version),
    }


def _count_rows(manifest: Mapping[str, Any], name: str) -> int:
    return int(manifest["files"].get(name, {}).get("rows", 0))


def _tables(facts: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the tables that are not empty, judgments first. The library ``datasets`` cannot load an empty file."""
    files = facts["manifest"]["files"]
    tables = [
        (name, files[name]["rows"]) for name in files if name.endswith(".jsonl") and files[name].get("rows")
    ]
    return sorted(tables, key=lambda table: (table[0] != FIRST_TABLE, table[0]))


def _zenodo_metadata(facts: Mapping[str, Any], licence: str) -> dict[str, Any]:
    """Return the metadata for InvenioRDM (https://inveniordm.docs.cern.ch/reference/metadata/)."""
    release: Release = facts["release"]
    related = [
        {**paper, "relation_type": {"id": "issupplementto"}, "resource_type": {"id": "publication-article"}}
        for paper in facts["papers"]
    ]
    related += [
        {"identifier": doi, "scheme": "doi", "relation_type": {"id": "isnewversionof"}}
        for doi in facts["earlier"]
    ]
    own_licence = {"title": {"en": facts["licence_name"]}, "link": facts["licence_address"]}
    metadata: dict[str, Any] = {
        "title": facts["title"],
        "publication_date": facts["manifest"]["released_on"],
        "publisher": "Zenodo",
        "resource_type": {"id": "dataset"},
        "creators": [_invenio_person(creator) for creator in facts["people"]],
        "description": _description(facts),
        "rights": [{"id": licence} if licence else own_licence],
        "version": release.version,
        "subjects": [{"subject": word} for word in facts["keywords"]],
    }
    if facts["language"] in LANGUAGES:
        metadata["languages"] = [{"id": LANGUAGES[facts["language"]]}]
    if related:
        metadata["related_identifiers"] = related
    return metadata


def _invenio_person(creator: Mapping[str, str]) -> dict[str, Any]:
    if not creator["given"]:
        person: dict[str, Any] = {"person_or_org": {"type": "organizational", "name": creator["family"]}}
    else:
        orcid = [{"scheme": "orcid", "identifier": creator["orcid"]}] if creator["orcid"] else []
        names = {"family_name": creator["family"], "given_name": creator["given"]}
        person = {"person_or_org": {"type": "personal", **names, "identifiers": orcid}}
    if creator["affiliation"]:
        person["affiliations"] = [{"name": creator["affiliation"]}]
    return person


def _description(facts: Mapping[str, Any]) -> str:
    text = TEMPLATES.get_template("summary.j2").render(**facts, tables=_tables(facts))
    return "".join(f"<p>{escape(line, quote=False)}</p>" for line in text.splitlines() if line.strip())


def _refusals(
    release: Release, to: str, repository: str, people: list[dict[str, str]], *, cleared: bool
) -> Iterator[str]:
    if to == Archive.ZENODO and not people:
        yield _(
            "Zenodo requires the names of the people who made the data; expected at least one creator "
            "(--creators)."
        )
    if to == Archive.HUGGINGFACE and not repository:
        yield _("Expected the owner and name of the Hugging Face repository, such as my-lab/judgments.")
    if why := erasure_after_release(release):
        yield why
    rights = release.study.dataset.attribution
    name = release.study.dataset.name
    if not release.texts or cleared:
        return
    if not rights.strip():
        yield _(
            "This release contains the texts of dataset %(name)r, and the dataset has no licence. "
            "Enter source and licence on the page of the dataset, choose a release without texts, "
            "or confirm that you may publish the texts (--cleared)."
        ) % {"name": name}
    elif (
        _NO_RIGHTS.search(rights)
        or (_NON_COMMERCIAL.search(rights) and "NC" not in release.licence)
        or (_SHARE_ALIKE.search(rights) and "SA" not in release.licence)
    ):
        yield _(
            "This release contains the texts of dataset %(name)r under the licence %(licence)s, "
            "but the licence of the texts is different (%(rights)s). Choose a release without "
            "texts or with a licence that fits, or confirm that you may publish the texts "
            "(--cleared)."
        ) % {"name": name, "licence": release.licence, "rights": " ".join(rights.split())[:200]}


def erasure_after_release(release: Release) -> str:
    """Return why a release must no longer be published after somebody in it was erased; "" if it may be published."""
    for erasure in Erasure.objects.filter(study=release.study_id).iterator():
        before = [entry["sha256"] for entry in erasure.content.get("releases", ())]
        if release.sha256 in before and not erasure.content.get("retention"):
            return _(
                "A participant was erased after release %(version)s was made, so the release may "
                "still contain their answers. Make a new release and publish the new release."
            ) % {"version": release.version}
    return ""


def _content(name: str, opens: Callable[..., Iterator[bytes]]) -> DepositFile:
    sha256, md5, size, sample = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0, b""
    for part in opens():
        sha256.update(part)
        md5.update(part)
        size += len(part)
        sample += part[: SAMPLE_BYTES - len(sample)]
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    for part in opens():
        git.update(part)
    return DepositFile(name, size, sha256.hexdigest(), md5.hexdigest(), git.hexdigest(), sample, opens)


def _read_text(data: bytes, begin: int = 0) -> Iterator[bytes]:
    yield data[begin:]


def _read_file(path: Path, begin: int = 0) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(begin)
        while part := file.read(CHUNK):
            yield part


def _read_member(path: Path, name: str, begin: int = 0) -> Iterator[bytes]:
    with ZipFile(path) as archive, archive.open(name) as file:
        file.seek(begin)
        while part := file.read(CHUNK):
            yield part


def describe_plan(plan: DepositPlan) -> list[str]:
    """Return the lines that describe a plan, one for each fact."""
    metadata = plan.metadata
    lines = [
        f"Release {plan.release.version} of {plan.release.study.slug}, to {plan.url}"
        + (f" as {plan.repository}" if plan.repository else ""),
        "It would be made public." if plan.publish else "It would stay a draft that only its owners see.",
        f"Licence: {plan.release.licence}, there {plan.licence}",
        f"Creators: {plan.statements['creators'] or 'none'}",
        *([f"Papers: {plan.statements['papers']}"] if plan.statements["papers"] else []),
        "Files:",
        *(f"  {thousands(file.size):>13} bytes  {file.sha256}  {file.name}" for file in plan.files),
    ]
    if metadata:
        lines += ["Description:", *json.dumps(metadata, ensure_ascii=False, indent=1).splitlines()]
    else:
        lines += ["README.md:", *b"".join(plan.files[0].open()).decode().splitlines()]
    return [*lines, *(f"Refused: {reason}" for reason in plan.obstacles)]
