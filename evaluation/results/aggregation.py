"""Compute and store a study's consensus, agreement and workers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.models import Assignment, Judgment
from common.amounts import as_json, percent, thousands
from common.files import FiguresEncoder
from common.rows import batched, indexes_built_after, insert_rows, large_cache, many_objects, plain_rows
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.records import JudgmentTable, PairRow, UnitRow, WorkerRow
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.ranked_lists import newest_output, proposals_of
from evaluation.models import Analysis, Consensus
from evaluation.presentation import rendering
from evaluation.presentation.content import Cell, Estimate, Table, estimate_of
from evaluation.results.agreement import RESAMPLES, measure_agreement
from evaluation.results.consensus.clusters import CLUSTERED
from evaluation.results.consensus.study import (
    EMPTY_CONSENSUS,
    OUTCOME,
    PairConsensus,
    StudyConsensus,
    columns_and_others,
    consensus_of,
)
from evaluation.results.rankings import (
    NO_RANKINGS,
    audit_filter,
    judged_outputs,
    judged_systems,
    rankings_of,
    rankings_tables,
)
from evaluation.results.standings import outputs_of_answers
from evaluation.results.systems import SystemsVerdict, verdict_of_systems
from evaluation.results.worker_models import ModelInput, model_answers, without_units, worker_model
from judgments.access.study_log import note_event
from judgments.design.numbers import display_number, plain_number
from judgments.design.scale import Scale
from judgments.kinds import KINDS, IncludedJudgment, Kind, KindResults
from judgments.models import Study, SystemContent
from judgments.studies.designs import design_of, kind_of, stops_early
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.stopping import describe_stopping
from quorum.numeric.arrays import Floats, order_of, places_in
from quorum.numeric.signatures import signature
from quorum.statistics.aggregation import standardised_mean
from quorum.statistics.crossed import NAIVE

if TYPE_CHECKING:
    from annotation.quality.controls import ControlRecord

SYSTEM_COUNTS = ("pairs", "wins", "losses", "ties")
CONSENSUS_FIELDS = (
    "study_id", "unit_id", "pair_id", "source", "n", "value", "answer", "share", "margin", "tie", "votes",
)  # fmt: skip
ADJUDICATED, JUDGMENTS = Consensus.Source.ADJUDICATED.value, Consensus.Source.JUDGMENTS.value
JSON_FIELDS = ("answer", "votes")
ROWS_AT_ONCE = 5_000
DIGESTED_FROM = 100_000  # units: the rows of fewer are compared within a second
# Parts of the file that few studies have.
OPTIONAL_KEYS = (
    "scale", "figures", "systems", "systems_verdict", "rankings", "system_orders", "filter_audit", "clusters",
)  # fmt: skip
COEFFICIENT_NAMES = {
    "percent": gettext_noop("percent agreement"),
    "fleiss": gettext_noop("Fleiss' kappa"),
    "gwet": gettext_noop("Gwet's AC"),
}
MEANS = {"mean": "fixed", "yes": "coefficient", "z": "coefficient", "describes": "coefficient"}


@dataclass(frozen=True, slots=True)
class StudyAggregation:
    """The result of ``aggregate``, with its settings and signature.

    Attributes:
        contents: content of units that an open kind adds to the file, by row id.
        model: Dawid and Skene's model with every unit; empty if answers are no categories.
        others: other requested models by name, with every unit.
        result: what is stored, without the consensus. Its ``outputs`` is the row id of the last system output that
            was used; None for pairs.
    """

    study: Study
    consensus: StudyConsensus
    contents: Mapping[int, Mapping[str, Any]]
    figures: KindResults
    model: dict[str, Any]
    others: Mapping[str, dict[str, Any]]
    audited: Set[int]
    result: dict[str, Any]
    settings: dict[str, Any]
    signature: str
    judgments: str

    def as_json(self, *, with_units: bool = True) -> dict[str, Any]:
        """Return the content of the file that `aggregate --output` writes (docs/evaluation.md); units are optional."""
        consensus, result = self.consensus, self.result
        keys = {pair.pk: pair.key for pair in consensus.pairs}
        adjudicated = consensus.adjudicated_pairs()
        models = {name: _model_json(model, with_units) for name, model in self.others.items()}
        return {
            "units": [self._unit_dict(unit, keys) for unit in consensus.units] if with_units else [],
            "pairs": [
                _pair_dict(pair, consensus.of_pair[pair.pk])
                | ({"source": ADJUDICATED} if pair.pk in adjudicated else {})
                for pair in consensus.pairs
            ],
            "agreement": result["agreement"],
            "workers": result["workers"],
            **{name: result[name] for name in OPTIONAL_KEYS if result.get(name)},
            "signature": self.judgments,
            **({"dawid_skene": _model_json(self.model, with_units)} if self.model else {}),
            **({"models": models} if models else {}),
        }

    def _unit_dict(self, unit: UnitRow, pair_keys: Mapping[int, str]) -> dict[str, Any]:
        kind = KINDS[self.study.protocol]
        outcome = self.consensus.of_unit.get(unit.pk, EMPTY_CONSENSUS)
        row = {
            "unit": unit.key,
            "protocol": self.study.protocol,
            "kind": unit.kind or None,
            "pair": pair_keys[unit.pair] if unit.pair is not None else None,
            **{name: getattr(outcome, name) for name in OUTCOME},
        }
        decision = self.consensus.decisions.get(unit.pk)
        if decision is not None:
            names = ("by", "at", "reason", "votes")
            row |= {"source": ADJUDICATED, "adjudicated": as_json(decision, *names)}
        if kind.is_open:
            content = self.contents.get(unit.pk, {})
            row["answer"] = None
            if outcome.answer is not None:
                row["answer"] = kind.exchange.to_file(outcome.answer, content=content)
        row |= self.figures.units.get(unit.pk, {})
        if unit.pk in self.audited:
            row |= {"audited": True, "weight": self.result["filter_audit"]["weight"]}
        return row


def _model_json(model: Mapping[str, Any], with_units: bool) -> Any:
    return as_json(model if with_units else without_units(model))


def _pair_dict(pair: PairRow, outcome: PairConsensus) -> dict[str, Any]:
    return {
        "pair": pair.key,
        "kind": pair.kind or None,
        "first": pair.first,
        "second": pair.second,
        **{name: getattr(outcome, name) for name in ("value", "wins", "losses", "ties", "tie")},
    }


def _scale_dict(scale: Scale) -> dict[str, float]:
    """Return a study's own scale as JSON.

    A mean above ``describes_above``, the middle of the scale, counts as "the text describes the item".
    """
    ends = {name: getattr(scale, name) for name in ("low", "high", "step")}
    return {**ends, "describes_above": plain_number(scale.middle)}


def scale_sentence(result: Mapping[str, Any]) -> str:
    """Return a sentence on the scale of the answers and its middle; "" for the kind's usual scale."""
    if "scale" not in result:
        return ""
    *ends, above = result["scale"].values()
    scale = Scale(**dict(zip(("low", "high", "step"), ends, strict=True)))
    return _(
        "Answers are on the scale %(scale)s. “describes”: the share of outputs with a mean in its upper half, above "
        "%(middle)s."
    ) % {"scale": scale.in_words, "middle": display_number(above)}


def _audit_filter_of(study: Study, consensus: StudyConsensus) -> tuple[dict[str, Any], Set[int]]:
    relevance, notes = kind_of(study).relevance, study.notes
    if not notes.get("audited") or relevance is None:
        return {}, frozenset()
    passed, audited = loaders.units_by_filter(study)
    audit = audit_filter(
        relevance,
        consensus.of_unit,
        passed=passed,
        audited=audited,
        pairs=notes["candidate_pairs"],
        passed_pairs=notes["passed_filter"],
    )
    return audit, audited


def _systems_of(
    study: Study,
    kind: Kind,
    table: JudgmentTable,
    consensus: StudyConsensus,
    audit: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], dict[str, Any], SystemsVerdict | None]:
    """Return the systems' figures, further results on them (such as rankings), and the verdict on systems."""
    if (relevance := kind.relevance) is not None:
        proposals, anonymous = proposals_of(study), loaders.is_anonymous(study)
        answers = partial(outputs_of_answers, proposals, table, consensus.decisions, anonymous=anonymous)
        outputs = answers(ends=relevance.ends)
        rankings = rankings_of(relevance, proposals, judged_outputs(kind, proposals, table, consensus), audit)
        standardised = answers(answers=_standardised(table)) if kind.results is not None else None
        systems = [] if outputs is None else judged_systems(relevance, outputs, standardised)
        return systems, rankings, verdict_of_systems(study, table, consensus, outputs)
    tallies = system_tallies(consensus, loaders.systems_of_pairs(study))
    return tallies, NO_RANKINGS, verdict_of_systems(study, table, consensus)


def _content_of_systems(
    study: Study, kind: Kind, judged: Sequence[IncludedJudgment], seed: int
) -> tuple[dict[str, Any], SystemsVerdict | None]:
    if not (kind.system_content and judged):
        return {}, None
    # Import here, as the machine code of the metrics would take memory in every web process.
    from evaluation.results.system_content.scoring import content_of_systems

    stored = SystemContent.objects.of_study(study, kind.system_content)
    return content_of_systems(
        kind,
        judged,
        stored.values_list("system__name", "item_id", "names").iterator(),
        loaders.documents_of(study),
        anonymous=loaders.is_anonymous(study),
        seed=seed,
    )


def _standardised(table: JudgmentTable) -> Floats:
    """Return the (N,) answers standardised by worker; nan for answers that do not count."""
    counted, z = table.counted, np.full(len(table), np.nan)
    rows = np.arange(int(counted.sum()))
    z[counted] = standardised_mean(rows, table.worker[counted], table.value[counted]).z
    return z


def compute_aggregation(
    *,
    study: Study,
    method: Collection[str] = (),
    clusters: str = CLUSTERED[0],
    progress: Progress = no_progress,
) -> StudyAggregation:
    """Compute consensus, agreement and workers' figures, without storing them.

    ``clusters`` "naive" takes judgments as independent in intervals of agreement. ``method`` names further worker
    models (``WORKER_MODELS``).
    """
    kind, design = kind_of(study), design_of(study)
    progress(0.05, "reading judgments")
    units = loaders.study_units(study)
    table = loaders.load_judgments(study, units=units)
    items = units.judged
    del units  # frees memory: the judged units were copied
    judged = loaders.judged_answers(study, table) if kind.results else []
    progress(0.35, "measuring agreement")  # before the consensus is computed, to save memory
    workers = loaders.worker_rows(study)
    agreement = measure_agreement(
        kind,
        table,
        items,
        workers,
        judged,
        seed=design.seed,
        full_depth=loaders.full_depth_units(study),
        images=None if clusters == NAIVE else loaders.clusters_of_units(study, items),
    )
    progress(0.5, "finding the consensus")
    consensus = consensus_of(study, table, items)
    fitting = ModelInput(kind, table, workers, consensus, agreement["per_worker"]["reason"])
    model = model_answers(fitting)
    others = {}
    for name in method:
        progress(0.55, f"fitting {name}")
        others[name] = worker_model(name, fitting)
    audit, audited = _audit_filter_of(study, consensus)
    figures = kind.results.figures(judged, seed=design.seed) if judged and kind.results else KindResults()
    systems, rankings, verdict = _systems_of(study, kind, table, consensus, audit)
    content, best = _content_of_systems(study, kind, judged, design.seed)
    settings = {
        "protocol": study.protocol,
        "controls": AS_IMPORTED if study.source == Study.Source.IMPORTED else design.controls.threshold,
        "pair-ties": "set-aside",
        "alpha": kind.aggregation.level,
        "resamples": RESAMPLES,
        "seed": design.seed,
        **({"clusters": NAIVE} if clusters == NAIVE else {}),
        **({"stopping": describe_stopping(design)} if stops_early(study) else {}),
    }
    times = loaders.work_times(study, loaders.workers_without_times(table, workers))
    return StudyAggregation(
        study=study,
        consensus=consensus,
        contents={judgment.unit.pk: judgment.unit.content for judgment in judged},
        figures=figures,
        model=model,
        others=others,
        audited=audited,
        result={
            "agreement": agreement,
            "workers": worker_figures(table, workers, table.records, times),
            "counts": count_judgments(table, consensus, len(workers)),
            "unused": unused_answers(study, table),
            "systems": systems,
            "systems_verdict": best or verdict,
            **rankings,
            "outputs": newest_output(study) if kind.judges_one_caption or kind.system_content else None,
            **({"scale": _scale_dict(kind.scale)} if design.scale and kind.scale else {}),
            "figures": {**figures.study, **({"system_content": content} if content else {})},
            **({"clusters": NAIVE} if clusters == NAIVE else {}),
            **({"dawid_skene": without_units(model)} if model else {}),
            **({"models": {name: without_units(other) for name, other in others.items()}} if others else {}),
            **({"filter_audit": audit} if audit else {}),
        },
        settings=settings,
        signature=signature("aggregation", settings),
        judgments=str(signature_of_study(study, table=table)),
    )


@transaction.atomic
def store_aggregation(aggregation: StudyAggregation) -> Analysis:
    """Update the stored consensus, and store the other results as an analysis."""
    study, consensus = aggregation.study, aggregation.consensus
    analysis = Analysis.objects.replace(
        study=study,
        what=Analysis.Kind.AGGREGATION,
        signature=aggregation.signature,
        data_hash=consensus.data_hash,
        settings=aggregation.settings,
        judgments=aggregation.judgments,
        result=aggregation.result,
    )
    stored = Consensus.objects.filter(study=study)
    rows_before, digested = stored.count(), len(consensus.units) >= DIGESTED_FROM
    before = blocks.read_digests(study, rows=rows_before) if digested else {}
    digests: dict[int, bytes] = {}
    rows_of_units = _unit_rows(study, consensus, aggregation.figures, before, digests)
    rows_of_pairs = _pair_rows(study, consensus)
    with large_cache():
        if rows_before:
            for units, rows in rows_of_units:
                _store_changes(study, "unit_id", units, rows)
            for pairs, rows in rows_of_pairs:
                _store_changes(study, "pair_id", pairs, rows)
        else:
            every = chain.from_iterable(rows for _, rows in chain(rows_of_units, rows_of_pairs))
            with indexes_built_after(Consensus, rows=len(consensus.units)):
                insert_rows(Consensus, CONSENSUS_FIELDS, every, ready=JSON_FIELDS)
    if digested:
        blocks.store_digests(study, digests, rows=stored.count())
    elif rows_before >= DIGESTED_FROM:
        blocks.forget_digests(study)
    counted = aggregation.result["counts"]["judgments"]
    sentence = f"Consensus and agreement were computed from {counted:,} judgments."
    note_event(study=study, what="computed", sentence=sentence, signature=aggregation.signature)
    return analysis


def _store_changes(study: Study, field: str, pks: Sequence[int], rows: list[tuple[Any, ...]]) -> None:
    """Store ``rows`` with CONSENSUS_FIELDS for these units or pairs; write only what changed.

    Args:
        field: the field of the unit or pair.
        pks: their row ids, ascending; those without a row in ``rows`` have no consensus.
    """
    index = CONSENSUS_FIELDS.index(field)
    # Do not filter by study, for which SQLite would read all rows of the study at each call.
    between = Consensus.objects.filter(**{f"{field}__gte": pks[0], f"{field}__lte": pks[-1]}).order_by(field)
    if list(plain_rows(between.values_list(*CONSENSUS_FIELDS))) == rows:
        return
    known = {
        before[index + 1]: before
        for before in plain_rows(between.values_list("pk", *CONSENSUS_FIELDS))
        if before[1] == study.pk
    }
    added, changed = [], []
    for row in rows:
        before = known.pop(row[index], None)
        if before is None:
            added.append(row)
        elif before[1:] != row and _comparison_key(before[1:]) != _comparison_key(row):
            changed.append((before[0], *row))
    outdated = [pk for pk, *_ in (*known.values(), *changed)]
    if outdated:
        Consensus.objects.filter(pk__in=outdated).delete()
    insert_rows(Consensus, ("id", *CONSENSUS_FIELDS), changed, ready=JSON_FIELDS)
    insert_rows(Consensus, CONSENSUS_FIELDS, added, ready=JSON_FIELDS)


def _comparison_key(row: Sequence[Any]) -> tuple[Any, ...]:
    *cells, answer, share, margin, tie, votes = row
    return *cells, _sort_names(answer), share, margin, tie, _sort_names(votes)


@lru_cache(ROWS_AT_ONCE)
def _sort_names(text: str | None) -> str | None:
    """Return JSON with sorted keys, because PostgreSQL orders them otherwise."""
    return None if text is None else json.dumps(json.loads(text), sort_keys=True)


def _unit_rows(
    study: Study,
    consensus: StudyConsensus,
    figures: KindResults,
    before: Mapping[int, bytes],
    digests: dict[int, bytes],
) -> Iterator[tuple[list[int], list[tuple[Any, ...]]]]:
    """Yield batches of unit row ids, and CONSENSUS_FIELDS of those with a consensus, unless stored ``before``.

    Fill ``digests`` with those of batches that are columns alone, by their first unit.
    """
    columns, single = columns_and_others(consensus.of_unit)
    pks = np.sort(consensus.units.pk)
    positions = np.full(len(pks), -1) if columns is None else places_in(columns.unit, pks)
    rows_differ = np.isin(pks, list(single)) | bool(figures.units)  # from the columns
    for start in range(0, len(pks), ROWS_AT_ONCE):
        batch, rows = slice(start, start + ROWS_AT_ONCE), []
        in_columns = positions[batch] >= 0
        if columns is not None and not rows_differ[batch].any():
            first = int(pks[start])
            digests[first] = columns.digest(pks[batch], positions[batch])
            if before.get(first) == digests[first]:
                continue
        units = pks[batch].tolist()
        if columns is not None:
            n, value, *outcomes, votes = columns.cells(positions[batch][in_columns])
            judged = pks[batch][in_columns].tolist()
            answers = [_as_text(figures.units.get(pk)) for pk in judged] if figures.units else repeat(None)
            common = repeat(study.pk), judged, repeat(None), repeat(JUDGMENTS)
            # The shortest column ends the rows, as repeated cells are infinite.
            rows = list(zip(*common, n, value, answers, *outcomes, votes, strict=False))
        others = [pk for pk in pks[batch][~in_columns].tolist() if pk in single] if single else []
        for pk in others:
            outcome, source = single[pk], ADJUDICATED if pk in consensus.decisions else JUDGMENTS
            answer = _as_text(figures.units.get(pk) if outcome.answer is None else outcome.answer)
            shares = outcome.share, outcome.margin, outcome.tie, json.dumps(outcome.votes)
            rows.append((study.pk, pk, None, source, outcome.n, outcome.value, answer, *shares))
        if others:
            rows.sort(key=itemgetter(CONSENSUS_FIELDS.index("unit_id")))
        yield units, rows


def _as_text(answer: Any) -> str | None:
    return None if answer is None else json.dumps(answer, cls=FiguresEncoder)


@lru_cache(ROWS_AT_ONCE)
def _votes_as_text(wins: int, losses: int, ties: int) -> str:
    return json.dumps({"wins": wins, "losses": losses, "ties": ties})


def _pair_rows(study: Study, consensus: StudyConsensus) -> Iterator[tuple[list[int], list[tuple[Any, ...]]]]:
    """Yield batches of pair row ids, each with rows of CONSENSUS_FIELDS for pairs with a winner or votes."""
    adjudicated = consensus.adjudicated_pairs()
    for pairs in batched(sorted(consensus.pairs, key=attrgetter("pk")), ROWS_AT_ONCE):
        rows: list[tuple[Any, ...]] = []
        for pair in pairs:
            outcome = consensus.of_pair[pair.pk]
            wins, losses, ties = outcome.wins, outcome.losses, outcome.ties
            n = wins + losses + ties
            if not n and not outcome.published:
                continue
            source = ADJUDICATED if pair.pk in adjudicated else JUDGMENTS
            share = margin = None
            if n:
                share, margin = max(wins, losses) / n, abs(wins - losses) / n
            if outcome.published:
                source = Consensus.Source.PUBLISHED.value
            votes = _votes_as_text(wins, losses, ties) if n else "{}"
            row = (study.pk, None, pair.pk, source, n, outcome.value, None, share, margin, outcome.tie, votes)
            rows.append(row)
        yield [pair.pk for pair in pairs], rows


def run_aggregation(
    *,
    study: Study,
    method: Collection[str] = (),
    clusters: str = CLUSTERED[0],
    progress: Progress = no_progress,
) -> StudyAggregation:
    """Compute and store consensus, agreement and workers' figures (docs/evaluation.md)."""
    with many_objects():
        blocks.extend_blocks(study)
        aggregation = compute_aggregation(study=study, method=method, clusters=clusters, progress=progress)
        progress(0.7, "storing the consensus")
        store_aggregation(aggregation)
    progress(1.0, "done")
    return aggregation


def aggregate_study(*, study: Study, progress: Progress = no_progress) -> dict[str, Any]:
    """Call ``run_aggregation``; return the content of the file that `aggregate --output` writes."""
    return run_aggregation(study=study, progress=progress).as_json()


def unused_answers(study: Study, table: JudgmentTable) -> dict[str, Any]:
    """Count unused answers by reason, without those on control items."""
    below = np.array([worker for worker, record in table.records.items() if not record.used], dtype=np.int64)
    unused = ~table.used & ~table.control
    of_below = unused & np.isin(table.worker, below)
    gone = Judgment.objects.filter(assignment__study=study, replaced_by__isnull=True, unit__control=False)
    excluded = gone.filter(assignment__state=Assignment.State.INVALIDATED).aggregate(
        answers=Count("pk"), people=Count("assignment__worker", distinct=True)
    )
    apart = gone.filter(assignment__state=Assignment.State.APART).count()
    return {
        "answers": int((~table.control).sum()) + excluded["answers"] + apart,
        "below": {"answers": int(of_below.sum()), "people": len(np.unique(table.worker[of_below]))},
        "excluded": excluded,
        "other": int((unused & ~of_below).sum()) + apart,
    }


def unused_sentence(counts: Mapping[str, Any]) -> str:
    """Return a sentence on unused answers; "" if there are none."""
    below, excluded, other = counts["below"], counts["excluded"], counts["other"]
    unused = below["answers"] + excluded["answers"] + other
    if not unused:
        return ""
    reasons = []
    if below["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant answered too few check questions right (%(answers)s)",
                "%(n)s participants answered too few check questions right (%(answers)s)",
                below["people"],
            )
            % _numbers(below)
        )
    if excluded["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant was excluded (%(answers)s)",
                "%(n)s participants were excluded (%(answers)s)",
                excluded["people"],
            )
            % _numbers(excluded)
        )
    if other:
        reasons.append(
            _("not confirmed by the crowd or the source of the data (%(answers)s)")
            % {"answers": thousands(other)}
        )
    return _("%(unused)s of %(whole)s answers (%(share)s) are not used: %(reasons)s.") % {
        "unused": thousands(unused),
        "whole": thousands(counts["answers"]),
        "share": percent(unused / counts["answers"]),
        "reasons": _(", and ").join(reasons),
    }


def unused_context(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template context on unused answers; {} for results of earlier versions."""
    counts = result.get("unused")
    if not counts:
        return {}
    return {
        "unused": unused_sentence(counts),
        "unused_answers": counts["below"]["answers"] + counts["excluded"]["answers"] + counts["other"],
        "unused_below": counts["below"]["answers"],
        "unused_excluded": counts["excluded"]["answers"],
    }


def _numbers(counts: Mapping[str, int]) -> dict[str, str]:
    return {"n": thousands(counts["people"]), "answers": thousands(counts["answers"])}


def count_judgments(table: JudgmentTable, consensus: StudyConsensus, workers: int) -> dict[str, int]:
    columns, single = columns_and_others(consensus.of_unit)
    decided = sum(
        outcome.value is not None or (outcome.answer is not None and not outcome.tie)
        for outcome in single.values()
    )
    ties = sum(outcome.tie for outcome in single.values())
    if columns is not None:
        decided += int((~np.isnan(columns.value)).sum())
        ties += int(columns.tie.sum())
    return {
        "judgments": len(table),
        "control_judgments": int(table.control.sum()),
        "unused_judgments": int((~table.used & ~table.control).sum()),
        "counted_judgments": int(table.counted.sum()),
        "units": len(consensus.units),
        "units_with_consensus": decided,
        "adjudicated": len(consensus.decisions),
        "unit_ties": ties,
        "pairs": len(consensus.pairs),
        "pairs_with_consensus": sum(pair.value is not None for pair in consensus.of_pair.values()),
        "pair_ties": sum(pair.tie for pair in consensus.of_pair.values()),
        "published_winners": sum(pair.published for pair in consensus.of_pair.values()),
        "workers": workers,
    }


def worker_figures(
    table: JudgmentTable,
    workers: Sequence[WorkerRow],
    records: Mapping[int, ControlRecord],
    wall_times: Mapping[int, Sequence[float]],
) -> list[dict[str, Any]]:
    """Return a row for each worker, sorted by name, without anonymous workers.

    ``seconds`` is the median time for a unit, as measured by the page, else by wall time.
    """
    rows = []
    order = order_of(table.worker)
    starts = np.searchsorted(table.worker[order], [worker.pk for worker in workers], side="left")
    ends = np.searchsorted(table.worker[order], [worker.pk for worker in workers], side="right")
    on_side, on_left = table.sided, table.left
    for worker, start, end in zip(workers, starts.tolist(), ends.tolist(), strict=True):
        if worker.anonymous:
            continue
        indexes = order[start:end]
        record = records.get(worker.pk)
        seconds = table.seconds[indexes]
        seconds = seconds[~np.isnan(seconds)]
        times = seconds if len(seconds) else np.array(wall_times.get(worker.pk, ()), dtype=np.float64)
        sided = int(on_side[indexes].sum())
        judged = int((~table.control[indexes]).sum())
        rows.append(
            {
                "worker": worker.name,
                "judgments": judged,
                "used_judgments": int((table.used[indexes] & ~table.control[indexes]).sum()),
                "controls_seen": record.seen if record else 0,
                "controls_right": record.right if record else 0,
                "controls_share": record.share if record else None,
                "controls_by_kind": {
                    name: {"seen": seen, "right": right}
                    for name, (seen, right) in (record.by_kind if record else {}).items()
                },
                "used": bool(table.used[indexes].any()) or not len(indexes),
                "seconds": float(np.median(times)) if len(times) else None,
                "left_share": int(on_left[indexes].sum()) / sided if sided else None,
                "simulated": worker.simulated,
            }
        )
    return rows


def system_tallies(consensus: StudyConsensus, systems: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Count how often each system beat another (V15 §7.3); people are a system too.

    ``systems`` has the systems of both captions, by pair key.
    """
    tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    winners = ((*systems[pair.key], consensus.of_pair[pair.pk]) for pair in consensus.pairs)
    outcomes = Counter((first, second, winner.value, winner.tie) for first, second, winner in winners)
    for (first, second, value, tie), count in outcomes.items():
        if first == second:
            continue
        for name, side in ((first, 1), (second, 2)):
            tallies[name]["pairs"] += count
            if value is not None:
                tallies[name]["wins" if value == side else "losses"] += count
            elif tie:
                tallies[name]["ties"] += count
    return [
        {"system": name, **{count: tallies[name][count] for count in SYSTEM_COUNTS}}
        for name in sorted(tallies)
    ]


def consensus_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a stored aggregation; a table of single pairs only if the result contains them."""
    bounds = result.get("figures", {}).get("leave_one_out", {})
    tables = [*_pairs_tables(result.get("pairs", ())), *_systems_tables(result.get("systems", ()))]
    if result.get("rankings"):
        tables += rankings_tables(result)
    if content := result.get("figures", {}).get("system_content"):
        tables.append(content_table(content))
    tables.append(_agreement_table(result["agreement"]))
    return [*tables, *leave_one_out_tables(bounds)] if bounds.get("metrics") else tables


def _pairs_tables(pairs: Sequence[Mapping[str, Any]]) -> list[Table]:
    rows = []
    for kind in sorted({pair["kind"] or "" for pair in pairs}):
        of_kind = [pair for pair in pairs if (pair["kind"] or "") == kind]
        values = [pair["value"] for pair in of_kind]
        ties = sum(pair["tie"] for pair in of_kind)
        rows.append((kind, len(of_kind), values.count(1), values.count(2), ties))
    return [rendering.table("candidate-pairs", rows)] if rows else []


def _systems_tables(systems: Sequence[Mapping[str, Any]]) -> list[Table]:
    if not systems:
        return []
    if "describes" not in systems[0]:
        paired = [row for row in systems if "pairs" in row]
        paired.sort(key=lambda row: row["losses"] - row["wins"])
        rows = [(row["system"], *(row[name] for name in SYSTEM_COUNTS)) for row in paired]
        return [rendering.table("system-wins", rows)] if rows else []
    means = [name for name in MEANS if name in systems[0]]
    columns = [("system", "text"), ("judged", "count")]
    columns += [(f"{name} [95 % interval]", MEANS[name]) for name in means]
    cells = [(row["system"], row["captions"], *(estimate_of(row[name]) for name in means)) for row in systems]
    return [rendering.table("system-means", cells, columns)]


def _agreement_table(agreement: Mapping[str, Any]) -> Table:
    alpha = agreement["alpha"]
    figures = {f"alpha ({alpha['level']})": alpha}
    if "ordinal" in agreement:
        figures["alpha (ordinal)"] = agreement["ordinal"]
    figures |= {f"alpha, {kind}": figure for kind, figure in agreement.get("by_kind", {}).items()}
    coefficients = agreement.get("coefficients", {})
    figures |= {_(COEFFICIENT_NAMES[name]): figure for name, figure in coefficients.items() if figure["n"]}
    rows = [
        (name, estimate_of(figure, with_n=False), figure["n"], figure.get("judgments"))
        for name, figure in figures.items()
    ]
    return rendering.table("agreement-figures", rows)


def workers_report_table(workers: Iterable[Mapping[str, Any]]) -> Table:
    rows = [
        (
            row["worker"],
            row["judgments"],
            f"{row['controls_right']} of {row['controls_seen']}" if row["controls_seen"] else "none seen",
            "" if row["seconds"] is None else f"{row['seconds']:.1f}",
            row["left_share"],
            "yes" if row["used"] else "no",
        )
        for row in workers
    ]
    return rendering.table("workers-in-short", rows)


def leave_one_out_tables(bounds: Mapping[str, Any]) -> list[Table]:
    """Return the tables of people's leave-one-out scores, and since version 0.6 of metrics' rankings within items."""
    rows = [
        (name, Estimate(figures["macro"], figures["low"], figures["high"], bounds["images"]),
         Estimate(figures.get("floor"), figures.get("floor_low"), figures.get("floor_high")),
         *(figures[column] for column in ("micro", "median", "deviation", "least", "most")))
        for name, figures in bounds["metrics"].items()
    ]  # fmt: skip
    table = rendering.table("leave-one-out", rows, captions=bounds["captions"], images=bounds["images"])
    return [table, rank_correlations_table(bounds["orders"])] if "orders" in bounds else [table]


def rank_correlations_table(orders: Mapping[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            _(name),
            *(
                figure["value"] if column == row else estimate_of(figure, with_n=False)
                for column, figure in enumerate(figures)
            ),
        )
        for row, (name, figures) in enumerate(zip(orders["names"], orders["rho"], strict=True))
    ]
    names = orders["names"][:-1]  # the last row is not a metric
    return rendering.table(
        "rank-correlations", rows, [("metric", "text"), *((name, "coefficient", True) for name in names)]
    )


def content_table(content: Mapping[str, Any]) -> Table:
    """Return the table of boxes or keywords by systems, people and baselines, best first, with all measures."""
    rows = [
        (
            row["name"] if row["who"] == "system" else _(row["name"]),
            _(row["who"]),
            *(
                # The mode measures have fewer images: those with a single most frequent tag.
                estimate_of(figure, with_n=figure["n"] != row["figures"][content["decides"]]["n"])
                for figure in map(row["figures"].get, content["measures"])
            ),
            row["figures"][content["decides"]]["n"],
        )
        for row in content["rows"]
    ]
    about = {name: content[name] for name in ("scope", "left_out", "signatures")}
    return rendering.table(f"system-{content['kind']}", rows, name="system-content", **about)


def captions_table(rows: Iterable[Mapping[str, Any]], *, ends: int) -> Table:
    """Return the table of captions' scores, best first; of many, only the first and the last ``ends``."""
    ordered = sorted(rows, key=lambda row: (-row["score"], row["image"], row["text"]))
    shown = ordered if len(ordered) <= 2 * ends else ordered[:ends] + ordered[-ends:]
    with_worst = all("worst" in row for row in ordered)
    names = ("text", "image", "score", "best", *(("worst",) if with_worst else ()), "shown")
    return rendering.table(
        "captions" if with_worst else "captions-best",
        [[row[name] for name in names] for row in shown],
        captions=len(ordered),
        ends=ends if len(shown) < len(ordered) else 0,
    )


def questions_tables(questions: Iterable[Mapping[str, Any]]) -> list[Table]:
    """Return the tables on a form's questions: agreement, votes, numbers and texts, without empty tables."""
    listed = list(questions)
    agreement = [
        (
            question["name"],
            question["answered"],
            question["alpha"]["level"],
            estimate_of(question["alpha"]),
            question["alpha"]["n"],
        )
        for question in listed
        if "alpha" in question
    ]
    columns = ("name", "answered", "mean", "median", "deviation", "low", "high")
    tables = [
        rendering.table("questions", agreement),
        rendering.table(
            "answers",
            [(question["name"], *vote) for question in listed for vote in question.get("votes", {}).items()],
        ),
        rendering.table(
            "numbers", [[question[name] for name in columns] for question in listed if "mean" in question]
        ),
        rendering.table(
            "texts", [(question["name"], text) for question in listed for text in question.get("texts", ())]
        ),
    ]
    return [nonempty for nonempty in tables if nonempty.rows]
