"""Verify that stated results follow from the judgments.

``verify_bundle`` compares all results in a release with results computed from its rows, ``verify_study`` and
``verify_signature`` compare a stored aggregation or a stated signature with the rows of a study.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from common.amounts import as_json
from evaluation.data.judgment_sets.study_signatures import compare_signature
from evaluation.data.releases.bundle import MANIFEST, BundleReader
from evaluation.data.releases.documents import ReleaseDescription, make_documents
from evaluation.data.releases.rows import ReleasedRows
from evaluation.data.releases.settings import ReleaseSettings
from evaluation.errors import VerificationError
from evaluation.models import Analysis
from evaluation.presentation.content import Report
from evaluation.presentation.rendering import WORDING_TEMPLATES, WORDING_VERSION, csv_of
from evaluation.reports.files import texts_of_report
from evaluation.reports.releases.findings import MANIFEST_COPY, Findings, compute_findings, report_of_release
from evaluation.reports.sections.registration import Deviation, RegisteredPlan, plan_hash
from evaluation.results.aggregation import compute_aggregation
from judgments.design.tables.plan import RegistrationPlan
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import BadSignature, parse

FORMAT = 1  # format of bundles that this version reads and writes
DESCRIPTIVE_KEYS = ("study", "title", "version", "licence", "citation", "simulated", "attribution", "texts")
REPORT = "report/"  # folder of a bundle with the report
REGISTRATION, OUTCOMES = "registration.json", "outcomes.json"  # files of a bundle with a registered plan
# The last bits of sums differ between processors. The tolerance is relative, and absolute near 0.
RELATIVE_TOLERANCE = 1e-9
MAX_DIFFERENCES = 50

# Errors that malformed rows may raise.
MALFORMED_ROW_ERRORS = (KeyError, TypeError, ValueError, AttributeError, IndexError)

# Keys that bundles of earlier versions lack. Such bundles are valid.
ADDED_KEYS = frozenset({"coefficients", "orders", "pearson", "scope", "side_bias"})
REWORDED_KEYS = (".reason", ".note")  # ends of paths to sentences that later versions may word differently
ADDED_TABLES = frozenset({"rank-correlations"})  # tables that reports of wording 0, the oldest version, lack

# Replacements for patterns in reports of wording 0, applied to stated and to computed reports.
REWORDED_PATTERNS = {
    r"\b([Ii])mage(s?)\b": r"\1tem\2",
    r"\bpicture(s?)\b": r"item\1",
    r"\bCaption(s?)\b": r"Text\1",
    r"\bcaption(s?)\b": r"text\1",
    "Item annotation: ": "Annotation: ",
    "Item search: ": "Search: ",
    "over item-text pairs": "over pairs of item and text",
    ": item search": ": search",
    "Nobody has handed in anything yet": "Nobody has submitted anything yet",
}


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification of ``subject``: the number of checked values, and sentences on the differences.

    ``differences`` are the first MAX_DIFFERENCES of ``count``.
    """

    subject: str
    checked: int
    differences: tuple[str, ...]
    count: int


def make_verification(subject: str, checked: int, differences: list[str]) -> Verification:
    return Verification(subject, checked, tuple(differences[:MAX_DIFFERENCES]), count=len(differences))


@dataclass(frozen=True, slots=True)
class ReadBundle:
    """The manifest and rows of a bundle, and the results computed from these rows."""

    manifest: dict[str, Any]
    rows: ReleasedRows
    findings: Findings


def read_bundle(reader: BundleReader) -> ReadBundle:
    """Read a bundle's rows, and compute its results.

    Raise VerificationError if the file is not a release bundle of a known format, or if its rows are malformed.
    """
    manifest = reader.json(MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise VerificationError(f"{reader.path} is no release bundle of format {FORMAT} by its {MANIFEST}.")
    try:
        rows = ReleasedRows(ReleaseSettings(**manifest["settings"]))
        for row in reader.rows("pairs.jsonl"):
            rows.add_pair(row)
        rows.scores.extend(reader.rows("scores.jsonl"))
        for row in reader.rows("proposals.jsonl"):
            rows.add_proposal(row)  # an entry of a system's ranked list
        rows.contents.extend(reader.rows("contents.jsonl"))  # boxes or keywords that systems name
        if rows.settings.kind.compares_pairs:
            rows.captions.extend(reader.rows("captions.jsonl"))
        for row in reader.rows("units.jsonl"):
            rows.add_unit(row)
        for row in reader.rows("judgments.jsonl"):
            rows.add_judgment(row)
        return ReadBundle(manifest, rows, compute_findings(rows, _registered_plan(reader)))
    except MALFORMED_ROW_ERRORS as error:
        raise VerificationError(
            f"{MANIFEST} or the rows of {reader.path} are not those of a release: {type(error).__name__} {error}."
        ) from error


def _registered_plan(reader: BundleReader) -> RegisteredPlan | None:
    """Return the bundle's registered plan, or None.

    Deviations from the plan are taken from the bundle, because they depend on the study's log.
    """
    if not {REGISTRATION, OUTCOMES} <= set(reader.names):
        return None
    content, outcomes = reader.json(REGISTRATION), reader.json(OUTCOMES)
    return RegisteredPlan(
        plan=RegistrationPlan.model_validate(content["plan"]),
        content=content,
        sha256=content["sha256"],
        registered_on=outcomes["registered_on"],
        deviations=tuple(Deviation(**deviation) for deviation in outcomes["deviations"]),
    )


def _check_plan(reader: BundleReader, manifest: dict[str, Any]) -> list[str]:
    """Return sentences on a registered plan that is missing, or whose hash is not the stated one."""
    if REGISTRATION not in reader.names:
        names_plan = bool(manifest.get("registration"))
        return [f"{MANIFEST} names a registered plan, and {REGISTRATION} is missing."] if names_plan else []
    content = dict(reader.json(REGISTRATION))
    stated_hash = content.pop("sha256", None)
    differences = []
    if plan_hash(content) != stated_hash:
        differences.append(f"{REGISTRATION}: its plan and design do not have the SHA-256 {stated_hash}.")
    if manifest.get("registration") != stated_hash:
        differences.append(
            f"{MANIFEST} names the SHA-256 {manifest.get('registration')} of the plan, not {stated_hash}."
        )
    return differences


def verify_bundle(path: Path) -> Verification:
    """Check a bundle's hashes, and compare all its results with results computed from its rows."""
    with closing(BundleReader(path)) as reader:
        return _verify_bundle(reader)


def _verify_bundle(reader: BundleReader) -> Verification:
    differences, checked_count = reader.problems(), len(reader.names)
    try:
        bundle = read_bundle(reader)
        findings, report = bundle.findings, reader.json(f"{REPORT}report.json")
        compared_values: dict[str, tuple[Any, Any]] = {
            "workers.jsonl": (list(reader.rows("workers.jsonl")), findings.workers),
            "analyses.json": (reader.json("analyses.json"), findings.analyses()),
        }
        if findings.outcomes is not None:
            compared_values[OUTCOMES] = (reader.json(OUTCOMES), findings.outcomes)
        differences += _check_manifest(reader, bundle, report)
        differences += _check_plan(reader, bundle.manifest)
        differences += _check_files_of_report(reader, _sections(report))
        checked_rows, row_differences = _compare_rows(reader, "consensus.jsonl", findings.consensus())
        checked_count += checked_rows
        differences += row_differences
        changed_files: list[str] = []
        wording = bundle.rows.settings.wording
        if wording:
            new_report, texts = _render_again(reader, bundle, report)
            compared_values[f"{REPORT}report.json"] = (_reword(report, wording), as_json(new_report))
            changed_files = [
                f"{name} is not what the rows, {MANIFEST} and {REPORT}report.json say."
                for name, text in texts.items()
                if _reword(reader.text(name), wording) != text
            ]
        else:  # only the sections of these old reports can be computed again
            stated_sections = _reword(_sections(report), wording)
            computed_sections = _reword(as_json(findings.sections), wording)
            compared_values[f"{REPORT}report.json"] = (
                stated_sections,
                [_without_added_tables(section) for section in computed_sections],
            )
    except VerificationError as error:
        differences.append(str(error))
    else:
        for name, (stated, computed) in compared_values.items():
            differences += describe_differences(stated, computed, name)
            checked_count += sum(1 for _ in scalars_in(computed))
        differences += changed_files
    return make_verification(reader.path.name, checked_count, differences)


def _check_manifest(reader: BundleReader, bundle: ReadBundle, report: Any) -> list[str]:
    """Return sentences on differences of the manifest from the files, computed values, and its copy in the report.

    Older reports have no copy of the manifest.
    """
    manifest = bundle.manifest
    files: dict[str, dict[str, Any]] = {}
    for name, digest in reader.digests.items():
        if name != MANIFEST:
            files[name] = {"sha256": digest, "bytes": reader.sizes[name]}
            if name.endswith(".jsonl"):
                files[name]["rows"] = sum(1 for _ in reader.rows(name))
    manifest_copy = report.get("settings", {}).get(MANIFEST_COPY, {}) if isinstance(report, dict) else {}
    seed = bundle.rows.settings.seed
    expected_values = {**manifest_copy, "signature": bundle.findings.signature, "files": files, "seed": seed}
    differences: list[str] = []
    for name, expected in expected_values.items():
        differences += describe_differences(manifest.get(name), expected, f"{MANIFEST}.{name}")
    return differences


def _render_again(reader: BundleReader, bundle: ReadBundle, stated: Any) -> tuple[Report, dict[str, str]]:
    """Return the report computed from the rows, with the stated methods, and the content of text files by name."""
    manifest, findings = bundle.manifest, bundle.findings
    try:
        report = report_of_release(manifest, findings, stated["methods"], stated["citations"])
        svgs = {plot.name: reader.text(f"{REPORT}figures/{plot.name}.page.svg") for plot in report.plots}
        description = ReleaseDescription(
            **{name: manifest[name] for name in DESCRIPTIVE_KEYS},
            released_on=date.fromisoformat(manifest["released_on"]),
            signature=findings.signature,
        )
        texts = {f"{REPORT}{name}": text for name, text in texts_of_report(report, svgs)}
        return report, texts | make_documents(
            description,
            manifest["files"],
            agreement=findings.agreement,
            counts=findings.counts,
            facts=manifest["facts"],
            design=tomllib.loads(reader.text("design.toml")),
            quorum_version=manifest["versions"]["quorum"],
        )
    except (*MALFORMED_ROW_ERRORS, UndefinedError) as error:
        raise VerificationError(
            f"{MANIFEST}, design.toml or {REPORT}report.json of {reader.path} is not that of a release: "
            f"{type(error).__name__} {error}."
        ) from error


def _compare_rows(reader: BundleReader, name: str, rows: Iterable[Any]) -> tuple[int, list[str]]:
    """Compare a file with ``rows``. Return the number of compared values and the differences."""
    checked_count = stated_count = computed_count = 0
    differences: list[str] = []
    for index, (stated, computed) in enumerate(zip_longest(reader.rows(name), rows)):
        stated_count += stated is not None
        computed_count += computed is not None
        if computed is not None:
            checked_count += sum(1 for _ in scalars_in(computed))
        if stated is not None and computed is not None:
            differences += describe_differences(stated, computed, f"{name}[{index}]")
    if stated_count != computed_count:
        differences = [f"{name}: stated {stated_count:,} entries, found {computed_count:,}"]
    return checked_count, differences


def _reword(value: Any, wording: int) -> Any:
    """Return a part of a report with its sentences reworded from version ``wording`` to the current version."""
    if isinstance(value, dict):
        return {key: _reword(part, wording) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_reword(part, wording) for part in value]
    if isinstance(value, str) and wording < WORDING_VERSION:
        for earlier_text, current_text in WORDING_TEMPLATES["reworded"].items():
            value = value.replace(earlier_text, current_text)
        if wording == 0:
            for pattern, current_text in REWORDED_PATTERNS.items():
                value = re.sub(pattern, current_text, value)
    return value


def _without_added_tables(section: dict[str, Any]) -> dict[str, Any]:
    return section | {"tables": [table for table in section["tables"] if table["name"] not in ADDED_TABLES]}


def _sections(report: Any) -> Any:
    return report.get("sections") if isinstance(report, dict) else None


def _check_files_of_report(reader: BundleReader, sections: Any) -> list[str]:
    """Return a sentence for each CSV file that differs from the numbers in report.json."""
    expected_texts: dict[str, str] = {}
    try:
        for section in sections:
            for folder in ("figures", "tables"):
                for table in section[folder]:
                    name = f"{REPORT}{folder}/{table['name']}.csv"
                    expected_texts[name] = csv_of(table["columns"], table["rows"])
    except MALFORMED_ROW_ERRORS as error:
        raise VerificationError(f"{REPORT}report.json of {reader.path} is no report.") from error
    return [
        f"{name}: its numbers are not those of {REPORT}report.json."
        for name, text in expected_texts.items()
        if reader.text(name) != text
    ]


def scalars_in(value: Any) -> Iterator[Any]:
    """Yield the numbers, texts and null values in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from scalars_in(part)
    else:
        yield value


def describe_differences(stated: Any, computed: Any, where: str) -> list[str]:
    """Return sentences on the differences between two JSON values. Numbers may differ by ``RELATIVE_TOLERANCE``.

    ``where`` is the path to the values, for the sentences.
    """
    differences: list[str] = []
    if isinstance(stated, dict) and isinstance(computed, dict):
        for key in dict.fromkeys((*stated, *computed)):
            if key in stated or key not in ADDED_KEYS:
                differences += describe_differences(stated.get(key), computed.get(key), f"{where}.{key}")
        return differences
    if isinstance(stated, (list, tuple)) and isinstance(computed, (list, tuple)):
        if len(stated) != len(computed):
            return [f"{where}: stated {len(stated):,} entries, found {len(computed):,}"]
        for index, (stated_part, computed_part) in enumerate(zip(stated, computed, strict=True)):
            differences += describe_differences(stated_part, computed_part, f"{where}[{index}]")
        return differences
    if _is_same_value(stated, computed) or (where.endswith(REWORDED_KEYS) and stated and computed):
        return []
    return [f"{where}: stated {stated!r}, found {computed!r}"]


def _is_same_value(stated: Any, computed: Any) -> bool:
    """Return whether two scalars are equal. Numbers may differ slightly, and true and false are no numbers."""
    are_numbers = isinstance(stated, (int, float)) and isinstance(computed, (int, float))
    if are_numbers and bool not in (type(stated), type(computed)):
        return math.isclose(stated, computed, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE)
    return type(stated) is type(computed) and bool(stated == computed)


def verify_signature(*, text: str, study: Study) -> Verification:
    """Compare a stated judgment signature with the study's rows. Raise VerificationError if it is not a signature."""
    try:
        stated_signature = parse(text)
    except BadSignature as error:
        raise VerificationError(f"{error}.") from None
    differences = compare_signature(study, stated_signature)
    checked_count = len(stated_signature.fields) + 2  # with protocol and version
    return make_verification("The signature", checked_count, list(map(str, differences)))


def verify_study(*, study: Study, progress: Progress = no_progress) -> Verification:
    """Compare the newest stored aggregation with the study's rows. Raise VerificationError if none is stored."""
    stored_analysis = Analysis.objects.newest(study, Analysis.Kind.AGGREGATION)
    if stored_analysis is None:
        raise VerificationError(f"Study {study.slug!r} has no stored results to verify; compute them first.")
    aggregation = compute_aggregation(study=study, progress=progress)
    differences: list[str] = []
    if stored_analysis.judgments:
        differences += map(str, compare_signature(study, parse(stored_analysis.judgments)))
    checked_count = len(parse(aggregation.judgments).fields) + 2  # with protocol and version
    # Aggregations stored before there were rankings also lack the table of systems.
    keys_of_systems: tuple[str, ...] = ("systems", "rankings") if "rankings" in stored_analysis.result else ()
    keys_of_systems += ("system_orders",) if "system_orders" in stored_analysis.result else ()
    for name in ("agreement", "workers", "counts", *keys_of_systems, "figures"):
        checked_count += sum(1 for _ in scalars_in(aggregation.result[name]))
        differences += describe_differences(stored_analysis.result.get(name), aggregation.result[name], name)
    return make_verification(f"The stored aggregation of {study.slug!r}", checked_count, differences)
