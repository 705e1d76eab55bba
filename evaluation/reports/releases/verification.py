"""Verify bundles, without a database, and claims about studies against their rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evaluation.data.judgment_sets.loaders import compare_signature
from evaluation.data.provenance import as_json
from evaluation.data.releases.bundle import MANIFEST, BundleReader
from evaluation.data.releases.rows import ReleasedRows, Settings
from evaluation.errors import VerificationError
from evaluation.models import Analysis
from evaluation.numeric.signatures import BadSignature, parse
from evaluation.planning.registration.plans import Deviation, Registered, plan_hash
from evaluation.presentation.rendering import csv_of
from evaluation.reports.releases.inputs import Findings, compute_findings
from evaluation.results.aggregation import compute_aggregation
from judgments.design.tables import Plan
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress

FORMAT = 1
REPORT = "report/"  # the folder of figures and tables
REGISTRATION, OUTCOMES = "registration.json", "outcomes.json"
NEAR = 1e-9  # relative: sums differ in the last bits between processors
MOST_DIFFERENCES = 50
# Raised when malformed rows are added.
NOT_OURS = (KeyError, TypeError, ValueError, AttributeError, IndexError)
# Added since earlier versions, whose bundles stay valid.
ADDED = frozenset({"coefficients"})


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification; ``differences`` are the first of ``count`` sentences."""

    what: str
    checked: int
    differences: tuple[str, ...]
    count: int


def make_verification(what: str, checked: int, differences: list[str]) -> Verification:
    return Verification(what, checked, tuple(differences[:MOST_DIFFERENCES]), len(differences))


@dataclass(frozen=True, slots=True)
class ReadBundle:
    manifest: dict[str, Any]
    rows: ReleasedRows
    findings: Findings


def read_bundle(reader: BundleReader) -> ReadBundle:
    """Read a bundle's rows and compute its results. Raise VerificationError."""
    manifest = reader.json(MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise VerificationError(f"{reader.path} is no release bundle of format {FORMAT}.")
    try:
        rows = ReleasedRows(Settings(**manifest["settings"]))
        rows.pairs.extend(reader.rows("pairs.jsonl"))
        rows.scores.extend(reader.rows("scores.jsonl"))
        for row in reader.rows("proposals.jsonl"):
            rows.add_proposal(row)
        if rows.settings.kind.compares_pairs:
            rows.captions.extend(reader.rows("captions.jsonl"))
        for row in reader.rows("units.jsonl"):
            rows.add_unit(row)
        for row in reader.rows("judgments.jsonl"):
            rows.add_judgment(row)
        return ReadBundle(manifest, rows, compute_findings(rows, _registered(reader)))
    except NOT_OURS as error:
        raise VerificationError(
            f"The rows of {reader.path} are not those of a release: {type(error).__name__} {error}."
        ) from error


def _registered(reader: BundleReader) -> Registered | None:
    """Return the bundle's plan with its stated deviations, which rest on the study's log."""
    if not {REGISTRATION, OUTCOMES} <= set(reader.names):
        return None
    content, stated = reader.json(REGISTRATION), reader.json(OUTCOMES)
    return Registered(
        plan=Plan.model_validate(content["plan"]),
        sha256=content["sha256"],
        on=stated["registered_on"],
        deviations=tuple(Deviation(**deviation) for deviation in stated["deviations"]),
    )


def _compare_outcomes(reader: BundleReader, manifest: dict[str, Any]) -> list[str]:
    if REGISTRATION not in reader.names:
        stated = manifest.get("registration")
        return [f"{MANIFEST} names a registered plan, and {REGISTRATION} is missing."] if stated else []
    content = dict(reader.json(REGISTRATION))
    stated = content.pop("sha256", None)
    differences = []
    if plan_hash(content) != stated:
        differences.append(f"{REGISTRATION}: its plan and design do not have the SHA-256 {stated}.")
    if manifest.get("registration") != stated:
        differences.append(
            f"{MANIFEST} names the SHA-256 {manifest.get('registration')} of the plan, not {stated}."
        )
    return differences


def verify_bundle(path: Path) -> Verification:
    """Check a bundle's hashes, recompute every result from its rows, and compare."""
    with closing(BundleReader(path)) as reader:
        return _verify(reader)


def _verify(reader: BundleReader) -> Verification:
    differences, checked = reader.problems(), len(reader.names)
    try:
        bundle = read_bundle(reader)
        findings = bundle.findings
        stated: dict[str, tuple[Any, Any]] = {
            "signature": (bundle.manifest.get("signature"), findings.signature),
            "workers.jsonl": (list(reader.rows("workers.jsonl")), findings.workers),
            "analyses.json": (reader.json("analyses.json"), findings.analyses()),
        }
        sections = as_json(findings.sections)
        if findings.outcomes is not None:
            stated[OUTCOMES] = (reader.json(OUTCOMES), findings.outcomes)
        differences += _compare_outcomes(reader, bundle.manifest)
        report = reader.json(f"{REPORT}report.json")
        stated[f"{REPORT}report.json"] = (_sections(report), sections)
        differences += _files_of_report(reader, _sections(report))
        count, others = _compare_rows(reader, "consensus.jsonl", findings.consensus())
        checked += count
        differences += others
    except VerificationError as error:
        differences.append(str(error))
    else:
        for name, (recorded, computed) in stated.items():
            differences += describe_differences(recorded, computed, name)
            checked += sum(1 for _ in scalars_in(computed))
        for name, file in bundle.manifest.get("files", {}).items():
            rows = sum(1 for _ in reader.rows(name)) if "rows" in file else None
            if rows != file.get("rows"):
                differences.append(f"{name}: stated {file['rows']:,} rows, found {rows:,}")
    return make_verification(reader.path.name, checked, differences)


def _compare_rows(reader: BundleReader, name: str, rows: Iterable[Any]) -> tuple[int, list[str]]:
    """Compare a file row by row; return the number of values and the differences."""
    checked = stated = computed = 0
    others: list[str] = []
    for index, (recorded, row) in enumerate(zip_longest(reader.rows(name), rows)):
        stated += recorded is not None
        computed += row is not None
        if row is not None:
            checked += sum(1 for _ in scalars_in(row))
        if recorded is not None and row is not None:
            others += describe_differences(recorded, row, f"{name}[{index}]")
    if stated != computed:
        others = [f"{name}: stated {stated:,} entries, found {computed:,}"]
    return checked, others


def _sections(report: Any) -> Any:
    return report.get("sections") if isinstance(report, dict) else None


def _files_of_report(reader: BundleReader, sections: Any) -> list[str]:
    try:
        parts = [
            (kind, part) for section in sections for kind in ("figures", "tables") for part in section[kind]
        ]
        expected = {
            f"{REPORT}{kind}/{part['name']}.csv": csv_of(part["columns"], part["rows"])
            for kind, part in parts
        }
    except NOT_OURS as error:
        raise VerificationError(f"{REPORT}report.json of {reader.path} is no report.") from error
    return [
        f"{name}: its numbers are not those of {REPORT}report.json."
        for name, text in expected.items()
        if reader.text(name) != text
    ]


def scalars_in(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from scalars_in(part)
    else:
        yield value


def describe_differences(stated: Any, computed: Any, where: str) -> list[str]:
    """Describe where two JSON values differ; numbers may differ by ``NEAR``."""
    if isinstance(stated, dict) and isinstance(computed, dict):
        keys = [key for key in dict.fromkeys((*stated, *computed)) if key in stated or key not in ADDED]
        return [
            line
            for key in keys
            for line in describe_differences(stated.get(key), computed.get(key), f"{where}.{key}")
        ]
    if isinstance(stated, (list, tuple)) and isinstance(computed, (list, tuple)):
        if len(stated) != len(computed):
            return [f"{where}: stated {len(stated):,} entries, found {len(computed):,}"]
        return [
            line
            for index, (first, second) in enumerate(zip(stated, computed, strict=True))
            for line in describe_differences(first, second, f"{where}[{index}]")
        ]
    if _is_same_value(stated, computed):
        return []
    return [f"{where}: stated {stated!r}, found {computed!r}"]


def _is_same_value(stated: Any, computed: Any) -> bool:
    numbers = isinstance(stated, (int, float)) and isinstance(computed, (int, float))
    if numbers and bool not in (type(stated), type(computed)):
        return math.isclose(stated, computed, rel_tol=NEAR, abs_tol=NEAR)
    return type(stated) is type(computed) and bool(stated == computed)


def verify_signature(*, text: str, study: Study) -> Verification:
    """Compare a stated judgment signature with the study's rows. Raise VerificationError."""
    try:
        stated = parse(text)
    except BadSignature as error:
        raise VerificationError(f"{error}.") from None
    differences = compare_signature(study, stated)
    return make_verification("The signature", len(stated.fields) + 2, list(map(str, differences)))


def verify_study(*, study: Study, progress: Progress = no_progress) -> Verification:
    """Compare the newest stored aggregation with the study's rows. Raise VerificationError without one."""
    stored = Analysis.objects.newest_first(study, Analysis.What.AGGREGATION).first()
    if stored is None:
        raise VerificationError(
            f"Study {study.slug!r} has no stored results to verify; `aggregate {study.slug}` computes them."
        )
    now = compute_aggregation(study=study, progress=progress)
    differences: list[str] = []
    if stored.judgments:
        differences += map(str, compare_signature(study, parse(stored.judgments)))
    checked = len(parse(now.judgments).fields) + 2
    # Aggregations from before rankings had no table of systems by single captions either.
    systems = ("systems", "rankings") if "rankings" in stored.result else ()
    for name in ("agreement", "workers", "counts", *systems, "figures"):
        checked += sum(1 for _ in scalars_in(now.result[name]))
        differences += describe_differences(stored.result.get(name), now.result[name], name)
    return make_verification(f"The stored aggregation of {study.slug!r}", checked, differences)
