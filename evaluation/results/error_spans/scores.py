"""Score and rank systems by marked errors as WMT does, compare two of them, and report them.

A segment is a system's text for an item; its score is the mean over judges of their scores from 0 to 100,
else of MQM's weights. A system's score is the mean over its segments, as at WMT (Freitag et al. 2021; Kocmi
et al. 2024), with an interval over documents, else items.

Ranks are those of WMT24 (Kocmi et al. 2024, "Findings of the WMT24 General Machine Translation Shared Task"): a
system's score is the mean of its domains' means over all judgments. Two systems are compared by Wilcoxon's
signed-rank test in each domain, over every two judgments of a segment, and the p-values are joined by Stouffer's
method. A range of ranks is 1 + the systems that are better at .05, to all less those that are worse. The script that
WMT24 published with its data tests two-sided, and takes who is better from the scores; that of the tables of
September 2024 tests one-sided ("greater") in both directions.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal, NamedTuple

import numpy as np

from common.amounts import as_json, json_float
from evaluation.data.judgment_sets import loaders
from evaluation.data.judgment_sets.loaders import marks_errors
from evaluation.errors import EvaluationError
from evaluation.models import Consensus
from evaluation.presentation.content import Dots, Estimate, Panel, Section, Table, join_names
from evaluation.presentation.rendering import plot, say, section, table
from evaluation.results.consensus import scope_of
from evaluation.results.standings import MEAN, Outputs, compared_table, raters_of
from judgments.cached_figures import Figures, add_figures
from judgments.kinds.spans.answers import MQM, SEVERITIES, SEVERITY, Mqm, value_of
from judgments.models import Caption, Item, Output, Study
from judgments.models.studies import credited
from judgments.studies.studies import design_of
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import CONFIDENCE, NO_SPREAD
from quorum.statistics.inputs import encode
from quorum.statistics.significance import stouffer_wilcoxon

NO_SPANS = "Study {slug!r} is {protocol}; errors are marked in studies of spans alone."
Key = tuple[int, str]  # row id of an item, and the key of a caption's text
Segments = Mapping[str, Sequence["Segment"]]  # of each system, by name
Alternative = Literal["two-sided", "greater"]
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class SystemScore:
    """``score`` is people's, else MQM's; ``errors`` are the mean marks per judge and segment."""

    system: str
    score: float
    low: float | None
    high: float | None
    mqm: float
    z: float | None
    errors: Mapping[str, float]
    segments: int
    judgments: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A text's means over its judges, and their scores; ``cluster`` is its document, else its item.

    ``scored``: whether the scores are people's, from 0 to 100; else they are MQM's, which are 0 at most.
    """

    item: int
    cluster: Hashable
    score: float
    mqm: float
    z: float | None
    errors: Mapping[str, float]
    judgments: int
    domain: str = ""
    scores: Sequence[float] = ()
    workers: Sequence[int] = ()
    unit: int = 0
    scored: bool = False


class Judged(NamedTuple):
    """A judgment of a text; its ``domain`` is its item's split."""

    worker: Any
    answer: Mapping[str, Any]
    cluster: Hashable
    domain: str = ""
    unit: int = 0


@dataclass(frozen=True, slots=True)
class SystemsComparison:
    """The mean difference, first less second, over the segments of both."""

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    better: int
    worse: int
    segments: int
    reason: str


def segments_of(study: Study) -> Segments:
    """Return system -> judged segments. Raise EvaluationError if answers are no marked errors."""
    if not loaders.marks_errors(study):
        raise EvaluationError(NO_SPANS.format(slug=study.slug, protocol=study.protocol))
    included = loaders.judged_answers(study, loaders.load_judgments(study))
    by_text: defaultdict[Key, list[int]] = defaultdict(list)
    for number, judgment in enumerate(included):
        by_text[judgment.unit.item_id, judgment.unit.first.text_key].append(number)
    texts: dict[str, dict[int, list[int]]] = {}
    outputs = Output.objects.of_study(study).annotations().order_by("system__name", "item__position", "pk")
    rows = outputs.values_list("system", "system__name", "item_id", "caption__text_key")
    for pk, system, item, key in rows.iterator():
        positions = [
            number
            for number in by_text.get((item, key), ())
            if pk in credited(included[number].unit.systems, (pk,))
        ]
        if positions:  # of several texts of a system for an item, the first one that was judged
            texts.setdefault(system, {}).setdefault(item, positions)
    anonymous, documents = loaders.is_anonymous(study), loaders.documents_of(study)
    judged = [
        Judged(
            None if anonymous else row.worker,
            row.answer,
            documents.get(row.unit.item_id, row.unit.item_id),
            row.unit.item.split,
            row.unit.pk,
        )
        for row in included
    ]
    return score_segments(judged, texts, MQM.with_weights(design_of(study).spans.weights_by_category))


def score_segments(
    judged: Sequence[Judged], texts: Mapping[str, Mapping[int, Sequence[int]]], mqm: Mqm = MQM
) -> Segments:
    """Return system -> segments; ``texts`` are system -> item -> positions in ``judged`` of its text."""
    values = [value_of(judgment.answer, mqm) for judgment in judged]
    z = standardised_mean(range(len(judged)), [judgment.worker for judgment in judged], values).z
    spans = [judgment.answer["spans"] for judgment in judged]

    def score(item: int, positions: Sequence[int]) -> Segment:
        marks = Counter(span[SEVERITY] for number in positions for span in spans[number])
        known = [float(z[number]) for number in positions if np.isfinite(z[number])]
        return Segment(
            item=item,
            cluster=judged[positions[0]].cluster,
            domain=judged[positions[0]].domain,
            unit=judged[positions[0]].unit,
            score=float(np.mean([values[number] for number in positions])),
            mqm=float(np.mean([mqm.score(spans[number]) for number in positions])),
            z=float(np.mean(known)) if known else None,
            errors={severity: marks[severity] / len(positions) for severity in SEVERITIES if marks[severity]},
            judgments=len(positions),
            scores=[values[number] for number in positions],
            workers=[judged[number].worker for number in positions],
            scored=all("score" in judged[number].answer for number in positions),
        )

    return {
        system: [score(item, rows) for item, rows in of_items.items()] for system, of_items in texts.items()
    }


def system_scores(segments: Segments) -> list[SystemScore]:
    outputs = outputs_of(segments)
    figures = outputs.figures(MEAN) if outputs is not None else {}
    scores = [_score_system(name, judged, figures[name]) for name, judged in segments.items()]
    return sorted(scores, key=lambda score: (-score.score, score.system))


def _score_system(name: str, segments: Sequence[Segment], mean: Mapping[str, Any]) -> SystemScore:
    z = [segment.z for segment in segments if segment.z is not None]
    return SystemScore(
        system=name,
        score=mean["value"],
        low=mean["low"],
        high=mean["high"],
        mqm=float(np.mean([segment.mqm for segment in segments])),
        z=float(np.mean(z)) if z else None,
        errors={
            severity: sum(segment.errors.get(severity, 0.0) for segment in segments) / len(segments)
            for severity in SEVERITIES
            if any(severity in segment.errors for segment in segments)
        },
        segments=len(segments),
        judgments=sum(segment.judgments for segment in segments),
    )


def outputs_of(segments: Segments) -> Outputs | None:
    """Return the segments as outputs of systems, with their judges where these are known; None without segments."""
    rows = [(name, segment) for name, judged in segments.items() for segment in judged]
    if not rows:
        return None
    names = list(segments)
    items, item = np.unique([segment.item for _, segment in rows], return_inverse=True)
    cluster_of = {segment.item: segment.cluster for _, segment in rows}
    votes = [
        (row, worker, score)
        for row, (_, segment) in enumerate(rows)
        for worker, score in zip(segment.workers, segment.scores, strict=True)
        if worker is not None
    ]
    row, worker, score = zip(*votes, strict=True) if votes else ((), (), ())
    scored = [segment.scored for _, segment in rows]
    return Outputs(
        names=names,
        item=item,
        system=np.array([names.index(name) for name, _ in rows]),
        cluster=encode([cluster_of[pk] for pk in items.tolist()], "documents")[1],
        score=np.array([segment.score for _, segment in rows]),
        deletions=means_without_raters(row, worker, score, len(rows)) if votes else None,
        ends=(0.0 if all(scored) else -math.inf, 100.0 if any(scored) else 0.0),
    )


def scope_of_segments(segments: Segments) -> str:
    """Return for whom intervals and tests of the segments hold."""
    outputs = outputs_of(segments)
    return scope_of(None if outputs is None else raters_of(outputs.deletions))


def compare_systems(segments: Segments, first: str, second: str) -> SystemsComparison:
    """Compare two systems on shared segments. Raise EvaluationError if one has no judged text."""
    for name in (first, second):
        if name not in segments:
            raise EvaluationError(
                f"System {name!r} has no judged text in the study; there are {', '.join(segments) or 'none'}."
            )
    both = shared_segments(segments, first, second)
    differences = [segment.score - other.score for segment, other in both]
    outputs = outputs_of({first: segments[first], second: segments[second]})
    mean, spread, p = math.nan, NO_SPREAD, math.nan
    if outputs is not None:
        mean, spread, _ = outputs.contrast({0: 1.0, 1: -1.0})
        p = outputs.compare(0, 1).p
    half = spread.half(CONFIDENCE)
    return SystemsComparison(
        first=first,
        second=second,
        difference=json_float(mean),
        low=json_float(mean - half),
        high=json_float(mean + half),
        p=json_float(p),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        segments=len(both),
        reason="" if both else "no item has a judged text of both",
    )


@dataclass(frozen=True, slots=True)
class Side:
    """A text in pieces, each with its consensus severity or ""."""

    score: float | None
    pieces: tuple[tuple[str, str], ...]
    missing: str


@dataclass(frozen=True, slots=True)
class MarkedRow:
    item: str
    source: str
    reference: str
    sides: tuple[Side, Side]


def shared_segments(segments: Segments, first: str, second: str) -> list[tuple[Segment, Segment]]:
    """Return the segments of both systems, largest difference first."""
    others = {segment.item: segment for segment in segments[second]}
    both = [(segment, others[segment.item]) for segment in segments[first] if segment.item in others]
    return sorted(both, key=lambda pair: -abs(pair[0].score - pair[1].score))


def marked_rows(study: Study, shown: Sequence[tuple[Segment, Segment]]) -> list[MarkedRow]:
    """Return shared segments with their marked texts, if both have a consensus."""
    items = Item.objects.in_bulk([segment.item for segment, _ in shown])
    references = dict(
        Caption.objects.filter(item__in=items, role=Caption.Role.REFERENCE)
        .order_by("-position")
        .values_list("item_id", "text")
    )
    units = {segment.unit for both in shown for segment in both}
    rows = Consensus.objects.filter(study=study, unit__in=units).select_related("unit__first")
    consensus = {row.unit_id: row for row in rows}
    return [
        MarkedRow(
            item=items[first.item].name,
            source=items[first.item].text,
            reference=references.get(first.item, ""),
            sides=(_marked_side(consensus[first.unit]), _marked_side(consensus[second.unit])),
        )
        for first, second in shown
        if first.unit in consensus and second.unit in consensus
    ]


def _marked_side(consensus: Consensus) -> Side:
    assert consensus.unit is not None
    assert consensus.unit.first is not None  # a text was marked
    text = consensus.unit.first.text
    spans = consensus.answer["spans"] if consensus.answer else []
    severity = [""] * len(text)
    for span in spans:
        if span["start"] is not None:
            severity[span["start"] : span["end"]] = [span[SEVERITY]] * (span["end"] - span["start"])
    edges = [at for at in range(len(text)) if at == 0 or severity[at] != severity[at - 1]]
    pieces = tuple(
        (text[start:end], severity[start]) for start, end in zip(edges, [*edges[1:], len(text)], strict=True)
    )
    missing = next((span[SEVERITY] for span in spans if span["start"] is None), "")
    return Side(consensus.value, pieces, missing)


SEGMENTS = add_figures(
    Figures(
        name="span-segments",
        compute=segments_of,
        rows=lambda systems: sum(segment.judgments for judged in systems.values() for segment in judged),
        as_json=as_json,
        from_json=lambda systems: {name: [Segment(**row) for row in rows] for name, rows in systems.items()},
    )
)


def scores_table(scores: Sequence[SystemScore]) -> Table:
    severities = [name for name in SEVERITIES if any(name in row.errors for row in scores)]
    rows = [
        (
            score.system,
            Estimate(score.score, score.low, score.high),
            score.mqm,
            score.z,
            *(score.errors.get(severity, 0.0) for severity in severities),
            score.segments,
            score.judgments,
        )
        for score in scores
    ]
    return table(
        "systems-by-errors",
        rows,
        [
            ("system", "text"),
            ("score", "fixed"),
            ("MQM score", "fixed"),
            ("z", "fixed"),
            *((f"{severity} errors", "fixed") for severity in severities),
            ("segments", "count"),
            ("judgments", "count"),
        ],
    )


def systems_section(study: Study) -> Section | None:
    """Return systems' scores, best first, and what the best was compared with; None without marked errors."""
    if not marks_errors(study):
        return None
    segments = segments_of(study)
    scores = system_scores(segments)
    if not scores:
        return None
    data = scores_table(scores)
    outputs = outputs_of(segments)
    assert outputs is not None, "there are scores"
    standings = outputs.standings(MEAN)
    best = standings.compare()
    leaders = best.leaders
    sentence = say(
        "systems-by-errors",
        best=scores[0],
        names=join_names(leaders),
        alone=len(leaders) == 1,
        systems=len(scores),
        known=scores[0].low is not None,
    )
    drawing = Dots(
        tuple(score.system for score in scores),
        (Panel("", tuple(Estimate(score.score, score.low, score.high) for score in scores)),),
        "mean score of the segments, 95 % interval",
        "number",
        tuple(leaders),
    )
    cells = {"": standings.figures}
    verdict = {"leaders": leaders, "rest": best.rest, "compared": best.compared, "scope": standings.scope}
    compared = compared_table({"": verdict}, cells, heads=("", "system"), value=("score", "fixed"))
    tables = [data, *compared]
    return section("systems-by-errors", [sentence], [plot(sentence, drawing, data)], tables)


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system with its range of ranks, and its mean score by domain."""

    system: str
    score: float
    best: int
    worst: int
    domains: Mapping[str, float]


def rank_systems(segments: Segments, alternative: Alternative = "two-sided") -> list[RankedSystem]:
    """Return systems with their ranks, the highest score first. Domains are the splits of the dataset."""
    domains = {name: _domain_means(judged) for name, judged in segments.items()}
    scores = {name: float(np.mean(list(means.values()))) for name, means in domains.items()}
    beats = {
        (first, second)
        for first, second in permutations(segments, 2)
        if (alternative == "greater" or scores[first] > scores[second])
        and _p_of(segments[first], segments[second], alternative) < LEVEL
    }
    ranked = []
    for name in segments:
        best = 1 + sum((other, name) in beats for other in segments)
        worst = len(segments) - sum((name, other) in beats for other in segments)
        ranked.append(RankedSystem(name, scores[name], best, worst, domains[name]))
    return sorted(ranked, key=lambda row: (-row.score, row.system))


def _domain_means(judged: Sequence[Segment]) -> dict[str, float]:
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for segment in judged:
        scores[segment.domain].extend(segment.scores)
    return {domain: float(np.mean(scores[domain])) for domain in sorted(scores)}


def _p_of(first: Sequence[Segment], second: Sequence[Segment], alternative: Alternative) -> float:
    others = {segment.item: segment.scores for segment in second}
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for segment in first:
        for other in others.get(segment.item, ()):
            differences[segment.domain].extend(score - other for score in segment.scores)
    return stouffer_wilcoxon(list(differences.values()), alternative)


def ranks_table(ranked: Sequence[RankedSystem]) -> Table:
    domains = sorted({domain for row in ranked for domain in row.domains})
    means = [(domain or "all", "fixed") for domain in domains]
    rows = [
        (row.system, f"{row.best}–{row.worst}", row.score, *map(row.domains.get, domains)) for row in ranked
    ]
    columns = [("system", "text"), ("ranks", "text"), ("score", "fixed"), *means]
    return table("systems-by-domain", rows, columns)
