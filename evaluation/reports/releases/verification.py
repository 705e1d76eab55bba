"""Compute what a release's rows say, hold it against what the bundle states, and compare two releases. No database.

Claims about studies are held against their rows in the database.
"""

from __future__ import annotations

import math
import re
import tomllib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from hashlib import blake2b
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import UndefinedError

from annotation.quality.controls import control_records
from common.amounts import as_json
from evaluation.data.judgment_sets.loaders import compare_signature
from evaluation.data.judgment_sets.records import (
    Decision,
    Floats,
    Ints,
    JudgmentTable,
    PairRow,
    UnitRow,
    Units,
)
from evaluation.data.ranked_lists import (
    ANNOTATION,
    NO_ORIGINAL,
    NO_SYSTEM,
    SEARCH,
    JudgedUnits,
    ListRows,
    Proposals,
    sort_into_lists,
)
from evaluation.data.releases.bundle import MANIFEST, About, BundleReader, documents
from evaluation.data.releases.rows import TIMES, ReleasedRows, Row, Settings, to_the_minute
from evaluation.errors import VerificationError
from evaluation.models import Analysis
from evaluation.numeric.signatures import BadSignature, parse
from evaluation.planning.registration.plans import Deviation, Registered, plan_hash
from evaluation.presentation.content import Report, Section
from evaluation.presentation.rendering import WORDING, csv_of
from evaluation.reports.loading import AnalysisResult, ReportInputs, Texts, people_of_units
from evaluation.reports.sections import registration_as_json, registration_section, sections_of
from evaluation.reports.storage import texts_of
from evaluation.results.aggregation import compute_aggregation, count_judgments, worker_table
from evaluation.results.agreement import RESAMPLES, agreement_rows, measure_agreement, one_against_rest
from evaluation.results.consensus import (
    EMPTY_CONSENSUS,
    OUTCOME,
    StudyConsensus,
    clusters_of_captions,
    pair_consensus,
    unit_consensus,
    with_decisions,
)
from evaluation.results.metric_figures import (
    UNKNOWN_KIND,
    accuracy_of_pairs,
    compare_on_same_halves,
    correlation_of_captions,
    find_references_of_pairs,
    halves_of_pairs,
)
from evaluation.results.rankings import CUTS, audit_filter, judged_outputs, rankings_of
from evaluation.results.verdict import correlation_verdict, pair_verdicts, scope_fields
from evaluation.statistics.crossed import ITEM, NAIVE, columns_and_deletions
from evaluation.statistics.inputs import encode
from evaluation.statistics.meta import kinds_of
from judgments.design.tables import Plan
from judgments.kinds import CaptionScore, IncludedJudgment
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress

PEOPLE = "people"


def inputs_of_rows(rows: ReleasedRows) -> ReportInputs:
    """Return the inputs from complete rows, numbered by bundle order."""
    settings, kind = rows.settings, rows.settings.kind
    table = rows.table()
    consensus = _consensus(rows, table)
    people = rows.people()
    judged = rows.judged(table) if kind.results or kind.is_open else []
    full_depth = None
    if settings.full_depth:
        full_depth = {
            number for number, row in enumerate(rows.units) if not row["control"] and row["full_depth"]
        }
    agreement = measure_agreement(
        kind, table, consensus.units, people, judged if kind.is_open else [],
        seed=settings.seed, full_depth=full_depth, images=_images(rows, consensus),
        both_orders=settings.both_orders,
    )  # fmt: skip
    records = control_records(rows.on_controls(), rule=settings.rule, is_right=kind.is_right)
    figures = kind.results.figures(judged, seed=settings.seed).study if judged and kind.results else {}
    audit = _audit_filter_of(rows, consensus)
    proposals = None if kind.compares_pairs or kind.is_open else _proposals(rows)
    result = {
        "agreement": agreement,
        "workers": worker_table(table, people, records, rows.wall_times()),
        "counts": count_judgments(table, consensus, len(people)),
        "figures": dict(figures),
        "rankings": _rankings(rows, table, proposals, consensus, audit),
        **({"filter_audit": audit} if audit else {}),
    }
    inputs = ReportInputs(
        kind=kind,
        seed=settings.seed,
        table=table,
        consensus=consensus,
        aggregation=AnalysisResult(
            result, {"controls": settings.controls, "resamples": RESAMPLES, "seed": settings.seed}, ""
        ),
        evaluation=None,
        why_not=str(settings.evaluation.get("why_not", "")),
        full_depth=full_depth,
        names={person.pk: person.name for person in people},
        systems={
            row["pair"]: (row["first_system"] or PEOPLE, row["second_system"] or PEOPLE) for row in rows.pairs
        },
        images={number: row["image"] for number, row in enumerate(rows.pairs)},
        documents=rows.documents,
        proposals=proposals,
        texts=lambda: _texts(rows),
        wording=settings.wording,
        clustered=settings.clustered,
        raters_known=settings.raters_known,
        credited=settings.credited,
        live="drawn" in settings.others,
        chosen="chosen" in settings.others,
    )
    return _add_metrics(rows, inputs, judged) if rows.scores else inputs


def _images(rows: ReleasedRows, consensus: StudyConsensus) -> Ints | None:
    """Return (U,) codes of documents or images; None for bundles that take judgments as independent."""
    if not rows.settings.clustered:
        return None
    images, documents = [rows.units[unit.pk]["image"] for unit in consensus.units], rows.documents
    return encode([documents.get(image, image) for image in images], "images")[1]


def _consensus(rows: ReleasedRows, table: JudgmentTable) -> StudyConsensus:
    numbers = {row["pair"]: number for number, row in enumerate(rows.pairs)}
    judged = {number: row for number, row in enumerate(rows.units) if not row["control"]}
    units = Units.of(
        [
            UnitRow(number, row["unit"], row["kind"] or "", numbers[row["pair"]] if row["pair"] else None)
            for number, row in judged.items()
        ]
    )
    pairs = [
        PairRow(number, row["pair"], row["kind"] or "", row["first"], row["second"], row["published_winner"])
        for number, row in enumerate(rows.pairs)
    ]
    decisions = {
        number: Decision(value=row["decided"], by="", at="", reason="", votes={})
        for number, row in judged.items()
        if row["decided"] is not None
    }
    of_unit = with_decisions(unit_consensus(rows.settings.kind, table), decisions)
    return StudyConsensus(
        units, pairs, of_unit, pair_consensus(units, pairs, of_unit), decisions, table.data_hash
    )


def _audit_filter_of(rows: ReleasedRows, consensus: StudyConsensus) -> dict[str, Any]:
    relevance, counts = rows.settings.kind.relevance, rows.settings.filter
    if not counts or relevance is None:
        return {}
    judged = [
        (number, row) for number, row in enumerate(rows.units) if not row["control"] and not row["filtered"]
    ]
    return audit_filter(
        relevance,
        consensus.of_unit,
        passed={number for number, row in judged if not row["audited"]},
        audited={number for number, row in judged if row["audited"]},
        pairs=counts["pairs"],
        passed_pairs=counts["passed"],
    )


def _proposals(rows: ReleasedRows) -> Proposals:
    judged = {
        number: (row["image"], rows.same_words.get(number) or row["first"])
        for number, row in enumerate(rows.units)
        if not row["control"] and row["first"]
    }
    systems, images, texts, askers = (
        {name: index for index, name in enumerate(known)}
        for known in (
            dict.fromkeys(row["system"] for row in rows.proposals),
            sorted({row["image"] for row in rows.proposals} | {image for image, _ in judged.values()}),
            dict.fromkeys(
                [*(text for _, text in judged.values()), *(row["caption"] for row in rows.proposals)]
            ),
            sorted({row["query"] for row in rows.proposals if row["task"] == SEARCH}),
        )
    )
    columns = [
        (
            systems[row["system"]],
            images[row["image"]],
            texts[row["caption"]],
            askers[row["query"]] if row["task"] == SEARCH else -1,
            row["rank"],
            NO_ORIGINAL if row["original"] is None else row["original"],
        )
        for row in rows.proposals
    ]
    system, image, text, asker, rank, original = np.array(columns, dtype=np.int64).reshape(-1, 6).T
    placed = np.full(len(columns), not rows.old_proposals)
    lists = ListRows(system, image, text, asker, rank, original, placed)
    units = JudgedUnits.of(
        [(number, images[image], texts[text]) for number, (image, text) in judged.items()],
        [
            (position, systems.get(name, NO_SYSTEM))
            for position, number in enumerate(judged)
            for name in rows.credits.get(number, ())
        ],
    )
    return sort_into_lists(
        lists, list(systems), list(images), list(texts), list(askers), rows.documents, units
    )


def _rankings(
    rows: ReleasedRows,
    table: JudgmentTable,
    proposals: Proposals | None,
    consensus: StudyConsensus,
    audit: Mapping[str, Any],
) -> dict[str, Any]:
    """Compute rankings; old bundles have none of first captions alone, and no intervals of shares."""
    relevance = rows.settings.kind.relevance
    if proposals is None or relevance is None:
        return {}
    credited = rows.settings.credited
    judged = judged_outputs(rows.settings.kind, proposals, table, consensus, credited=credited)
    rankings = rankings_of(relevance, proposals, judged, audit, unjudged=not credited)
    if not rows.old_proposals:
        return rankings
    if all(row["rank"] <= 1 for row in rows.proposals):
        return {}
    for row in rankings.get(ANNOTATION, ()):
        for name in (*(f"S@{k}" for k in CUTS), "R-precision"):
            row[name] |= {"low": None, "high": None}
    return rankings


def _add_metrics(
    rows: ReleasedRows, inputs: ReportInputs, judged: Sequence[IncludedJudgment]
) -> ReportInputs:
    stated = rows.settings.evaluation
    by_metric: dict[str, list[Row]] = {}
    for row in rows.scores:
        by_metric.setdefault(row["metric"], []).append(row)
    add = _pair_inputs if rows.settings.kind.compares_pairs else _caption_inputs
    inputs, result = add(rows, inputs, by_metric, judged)
    result |= {"signatures": dict(stated["signatures"]), "notes": []}
    return replace(inputs, evaluation=AnalysisResult(result, stated["settings"], stated["signature"]))


def _pair_inputs(
    rows: ReleasedRows,
    inputs: ReportInputs,
    by_metric: dict[str, list[Row]],
    judged: Sequence[IncludedJudgment],
) -> tuple[ReportInputs, dict[str, Any]]:
    consensus, table = inputs.consensus, inputs.table
    names = [row["pair"] for row in rows.pairs]
    kinds = [row["kind"] or "" for row in rows.pairs]
    clusters = inputs.clusters_of(range(len(names)))
    images = clusters[ITEM] if isinstance(clusters, Mapping) else None
    scores: dict[str, Floats] = {}
    for metric, metric_rows in by_metric.items():
        scores_of = {row["pair"]: (row["first"], row["second"]) for row in metric_rows}
        both = np.array([scores_of[name] for name in names], dtype=np.float64).reshape(-1, 2)
        scores[metric] = both
    inputs = replace(inputs, scores=scores, pks=list(range(len(names))))
    metrics = {
        metric: accuracy_of_pairs(both, inputs.people_winners, kinds) for metric, both in scores.items()
    }
    people = one_against_rest(
        table,
        consensus.units,
        agreement_rows(table, inputs.full_depth),
        images=_images(rows, consensus),
        anonymous=any(person.anonymous for person in rows.people()),
    )
    halves = {}
    kind_names = [kind or UNKNOWN_KIND for kind in kinds]
    accuracy = {metric: figures["accuracy"] for metric, figures in metrics.items()}
    if images is not None:
        numbers = np.arange(len(names), dtype=np.int64)
        halves["halves"] = compare_on_same_halves(
            *halves_of_pairs(table, consensus.units, numbers, anonymous=not inputs.raters_known),
            scores,
            kinds_of(kind_names, len(names)),
            images,
        )
    result = {
        **halves,
        "metrics": metrics,
        "verdict": pair_verdicts(scores, inputs.people_winners, kind_names, accuracy),
        "people": people if people["all"]["n"] else {},
        "counts": {"pairs": len(names), "no_consensus": int((inputs.winners == 0).sum())},
        **scope_fields(inputs.people_winners.deletions),
    }
    return inputs, result


def _caption_inputs(
    rows: ReleasedRows,
    inputs: ReportInputs,
    by_metric: dict[str, list[Row]],
    judged: Sequence[IncludedJudgment],
) -> tuple[ReportInputs, dict[str, Any]]:
    kind = rows.settings.kind
    first = next(iter(by_metric.values()))
    in_units = first[0]["unit"] is not None
    if in_units:
        positions = {row["unit"]: number for number, row in enumerate(rows.units)}
        pks: list[int] | None = [positions[row["unit"]] for row in first]
        people = people_of_units(inputs.consensus, pks or [])
        captions = [(rows.units[pk]["image"], rows.units[pk]["first"]) for pk in pks or []]
        ratings: list[Sequence[tuple[int, float]]] = []
    else:
        pks = None
        images = list(dict.fromkeys(row["image"] for row in rows.units))  # as the judged units number them
        rated = (kind.results and kind.results.caption_scores(judged)) or []
        # one text of several systems has a score for each, in the order of their units
        scores_of: defaultdict[tuple[str, str], list[CaptionScore]] = defaultdict(list)
        for score in rated:
            scores_of[images[score.item], score.key].append(score)
        captions = [(row["image"], row["caption"]) for row in first]
        of_rows = [scores_of[caption].pop(0) for caption in captions]
        people = np.array([score.score for score in of_rows], dtype=np.float64)
        ratings = [score.ratings for score in of_rows]
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(image, len(numbers)) for image, _ in captions]
    keys, documents = [key for _, key in captions], rows.documents
    clusters = (
        clusters_of_captions(
            inputs.table,
            np.array(pks or [], dtype=np.int64),
            [documents.get(image, image) for image, _ in captions],
            ratings=ratings,
            decided=inputs.consensus.decisions,
            anonymous=not inputs.raters_known,
        )
        if rows.settings.clustered
        else NAIVE
    )
    if "audited" in rows.settings.evaluation["settings"]:  # since 0.6
        weight = inputs.aggregation.result["filter_audit"]["weight"]
        audited = [number for number, row in enumerate(rows.units) if row["audited"] and not row["filtered"]]
        inputs = replace(inputs, unit_weights=dict.fromkeys(audited, weight), pks=pks)
    weights = inputs.weights if inputs.unit_weights else None
    scores: dict[str, Floats] = {}
    metrics = {}
    for metric, metric_rows in by_metric.items():
        column = np.array([row["first"] for row in metric_rows], dtype=np.float64)
        scores[metric] = column[:, np.newaxis]
        metrics[metric] = correlation_of_captions(
            column,
            people,
            groups,
            keys,
            cuts=kind.comparison.cuts,
            per_image=kind.comparison.per_image,
            seed=rows.settings.seed,
            clusters=clusters,
            weights=weights,
        )
    cells = {metric: figures["kendall_tau_b"] for metric, figures in metrics.items()}
    columns = {metric: column[:, 0] for metric, column in scores.items()}
    verdict = {"all": correlation_verdict(columns, people, clusters, cells, weights)}
    result = {
        "metrics": metrics,
        "verdict": verdict,
        "counts": {"units": len(captions)},
        **scope_fields(columns_and_deletions(clusters)[1]),
    }
    return replace(inputs, scores=scores, pks=pks, people=people, captions=captions), result


def _texts(rows: ReleasedRows) -> Texts | None:
    texts = {row["caption"]: row["text"] for row in rows.captions}
    of_image: dict[Any, list[tuple[str, str]]] = {}
    for row in rows.captions:
        if row["document"]:  # skip control items' images, which no result covers
            of_image.setdefault(row["image"], []).append((row["caption"], row["text"]))
    if not texts:
        return None
    references = find_references_of_pairs(
        (
            (
                number, row["kind"] or "", row["image"], texts[row["first"]], texts[row["second"]], row["references"]
            )
            for number, row in enumerate(rows.pairs)
        ),
        of_image,
    )  # fmt: skip
    return None if references is None else (references[0], references[1])


@dataclass(frozen=True, slots=True)
class Findings:
    rows: ReleasedRows
    signature: str
    inputs: ReportInputs
    sections: list[Section]
    outcomes: dict[str, Any] | None = None

    @property
    def agreement(self) -> dict[str, Any]:
        agreement: dict[str, Any] = self.inputs.aggregation.result["agreement"]
        return agreement

    @property
    def workers(self) -> list[dict[str, Any]]:
        workers: list[dict[str, Any]] = self.inputs.aggregation.result["workers"]
        return workers

    @property
    def metrics(self) -> dict[str, Any]:
        evaluation = self.inputs.evaluation
        return dict(evaluation.result["metrics"]) if evaluation else {}

    @property
    def counts(self) -> dict[str, int]:
        consensus, counts = self.inputs.consensus, self.inputs.aggregation.result["counts"]
        return {
            "judgments": self.rows.judgments,
            "invalidated": self.rows.invalidated,
            "counted": counts["counted_judgments"],
            "units": len(consensus.units),
            "control_items": len(self.rows.units) - len(consensus.units),
            "pairs": len(consensus.pairs),
            "workers": counts["workers"],
        }

    def consensus(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of ``consensus.jsonl``: units, then pairs."""
        consensus = self.inputs.consensus
        for unit in consensus.units:
            outcome, row = consensus.of_unit.get(unit.pk, EMPTY_CONSENSUS), self.rows.units[unit.pk]
            answer = outcome.answer
            if answer is not None:
                answer = self.rows.settings.kind.exchange.to_file(answer, content=row["content"] or {})
            source = "adjudicated" if unit.pk in consensus.decisions else "judgments"
            yield {
                "unit": unit.key,
                "pair": row["pair"],
                "kind": row["kind"],
                **{name: getattr(outcome, name) for name in OUTCOME},
                "votes": dict(outcome.votes),
                "answer": answer,
                "source": source,
            }
        for pair in consensus.pairs:
            of_pair = consensus.of_pair[pair.pk]
            votes = {name: getattr(of_pair, name) for name in ("wins", "losses", "ties")}
            yield {
                "unit": None,
                "pair": pair.key,
                "kind": pair.kind or None,
                "n": sum(votes.values()),
                "value": of_pair.value,
                "share": None,
                "margin": None,
                "tie": of_pair.tie,
                "votes": votes,
                "answer": None,
                "source": "published" if of_pair.published else "judgments",
            }

    def analyses(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("signature", "counts", "agreement", "metrics")}


def compute_findings(rows: ReleasedRows, registered: Registered | None = None) -> Findings:
    inputs = inputs_of_rows(rows)
    sections = sections_of(inputs)
    if registered is not None:
        sections.append(registration_section(registered, inputs))
    outcomes = None if registered is None else registration_as_json(registered, inputs)
    return Findings(rows, rows.signature(), inputs, sections, outcomes)


def report_of_rows(
    manifest: Mapping[str, Any], findings: Findings, methods: Sequence[str], citations: Sequence[str]
) -> Report:
    """Return the report of a release; its ``methods`` and ``citations`` rest on the study."""
    inputs, evaluation = findings.inputs, findings.inputs.evaluation
    return Report(
        **{name: manifest[name] for name in ("study", "title", "simulated", "versions")},
        protocol=findings.rows.settings.protocol,
        signature=findings.signature,
        data_hash=inputs.table.data_hash,
        seed=inputs.seed,
        counts=inputs.aggregation.result["counts"],
        sections=tuple(findings.sections),
        methods=tuple(methods),
        citations=tuple(citations),
        settings={RELEASE: {name: value for name, value in manifest.items() if name != "files"}}
        | ({"meta-evaluation": dict(evaluation.settings)} if evaluation else {}),
        signatures=dict(evaluation.result["signatures"]) if evaluation else {},
    )


FORMAT = 1
ABOUT = ("study", "title", "version", "licence", "citation", "simulated", "attribution", "texts")
RELEASE = "release"  # the setting of a report that repeats its manifest, so that neither is changed alone
REPORT = "report/"  # the folder of figures and tables
REGISTRATION, OUTCOMES = "registration.json", "outcomes.json"
NEAR = 1e-9  # relative: sums differ in the last bits between processors
MOST_DIFFERENCES = 50

# Raised when malformed rows are added.
NOT_OURS = (KeyError, TypeError, ValueError, AttributeError, IndexError)

# Added since earlier versions, whose bundles stay valid.
ADDED = frozenset({"coefficients", "pearson", "side_bias"})

# What reports of wording 0 say: what is read instead, there and in what is computed.
REWORDED = {
    r"\b([Ii])mage(s?)\b": r"\1tem\2",
    r"\bpicture(s?)\b": r"item\1",
    "Item annotation: ": "Annotation: ",
    "Item search: ": "Search: ",
    ": item search": ": search",
    "leave_one_out holds each caption": "each caption is held",
    "Nobody has handed in anything yet": "Nobody has submitted anything yet",
}


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
        raise VerificationError(f"{reader.path} is no release bundle of format {FORMAT} by its {MANIFEST}.")
    try:
        rows = ReleasedRows(Settings(**manifest["settings"]))
        for row in reader.rows("pairs.jsonl"):
            rows.add_pair(row)
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
            f"{MANIFEST} or the rows of {reader.path} are not those of a release: {type(error).__name__} {error}."
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


def _check_plan(reader: BundleReader, manifest: dict[str, Any]) -> list[str]:
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
        findings, report = bundle.findings, reader.json(f"{REPORT}report.json")
        stated: dict[str, tuple[Any, Any]] = {
            "workers.jsonl": (list(reader.rows("workers.jsonl")), findings.workers),
            "analyses.json": (reader.json("analyses.json"), findings.analyses()),
        }
        if findings.outcomes is not None:
            stated[OUTCOMES] = (reader.json(OUTCOMES), findings.outcomes)
        differences += _check_manifest(reader, bundle, report)
        differences += _check_plan(reader, bundle.manifest)
        differences += _files_of_report(reader, _sections(report))
        count, others = _compare_rows(reader, "consensus.jsonl", findings.consensus())
        checked += count
        differences += others
        changed: list[str] = []
        if bundle.rows.settings.wording == WORDING:
            now, texts = _texts_made_anew(reader, bundle, report)
            stated[f"{REPORT}report.json"] = (report, as_json(now))
            changed = [
                f"{name} is not what the rows, {MANIFEST} and {REPORT}report.json say."
                for name, text in texts.items()
                if reader.text(name) != text
            ]
        else:
            stated[f"{REPORT}report.json"] = (
                _read_anew(_sections(report)),
                _read_anew(as_json(findings.sections)),
            )
    except VerificationError as error:
        differences.append(str(error))
    else:
        for name, (recorded, computed) in stated.items():
            differences += describe_differences(recorded, computed, name)
            checked += sum(1 for _ in scalars_in(computed))
        differences += changed
    return make_verification(reader.path.name, checked, differences)


def _check_manifest(reader: BundleReader, bundle: ReadBundle, report: Any) -> list[str]:
    """Compare files with those of the manifest, and the rest with the report, of which old ones repeat nothing."""
    manifest = bundle.manifest
    files: dict[str, dict[str, Any]] = {}
    for name, digest in reader.digests.items():
        if name != MANIFEST:
            files[name] = {"sha256": digest, "bytes": reader.sizes[name]}
            if name.endswith(".jsonl"):
                files[name]["rows"] = sum(1 for _ in reader.rows(name))
    repeated = report.get("settings", {}).get(RELEASE, {}) if isinstance(report, dict) else {}
    seed = bundle.rows.settings.seed
    stated = {**repeated, "signature": bundle.findings.signature, "files": files, "seed": seed}
    return [
        line
        for name, computed in stated.items()
        for line in describe_differences(manifest.get(name), computed, f"{MANIFEST}.{name}")
    ]


def _texts_made_anew(reader: BundleReader, bundle: ReadBundle, stated: Any) -> tuple[Report, dict[str, str]]:
    """Return the report of the rows, with the ``stated`` methods, and name and content of each file to read."""
    manifest, findings = bundle.manifest, bundle.findings
    try:
        report = report_of_rows(manifest, findings, stated["methods"], stated["citations"])
        svgs = {plot.name: reader.text(f"{REPORT}figures/{plot.name}.page.svg") for plot in report.plots}
        about = About(
            **{name: manifest[name] for name in ABOUT},
            on=date.fromisoformat(manifest["released_on"]),
            signature=findings.signature,
        )
        design, quorum = tomllib.loads(reader.text("design.toml")), manifest["versions"]["quorum"]
        results = findings.agreement, findings.counts, design, manifest["facts"]
        texts = {f"{REPORT}{name}": text for name, text in texts_of(report, svgs)}
        return report, texts | dict(documents(about, manifest["files"], *results, quorum))
    except (*NOT_OURS, UndefinedError) as error:
        raise VerificationError(
            f"{MANIFEST}, design.toml or {REPORT}report.json of {reader.path} is not that of a release: "
            f"{type(error).__name__} {error}."
        ) from error


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


def _read_anew(value: Any) -> Any:
    """Return a part of a report of wording 0 in today's words."""
    if isinstance(value, dict):
        return {key: _read_anew(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_read_anew(part) for part in value]
    if isinstance(value, str):
        for earlier, now in REWORDED.items():
            value = re.sub(earlier, now, value)
    return value


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
    stored = Analysis.objects.newest(study, Analysis.What.AGGREGATION)
    if stored is None:
        raise VerificationError(f"Study {study.slug!r} has no stored results to verify; compute them first.")
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


# Workers and assignments have new pseudonyms in each release, so judgments are matched by unit and time.
KNOWN_BY = ("unit", "hit", "value", "answer", "presented", "accepted_at", "submitted_at", "seconds")
NO_PLAN: dict[str, Any] = {"sha256": None, "hypotheses": [], "deviations": []}


@dataclass(frozen=True, slots=True)
class _Summary:
    """Parts of a bundle to compare; ``judgments`` are (N,) hashes, ``used`` (N,) inclusion."""

    version: str
    alpha: float | None
    metrics: dict[str, float | None]
    consensus: dict[tuple[str | None, str | None], Any]
    judgments: npt.NDArray[np.uint64]
    used: npt.NDArray[np.bool_]
    outcomes: Mapping[str, Any]


def compare_releases(before: Path, after: Path) -> dict[str, Any]:
    """Compare two bundles (docs/releases.md). Raise VerificationError."""
    old, new = (_summarize(path) for path in (before, after))  # in turn: both at once need twice the memory
    hashes, codes = np.unique(np.concatenate([old.judgments, new.judgments]), return_inverse=True)
    then, now = np.split(codes, [len(old.judgments)])

    def counted(which: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return np.bincount(which, minlength=len(hashes))

    before_counts, after_counts = counted(then), counted(now)
    used_before, used_after = counted(then[old.used]), counted(now[new.used])
    return {
        "versions": [old.version, new.version],
        "judgments": {
            "before": len(then),
            "after": len(now),
            "added": int(np.maximum(after_counts - before_counts, 0).sum()),
            "removed": int(np.maximum(before_counts - after_counts, 0).sum()),
            "no_longer_used": int(np.minimum(used_before, np.maximum(after_counts - used_after, 0)).sum()),
        },
        "consensus": [
            {"unit": unit, "pair": pair, "before": old.consensus[unit, pair], "after": value}
            for (unit, pair), value in new.consensus.items()
            if (unit, pair) in old.consensus and old.consensus[unit, pair] != value
        ],
        "alpha": [old.alpha, new.alpha],
        "metrics": {
            name: [old.metrics.get(name), new.metrics.get(name)]
            for name in sorted({*old.metrics, *new.metrics})
        },
        "swapped": _swapped_metrics(old.metrics, new.metrics),
        **_compare_plans(old.outcomes, new.outcomes),
    }


def _compare_plans(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    then = {(row["text"], row["claim"]): row for row in before["hypotheses"]}
    old_texts, new_texts = ([row["words"] for row in outcomes["deviations"]] for outcomes in (before, after))
    changed = []
    for row in after["hypotheses"]:
        old = then.get((row["text"], row["claim"]), row)
        if old["verdict"] != row["verdict"]:
            verdicts = {"before": old["verdict"], "after": row["verdict"]}
            changed.append({"text": row["text"], "claim": row["claim"], **verdicts, "words": row["words"]})
    return {
        "plan": before["sha256"] == after["sha256"],
        "hypotheses": changed,
        "deviations": {
            "added": [text for text in new_texts if text not in old_texts],
            "removed": [text for text in old_texts if text not in new_texts],
        },
    }


def _summarize(path: Path) -> _Summary:
    with closing(BundleReader(path)) as reader:
        bundle = read_bundle(reader)
        hashes, used = array("Q"), array("b")
        for row in reader.rows("judgments.jsonl"):
            hashes.append(_hash_row(row))
            used.append(bool(row.get("used")))
    return _Summary(
        version=bundle.manifest["version"],
        alpha=bundle.findings.agreement["alpha"]["value"],
        metrics={
            name: (figures["accuracy"]["all"] if "accuracy" in figures else figures["kendall_tau_b"])["value"]
            for name, figures in bundle.findings.metrics.items()
        },
        consensus={(row["unit"], row["pair"]): row["value"] for row in bundle.findings.consensus()},
        judgments=np.array(hashes, dtype=np.uint64),
        used=np.array(used, dtype=bool),
        outcomes=bundle.findings.outcomes or NO_PLAN,
    )


def _hash_row(row: Mapping[str, Any]) -> int:
    """Return 64 bits: among ten million judgments a collision has probability 3e-6."""
    times = {name: to_the_minute(row.get(name)) for name in TIMES}  # before 0.6 to the microsecond
    key = repr([{**row, **times}.get(name, ...) for name in KNOWN_BY])
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def _swapped_metrics(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> list[list[str]]:
    swapped = []
    for name, other in combinations(sorted(before.keys() & after.keys()), 2):
        then, now = (_sign_of_difference(metrics[name], metrics[other]) for metrics in (before, after))
        if then * now < 0:
            swapped.append([name, other])
    return swapped


def _sign_of_difference(first: float | None, second: float | None) -> int:
    if first is None or second is None:
        return 0
    return (first > second) - (first < second)
