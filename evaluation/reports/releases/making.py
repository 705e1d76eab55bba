"""Make a release: a frozen, versioned bundle with pseudonymous rows, without identifying text.

The operations that make, verify and compare releases are at the end of the module.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w
from django.db.models import F, Max, Min, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.models import Assignment, Exclusion, Worker
from annotation.privacy.consent import versions_of
from annotation.snapshots import Snapshot
from common.amounts import as_json
from common.files import atomic_write, check_writable_path
from common.parameters import Parameters
from common.rows.batches import batched
from common.texts import one_text
from evaluation.data.export.formats.judgment_columns import CAPTIONS
from evaluation.data.export.formats.judgment_rows import JudgmentRows
from evaluation.data.export.parts import take_snapshot
from evaluation.data.judgment_sets.loaders import (
    ROWS_PER_BATCH,
    decisions_of,
    full_depth_units,
    is_anonymous,
    load_judgments,
    load_references,
)
from evaluation.data.judgment_sets.study_signatures import control_rule, uncommon_fields
from evaluation.data.ranked_lists import ANNOTATION, NO_ORIGINAL, SEARCH, proposals_of
from evaluation.data.releases.bundle import BundleWriter
from evaluation.data.releases.documents import LICENCES, About, check_licence, documents, shareable_design
from evaluation.data.releases.rows import (
    ANONYMOUS_PREFIX,
    CONTENT_FIELDS,
    TEXTS,
    TIMES,
    ReleasedRows,
    Settings,
    to_the_minute,
)
from evaluation.data.releases.storage import (
    JOB_KIND,
    WrittenBundle,
    find_release,
    record_release,
    release_file,
)
from evaluation.data.releases.terms import Terms, check_terms, next_version
from evaluation.errors import ReleaseError
from evaluation.models import Release
from evaluation.presentation.rendering import WORDING_VERSION
from evaluation.reports.loading import EvaluationInputs, evaluation_of
from evaluation.reports.releases.findings import Findings, compute_findings, report_of_rows
from evaluation.reports.releases.verification import FORMAT, OUTCOMES, REGISTRATION, REPORT
from evaluation.reports.sections.registration import find_registered
from evaluation.reports.storage import files_of, methods
from evaluation.results.consensus.study import consensus_of
from judgments.access.rights import Right
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.documents import document_in
from judgments.kinds import KINDS, Kind
from judgments.models import CandidatePair, Caption, Item, Study, System, SystemContent, Unit
from judgments.operations import background_operation
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.packing import declare
from quorum.numeric.parallel import map_parts
from quorum.numeric.signatures import quorum_version, versions

DIGITS = 16
MAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
NUMBER = re.compile(r"\+?\d[\d \-/()]{4,}\d")
SCRUBBED_TEXT = "[…]"

# The field that stores a column of units.jsonl and pairs.jsonl, by column.
FIELDS_OF_UNITS = {
    "unit": "key",
    "kind": "kind",
    "pair": "pair__key",
    "image": "item__name",
    **CAPTIONS,
    "control": "control",
    "control_kind": "control_kind",
    "expected": "expected",
    "repeats": "content",  # "content" names the repeated unit
    "struck": "withdrawn",
    "filtered": "filtered",
    "audited": "audited",
    "systems": "systems",
    "document": "item__fields",
}
FIELDS_OF_PAIRS = {
    "pair": "key",
    "kind": "kind",
    "image": "item__name",
    "first": "first__key",
    "second": "second__key",
    "first_system": "first_system__name",
    "second_system": "second_system__name",
    "references": "references",
    "published_winner": "published_winner",
    "document": "item__fields",
}


@declare
@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """A mapping from names to pseudonyms.

    Within a release, a name always has the same pseudonym. A pseudonym cannot be traced to the name without the salt.
    """

    salt: bytes

    def worker(self, name: str, *, anonymous: bool) -> str:
        return f"{ANONYMOUS_PREFIX if anonymous else 'p-'}{self._digest('worker', name)}"

    def assignment(self, name: str) -> str:
        return f"a-{self._digest('assignment', name)}"

    def _digest(self, what: str, name: str) -> str:
        return hmac.new(self.salt, f"{what}\n{name}".encode(), hashlib.sha256).hexdigest()[:DIGITS]


def scrub_comment(comment: str, name: str) -> str:
    """Return a comment without the author's name, addresses and long numbers."""
    for pattern in (MAIL, ADDRESS, NUMBER):
        comment = pattern.sub(SCRUBBED_TEXT, comment)
    return re.sub(re.escape(name), SCRUBBED_TEXT, comment, flags=re.IGNORECASE) if name else comment


def released_judgments(
    study: Study, pseudonyms: Pseudonyms, *, texts: bool, comments: bool
) -> Iterator[dict[str, Any]]:
    """Yield the current judgments, ordered by unit and pseudonym, which reveals nothing about people."""
    anonymous = set(Worker.objects.filter(study=study, anonymous=True).values_list("name", flat=True))
    release = partial(
        _released_judgment, pseudonyms=pseudonyms, anonymous=anonymous, texts=texts, comments=comments
    )
    units = Unit.objects.filter(study=study).order_by("position", "pk").values_list("pk", flat=True)
    shared = study, take_snapshot(study), release
    for rows in map_parts(_read_part, shared, list(batched(units.iterator(ROWS_PER_BATCH), ROWS_PER_BATCH))):
        yield from rows


@declare
def _read_part(
    shared: tuple[Study, Snapshot, Callable[[dict[str, Any]], dict[str, Any]]], units: Sequence[int]
) -> list[dict[str, Any]]:
    study, moment, release = shared
    released: list[dict[str, Any]] = []
    for unit in groupby(JudgmentRows(study, moment, only=units), key=lambda row: row["unit"]):
        released += sorted(
            map(release, unit[1]),
            key=lambda row: (row["worker"], row["assignment"], row["submitted_at"] or ""),
        )
    return released


@declare
def _released_judgment(
    row: dict[str, Any], pseudonyms: Pseudonyms, anonymous: set[str], *, texts: bool, comments: bool
) -> dict[str, Any]:
    name = row["worker"]
    row["worker"] = pseudonyms.worker(name, anonymous=name in anonymous)
    row["assignment"] = pseudonyms.assignment(row["assignment"])
    row |= {name: to_the_minute(row[name]) for name in TIMES}
    row["comment"] = scrub_comment(row["comment"], name) if comments and row["comment"] else None
    if not texts:
        row |= dict.fromkeys(TEXTS)
    row.pop("content", None)  # units.jsonl has it
    row.pop("answers", None)  # the settings of the bundle have it
    row.pop("systems", None)  # pairs.jsonl and proposals.jsonl have them
    return row


def released_units(study: Study, *, texts: bool) -> Iterator[dict[str, Any]]:
    kind = KINDS[study.protocol]
    decisions = decisions_of(study)
    full_depth = full_depth_units(study) or set()
    first_ids: dict[str, str] = {}  # id of the first caption with each text
    names = dict(System.objects.of_study(study).values_list("pk", "name"))
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = units.order_by("position", "pk").values_list("pk", *FIELDS_OF_UNITS.values())
    for pk, *values in rows.iterator(ROWS_PER_BATCH):
        row = dict(zip(FIELDS_OF_UNITS, values, strict=True))
        first, expected, content = row["first"], row["expected"], row["repeats"]
        credits = _names_of_systems(row.pop("systems"), names)
        document = document_in(row.pop("document"))
        decision = decisions.get(pk)
        judged_as = first
        if kind.judges_one_caption and not row["control"]:
            judged_as = first_ids.setdefault(one_text(row["first_text"]), first)
        if not texts:
            row |= dict.fromkeys(TEXTS)
        yield {
            **row,
            "kind": row["kind"] or None,
            "control_kind": row["control_kind"] or None,
            "expected": None if expected is None else kind.exchange.to_file(expected, content=content),
            "repeats": content.get(ORIGINAL_UNIT),
            "full_depth": pk in full_depth,
            "decided": None if decision is None else decision.value,
            "content": content or None if kind.is_open else None,
            **({"same_words": judged_as} if judged_as != first else {}),
            **({"systems": credits} if credits else {}),
            **({"document": document} if document else {}),
        }


def _names_of_systems(systems: Sequence[Any], names: Mapping[int, str]) -> list[Any]:
    """Return ``Unit.systems`` with names instead of row ids. A text without a system has None."""
    return [_names_of_systems(row, names) if isinstance(row, list) else names.get(row) for row in systems]


def released_pairs(study: Study) -> Iterator[dict[str, Any]]:
    rows = (
        CandidatePair.objects.filter(study=study)
        .order_by("position", "pk")
        .values_list(*FIELDS_OF_PAIRS.values())
    )
    for values in rows.iterator(ROWS_PER_BATCH):
        row = dict(zip(FIELDS_OF_PAIRS, values, strict=True))
        document = document_in(row.pop("document"))
        yield row | {"kind": row["kind"] or None} | ({"document": document} if document else {})


def released_captions(study: Study) -> Iterator[dict[str, Any]]:
    """Yield judged captions and references, sorted by id. For pairs, yield all references of the judged splits."""
    compares = KINDS[study.protocol].compares_pairs
    splits = load_references(study).splits if compares else []
    images = Q(item__split__in=splits, dataset=study.dataset_id)
    units = Unit.objects.filter(study=study).exclude(control_kind=Unit.ControlKind.QUIZ)
    rows = (
        Caption.objects.filter(
            Q(pk__in=units.values("first"))
            | Q(pk__in=units.values("second"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("first"))
            | Q(pk__in=CandidatePair.objects.filter(study=study).values("second"))
            | Q(item__in=units.values("item"), role=Caption.Role.REFERENCE)
            | images & Q(role=Caption.Role.REFERENCE)
        )
        .order_by(F("item__position").asc(nulls_first=True), "position", "pk")
        .values_list("key", "text", "role", "item__name", "item__split")
    )
    for key, text, role, image, split in rows.iterator(ROWS_PER_BATCH):
        counted = role == Caption.Role.REFERENCE and split in splits
        yield {"caption": key, "text": text, "role": role, "image": image, "document": counted}


def released_scores(study: Study, evaluated: EvaluationInputs) -> Iterator[dict[str, Any]]:
    compares = KINDS[study.protocol].compares_pairs
    keys: dict[Any, str] = {}
    images: dict[int, str] = {}
    if evaluated.pks is None:
        items = Unit.objects.filter(study=study).values("item_id")
        images = dict(Item.objects.filter(pk__in=items).values_list("pk", "name"))
    else:
        rows: Any = (
            CandidatePair.objects.filter(study=study) if compares else Unit.objects.filter(study=study)
        )
        keys = dict(rows.values_list("pk", "key"))
    # Use the order in which metrics were requested, which tied metrics keep in all tables.
    order = {name: position for position, name in enumerate(evaluated.evaluation.settings["metrics"])}
    for metric in sorted(evaluated.scores, key=lambda name: (order.get(name, len(order)), name)):
        for index, row in enumerate(evaluated.scores[metric].tolist()):
            key = keys[evaluated.pks[index]] if evaluated.pks is not None else None
            image, caption = evaluated.captions[index] if evaluated.pks is None else (None, None)
            yield {
                "metric": metric,
                "pair": key if compares else None,
                "unit": None if compares else key,
                "image": None if image is None else images[image],
                "caption": caption,
                "first": row[0],
                "second": row[1] if compares else None,
            }


def released_proposals(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the systems' ranked outputs for images of the judged splits, list by list."""
    proposals = proposals_of(study)
    texts = list(map(str, proposals.texts))
    names = ("system", "image", "text", "query_caption", "position", "original")
    columns = (getattr(proposals, name).tolist() for name in names)
    for system, image, text, query_caption, rank, original in zip(*columns, strict=True):
        yield {
            "system": proposals.systems[system],
            "task": ANNOTATION if query_caption < 0 else SEARCH,
            "image": proposals.images[image],
            "caption": texts[text],
            "query": None if query_caption < 0 else proposals.query_captions[query_caption],
            "rank": rank,
            "original": None if original == NO_ORIGINAL else bool(original),
        }


def released_contents(study: Study, kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield the boxes or keywords that systems gave for the judged items."""
    units = Unit.objects.filter(study=study, control=False)
    stored = SystemContent.objects.of_study(study, kind.system_content).filter(item__in=units.values("item"))
    rows = stored.order_by("system__name", "item__position", "pk")
    for values in rows.values_list("system__name", "item__name", "names").iterator(ROWS_PER_BATCH):
        yield dict(zip(CONTENT_FIELDS, values, strict=True))


SALT_BYTES = 32


def release_study(
    *,
    study: Study,
    terms: Terms,
    output: Path,
    salt: bytes | None = None,
    on: date | None = None,
    progress: Progress = no_progress,
) -> tuple[Release, Path]:
    """Write a bundle to ``output``, and record the release.

    Raise ReleaseError if the study cannot be released on these terms, or if ``output`` already exists.
    """
    bundle = write_release(study=study, terms=terms, path=output, salt=salt, on=on, progress=progress)
    try:
        release = record_release(study=study, bundle=bundle)
    except ReleaseError:
        output.unlink()
        raise
    progress(1.0, "done")
    return release, output


def write_release(
    *,
    study: Study,
    terms: Terms,
    path: Path,
    salt: bytes | None = None,
    on: date | None = None,
    progress: Progress = no_progress,
) -> WrittenBundle:
    """Write a bundle without recording the release.

    Args:
        salt: salt of the pseudonyms, which is never stored; by default a random one.
        on: the release date; by default today.

    Raises:
        ReleaseError: the study cannot be released on these terms, or the path already exists.
    """
    licence = check_licence(terms.licence)
    check_terms(study, terms)
    check_writable_path(path)
    if path.exists():
        raise ReleaseError(_("%(path)s already exists; a release is never overwritten.") % {"path": path})
    about = About(
        study=study.slug,
        title=terms.title or study.name,
        version=terms.version,
        licence=licence,
        citation=terms.citation,
        on=on or timezone.now().date(),
        signature="",
        simulated=study.simulated,
        attribution=study.dataset.attribution,
        texts=terms.texts,
    )
    with atomic_write(path) as file:
        writer = BundleWriter(file)
        try:
            findings = _write(
                study, about, terms, writer, Pseudonyms(salt or secrets.token_bytes(SALT_BYTES)), progress
            )
        finally:
            writer.finish()
        size, digest = file.size, file.hexdigest()
    return WrittenBundle(
        path, replace(about, signature=findings.signature), findings.counts["judgments"], size, digest
    )


def _write(
    study: Study, about: About, terms: Terms, writer: BundleWriter, pseudonyms: Pseudonyms, progress: Progress
) -> Findings:
    """Write all files of the bundle in one pass over the rows. Results are computed only from the written rows."""
    design, kind = design_of(study), KINDS[study.protocol]
    evaluated, why_not = evaluation_of(study, consensus_of(study, load_judgments(study)))
    rule: Any = control_rule(study)
    rows = ReleasedRows(
        Settings(
            protocol=study.protocol,
            seed=design.seed,
            controls=rule if isinstance(rule, str) else float(rule),
            version=quorum_version(),
            others=uncommon_fields(study),
            full_depth=full_depth_units(study) is not None,
            evaluation=_evaluation_settings(evaluated) if evaluated else {"why_not": why_not},
            filter=_filter_counts(study),
            asked=kind.setting(design),
            cut_times=True,
            wording=WORDING_VERSION,
            winners_signed=True,
            clustered=True,
            both_orders=kind.two_sided,
            raters_known=not is_anonymous(study),
            credited=kind.relevance is not None,
        )
    )
    progress(0.05, "writing units")
    writer.write_rows(
        "units.jsonl", _pass_rows_through(released_units(study, texts=terms.texts), rows.add_unit)
    )
    if kind.compares_pairs:
        writer.write_rows("pairs.jsonl", _pass_rows_through(released_pairs(study), rows.add_pair))
    elif not kind.is_open:
        writer.write_rows("proposals.jsonl", _pass_rows_through(released_proposals(study), rows.add_proposal))
    if kind.system_content:
        writer.write_rows(
            "contents.jsonl", _pass_rows_through(released_contents(study, kind), rows.contents.append)
        )
    scores = released_scores(study, evaluated) if evaluated else iter(())
    writer.write_rows("scores.jsonl", _pass_rows_through(scores, rows.scores.append))
    del evaluated  # from now on, use only the written rows
    if terms.texts:
        take = rows.captions.append if kind.compares_pairs else lambda row: None
        writer.write_rows("captions.jsonl", _pass_rows_through(released_captions(study), take))
    progress(0.2, "writing judgments")
    judged = released_judgments(study, pseudonyms, texts=terms.texts, comments=terms.comments)
    writer.write_rows("judgments.jsonl", _pass_rows_through(judged, rows.add_judgment))
    progress(0.6, "computing what they say")
    plan = find_registered(study, with_sentences=False)
    findings = compute_findings(rows, plan)
    about = replace(about, signature=findings.signature)
    writer.write_rows("consensus.jsonl", findings.consensus())
    writer.write_rows("workers.jsonl", findings.workers)
    writer.write_json("analyses.json", as_json(findings.analyses()))
    progress(0.8, "drawing figures")
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "study": study.slug,
        "title": about.title,
        "version": about.version,
        "licence": about.licence,
        "citation": about.citation,
        "released_on": about.on.isoformat(),
        "simulated": study.simulated,
        "attribution": about.attribution,
        "texts": terms.texts,
        "comments": terms.comments,
        "settings": rows.settings.as_json(),
        "seed": design.seed,
        "signature": findings.signature,
        "versions": versions(),
        "registration": plan.sha256 if plan is not None else None,
        "facts": _facts(study),
    }
    report = report_of_rows(manifest, findings, *methods(findings.inputs, study, findings.sections))
    for name, content in files_of(report):
        writer.write_bytes(f"{REPORT}{name}", content)
    design_file = tomli_w.dumps(shareable_design(study), multiline_strings=True)
    writer.write_text("design.toml", design_file)
    if plan is not None:
        writer.write_json(REGISTRATION, {"sha256": plan.sha256, **plan.content})
        writer.write_json(OUTCOMES, findings.outcomes)
    stated = findings.agreement, findings.counts, tomllib.loads(design_file), manifest["facts"]
    for name, text in documents(about, writer.files, *stated, quorum_version()):
        writer.write_text(name, text)
    writer.close(manifest)
    return findings


def _pass_rows_through(rows: Iterable[dict[str, Any]], take: Any) -> Iterator[dict[str, Any]]:
    for row in rows:
        take(row)
        yield row


def _evaluation_settings(evaluated: EvaluationInputs) -> dict[str, Any]:
    computed = evaluated.evaluation
    return {
        "settings": dict(computed.settings),
        "signature": computed.signature,
        "signatures": dict(computed.result["signatures"]),
    }


def _filter_counts(study: Study) -> dict[str, int]:
    notes = study.notes
    if not notes.get("audited"):
        return {}
    return {"pairs": notes["candidate_pairs"], "passed": notes["passed_filter"]}


def _facts(study: Study) -> Mapping[str, Any]:
    work = Assignment.objects.filter(study=study).finished()
    times = work.aggregate(Min("submitted_at"), Max("submitted_at"))
    first, last = times["submitted_at__min"], times["submitted_at__max"]
    # Use the times in the database, because the released times are cut to the minute.
    known = work.filter(submitted_at__gt=F("accepted_at"), judgments__isnull=False).distinct()
    minutes = [
        (submitted - accepted).total_seconds() / 60
        for _, accepted, submitted in known.values_list("pk", "accepted_at", "submitted_at").iterator()
        if accepted and submitted
    ]
    consents = [(row.version.number, row.version.version, row.people) for row in versions_of(study)]
    rules = Exclusion.objects.filter(study=study, lifted_at__isnull=True).values_list("rule", flat=True)
    return {
        "collected": f"From {first.date()} to {last.date()}." if first and last else "",
        "minutes": median(minutes) if minutes else None,
        "exclusions": dict(sorted(Counter(rules).items())),
        "consents": consents[::-1],
    }


class LicenceField(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> str:
        try:
            return check_licence(str(data))
        except ReleaseError as error:
            raise serializers.ValidationError(str(error)) from None


class ReleaseRequest(Parameters):
    """The terms of a release."""

    version = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=20,
        label="Version",
        help_text="A version such as 1.0 (default: the next version).",
    )
    licence = LicenceField(
        choices=[(name, f"{name}: {terms['name']}") for name, terms in LICENCES.items()],
        initial="CC-BY-4.0",
        label="Licence",
    )
    title = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=300,
        label="Title",
        help_text="Default: the name of the study.",
    )
    citation = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=5000,
        label="Citation",
        style={"base_template": "textarea.html"},
    )
    texts = serializers.BooleanField(
        default=True,
        initial=True,
        label="Include the texts of systems and references",
        help_text="Without the texts, a release identifies captions only by their ids.",
    )
    comments = serializers.BooleanField(
        default=False,
        label="Include participants' comments, without names, addresses and long numbers",
        help_text="Comments are released without names, addresses and long numbers.",
    )


@background_operation(
    "release",
    "Make a release",
    parameters=ReleaseRequest,
    job=JOB_KIND,
    right=Right.OWN,
    scope="exports",
    once="always",
)
def start_release(*, study: Study, version: str = "", **terms: Any) -> dict[str, Any]:
    """Start to make a release of a closed study, of which you must be the owner.

    Follow `state` until the job is done, then list and download.
    """
    release_terms = terms_of(study, version, **terms)
    check_terms(study, release_terms)
    return asdict(release_terms)


def terms_of(study: Study, version: str = "", **terms: Any) -> Terms:
    return Terms(version=version or next_version(study), **terms)


class VerifyRequest(Parameters):
    """The version of the release to verify."""

    version = serializers.CharField()


@background_operation(
    "verify-release", "Verify a release", parameters=VerifyRequest, job="verify_release", scope="exports"
)
def verify(*, study: Study, version: str) -> dict[str, Any]:
    """Compute every figure of a release again from its rows, and report the differences."""
    release_file(find_release(study, version))
    return {"version": version}
