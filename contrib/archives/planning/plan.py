"""Plan a deposit: which files are sent where, and how they are described."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from common.amounts import thousands
from common.features import feature_settings
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from contrib.archives.planning.citations import read_creators, read_papers
from contrib.archives.planning.descriptions import ReleaseFacts, collect_facts, zenodo_metadata
from contrib.archives.planning.files import (
    DepositFile,
    make_deposit_file,
    open_bundle,
    read_bytes,
    read_file,
    read_member,
)
from contrib.archives.planning.refusals import find_refusals
from evaluation.data.releases.bundle import BundleReader
from evaluation.data.releases.documents import LICENCES
from evaluation.data.releases.storage import release_name
from evaluation.models import Release

Archive = Deposit.Archive
# Files of the bundle that are also sent separately, so that people can read them before they download the bundle.
ZENODO_FILES = ("README.md", "datasheet.md")
HUGGINGFACE_FILES = ("croissant.json", "datasheet.md", "LICENSE", "CITATION.cff")
KEYWORDS = ("human judgments", "crowdsourcing", "evaluation")


@dataclass(frozen=True, slots=True)
class DepositPlan:
    """A planned deposit.

    Attributes:
        url: the archive's address.
        repository: owner and name at Hugging Face; "" for Zenodo.
        publish: whether to make the deposit public.
        licence: the archive's id of the release's licence, or Quorum's if the archive has none.
        metadata: the description for Zenodo; empty for Hugging Face, which gets a README.md instead.
        statements: the creators, keywords and papers as a person entered them, and whether the person stated the right
            to publish the texts.
        refusals: the reasons why the deposit must not be made.
    """

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
    refusals: tuple[str, ...]

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
            "refused": list(self.refusals),
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
    """Return the plan of a deposit. Missing values are taken from the study's last deposit.

    Args:
        to: the archive, a value of ``Deposit.Archive``.
        repository: owner and name at Hugging Face.
        creators: one per line, or separated by ";": "Doe, Jane 0000-0002-1825-0097 (University)".
        keywords: separated by commas.
        papers: DOIs, arXiv ids or addresses of related papers, separated by blanks.
        cleared: whether the person states that the release's licence covers the texts.

    Raises:
        PublishingError: a value cannot be parsed.
        VerificationError: the file is not the release's, or contradicts its own hashes.
    """
    url, host = archive_address(to, sandbox=sandbox)
    last_deposit = Deposit.objects.filter(release__study=release.study_id).order_by("-pk").first()
    earlier_statements = last_deposit.statements if last_deposit is not None else {}
    statements = {
        "creators": creators or earlier_statements.get("creators", ""),
        "keywords": keywords or earlier_statements.get("keywords", ""),
        "papers": papers or earlier_statements.get("papers", ""),
    }
    if to == Archive.HUGGINGFACE and not repository:
        last_deposit_at_host = (
            Deposit.objects.filter(release__study=release.study_id, host=host).order_by("-pk").first()
        )
        repository = last_deposit_at_host.repository if last_deposit_at_host is not None else ""
    authors, related_papers = read_creators(statements["creators"]), read_papers(statements["papers"])
    subjects = [" ".join(part.split()) for part in statements["keywords"].split(",") if part.strip()]
    subjects = subjects or [*KEYWORDS, release.study.protocol]
    # The archive's id of the licence, usually its SPDX id in lower case; "" if LICENCES says that there is none.
    licence = LICENCES[release.licence].get(to, release.licence.lower())
    with closing(open_bundle(bundle, release)) as reader:
        facts = collect_facts(release, reader, creators=authors, keywords=subjects, papers=related_papers)
        # Files are described by functions that read them, since they are read again when they are sent.
        files = [make_deposit_file(release_name(release.study, release.version), partial(read_file, bundle))]
        files += _separate_files(to, bundle, reader, facts)
        if to == Archive.HUGGINGFACE:
            card = facts.render("card.md.j2", licence=licence, repository=repository)
            files.insert(0, make_deposit_file("README.md", partial(read_bytes, card.encode())))
    return DepositPlan(
        release=release,
        archive=to,
        url=url,
        host=host,
        repository=repository,
        publish=publish,
        licence=licence or release.licence,
        metadata=zenodo_metadata(facts, licence) if to == Archive.ZENODO else {},
        files=tuple(files),
        statements={**statements, "cleared": cleared},
        refusals=tuple(find_refusals(release, to, repository, has_creators=bool(authors), cleared=cleared)),
    )


def _separate_files(to: str, bundle: Path, reader: BundleReader, facts: ReleaseFacts) -> list[DepositFile]:
    """Return ``separate_file_names`` as files. Raise PublishingError if the manifest states another hash of one."""
    names = [name for name in separate_file_names(to, reader) if name in reader.names]
    files = [make_deposit_file(name, partial(read_member, bundle, name)) for name in names]
    for file in files:
        stated_file = facts.manifest["files"].get(file.name)
        if stated_file is not None and stated_file["sha256"] != file.sha256:
            raise PublishingError(f"{file.name} of {bundle} was changed; nothing was sent.")
    return files


def separate_file_names(to: str, reader: BundleReader) -> list[str]:
    """Return the names of the bundle's files that an archive also gets separately."""
    if to == Archive.ZENODO:
        return list(ZENODO_FILES)
    return [
        *(name for name in reader.names if name.endswith(".jsonl") and "/" not in name),
        *HUGGINGFACE_FILES,
    ]


def archive_address(to: str, *, sandbox: bool) -> tuple[str, str]:
    """Return the URL of an archive and its host. Raise PublishingError if the settings or the choice are wrong."""
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
    if "@" in host:  # The address is stored and shown on pages, so it must not contain a password.
        raise PublishingError(
            _(
                "The address of %(host)s in the settings contains a user name or a password; expected "
                "an address without them."
            )
            % {"host": host.rpartition("@")[2]}
        )
    return url.rstrip("/"), host


def describe_plan(plan: DepositPlan) -> list[str]:
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
    else:  # at Hugging Face, the first file is README.md, the dataset card
        lines += ["README.md:", *b"".join(plan.files[0].open()).decode().splitlines()]
    return [*lines, *(f"Refused: {reason}" for reason in plan.refusals)]
