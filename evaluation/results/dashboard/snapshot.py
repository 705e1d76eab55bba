"""Compute and store the slow part of the dashboard, in a job.

Judgments are replayed in arrival order: votes accumulate between checkpoints; each checkpoint only visits units and
pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.models import Case as QualityCase
from annotation.models import Participation
from annotation.models.assignments import FINISHED_STATES
from annotation.money.payments import pay_of_sessions, wages_of
from annotation.quality.controls import ControlRecord
from common.amounts import as_json
from evaluation.data.imported_scores.storing import imported_scores
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.records import Flags, JudgmentTable, Units
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.errors import EvaluationError
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, Analysis, BoardSnapshot
from evaluation.results.aggregation import unused_answers, worker_table
from evaluation.results.agreement import (
    agreement_rows,
    alpha_of_ratings,
    exchange_of,
    one_against_rest,
    ratings_by_image,
    side_bias,
)
from evaluation.results.consensus import clusters_of_captions, rater_deletions, scope_sentence
from evaluation.results.dashboard.progress import first_answers, study_counts
from evaluation.results.meta_evaluation import CaptionConsensus, caption_texts, texts_of_pairs
from evaluation.results.metric_figures import pair_kinds, score_captions, score_pairs
from evaluation.results.verdict import (
    correlation_verdict,
    pair_verdict,
    scope_fields,
    verdict_sentence,
    winners_named,
)
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.agreement.both_orders import Exchange
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import ITEM, NAIVE, RATER, columns_and_deletions
from quorum.statistics.meta import PeoplesWinners

CHECKPOINTS = 20
SHARE = ("value", "low", "high", "n", "clusters", "reason")
WORKERS_SHOWN = 200
ROWS = ("of", "images")  # of scores


@dataclass(frozen=True, slots=True)
class VotesInOrder:
    """N included judgments in arrival order.

    Attributes:
        unit, worker: (N,); units have codes from 0.
        value: (N,) float64.
        image: (U,) row ids of the units' images.
        anonymous: whether workers are no persons.
    """

    unit: Ints
    worker: Ints
    value: Floats
    image: Ints
    anonymous: bool = False

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def units(self) -> int:
        return len(self.image)


def checkpoints(count: int) -> list[int]:
    if not count:
        return []
    return sorted({max(1, round(count * step / CHECKPOINTS)) for step in range(1, CHECKPOINTS + 1)})


def agreement_so_far(
    votes: VotesInOrder, level: str, *, seed: int, exchange: Exchange | None = None
) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha with its interval at each checkpoint, as ``measure_agreement`` does."""
    rows = []
    for upto in checkpoints(len(votes)):
        columns = (votes.unit[:upto], votes.worker[:upto], votes.value[:upto], np.arange(votes.units))
        ratings, grouped = ratings_by_image(*columns, votes.image, anonymous=votes.anonymous)
        alpha = alpha_of_ratings(ratings, grouped, level, seed=seed, exchange=exchange)
        rows.append(
            {"judgments": upto, **{name: alpha[name] for name in ("n", "value", "low", "high", "reason")}}
        )
    return rows


def winners_so_far(
    votes: VotesInOrder, pair: Ints, images: Ints, decided: Mapping[int, float] | None = None
) -> Iterator[tuple[int, PeoplesWinners]]:
    """Yield, per checkpoint, the winners of (P,) pairs (V15 §3) with what the pairs are clustered by.

    Majorities of judgments decide units, majorities of units decide pairs; ties decide nothing.

    Args:
        pair: (U,) pair codes from 0.
        images: (P,).
        decided: unit code -> adjudicated winner, applied at the end only.
    """
    counts = np.zeros((votes.units, 4), dtype=np.int64)  # of the four sides (preferences.py)
    done, looks = 0, checkpoints(len(votes))
    is_decided = np.zeros(votes.units, dtype=np.bool_)
    for upto in looks:
        sides = votes.value[done:upto].astype(np.int64)
        counts += np.bincount(votes.unit[done:upto] * 4 + sides, minlength=4 * votes.units).reshape(-1, 4)
        done = upto
        first, second, other = counts[:, 1], counts[:, 2], np.maximum(counts[:, 0], counts[:, 3])
        outcome = 1.0 * (first > np.maximum(second, other)) - 1.0 * (second > np.maximum(first, other))
        if upto == looks[-1]:
            for unit, winner in (decided or {}).items():
                outcome[unit] = {1: 1.0, 2: -1.0}.get(int(winner), 0.0)
                is_decided[unit] = True
        lead = np.bincount(pair, weights=outcome, minlength=len(images)).astype(np.float64)
        clusters: dict[str, Any] = {ITEM: images}
        if not votes.anonymous:
            columns = (votes.unit[:upto], votes.worker[:upto], votes.value[:upto])
            clusters[RATER] = rater_deletions(*columns, outcome, pair, lead, is_decided)
        winners = np.where(lead > 0, 1, np.where(lead < 0, 2, 0))
        yield upto, PeoplesWinners.of(winners, clusters=clusters)


def accuracy_so_far(
    winners: Sequence[tuple[int, PeoplesWinners]],
    scores: Mapping[str, npt.NDArray[np.float64]],
    kinds: Mapping[str, npt.NDArray[np.bool_]],
) -> dict[str, dict[str, Any]]:
    """Return pair kind -> each metric's accuracy at each checkpoint, and the verdict.

    Args:
        winners: from ``winners_so_far``.
        scores: metric -> (P, 2).
        kinds: pair kind -> (P,) bool.
    """
    named = winners_named(scores)
    figures: dict[str, dict[str, Any]] = {}
    for kind, of_kind in kinds.items():
        earlier = {
            name: [
                {"judgments": upto, **as_json(people.accuracy_of(metric, of_kind), *SHARE)}
                for upto, people in winners
            ]
            for name, metric in named.items()
        }
        cells = {name: rows[-1] for name, rows in earlier.items()}
        figures[kind] = {
            "metrics": cells,
            "earlier": earlier,
            "verdict": pair_verdict(named, winners[-1][1], of_kind, cells),
            **scope_fields(winners[-1][1].deletions),
        }
    return figures


def means_so_far(
    votes: VotesInOrder, decided: Mapping[int, float] | None = None
) -> Iterator[tuple[int, Floats]]:
    """Yield, per checkpoint, (U,) mean judgments; nan without any. ``decided`` as in ``winners_so_far``."""
    total, count = np.zeros(votes.units), np.zeros(votes.units)
    done, looks = 0, checkpoints(len(votes))
    for upto in looks:
        total += np.bincount(votes.unit[done:upto], weights=votes.value[done:upto], minlength=votes.units)
        count += np.bincount(votes.unit[done:upto], minlength=votes.units)
        done = upto
        mean = np.full(votes.units, np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        if upto == looks[-1]:
            for unit, value in (decided or {}).items():
                mean[unit] = value
        yield upto, mean


def correlation_so_far(
    means: Sequence[tuple[int, Floats]],
    scores: Mapping[str, Floats],
    clusters: Mapping[str, Any],
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return Kendall's tau-b of each metric with mean judgments at each checkpoint.

    ``scores``: metric -> (U,), nan if missing. The last checkpoint has an interval by ``clusters`` of the U captions.
    """
    earlier: dict[str, list[dict[str, Any]]] = {name: [] for name in scores}
    for upto, mean in means:
        last = upto == means[-1][0]
        for name, values in scores.items():
            known = ~np.isnan(mean) & ~np.isnan(values)
            row: dict[str, Any] = {"judgments": upto, "value": None, "low": None, "high": None}
            row["n"] = int(known.sum())
            if row["n"]:
                tau = correlation(
                    values,
                    mean,
                    "kendall-tau-b",
                    missing="leave-out",
                    weights=weights,
                    resamples=0,
                    clusters=clusters if last else NAIVE,
                )
                row |= as_json(tau, "value", "low", "high", "reason")
            earlier[name].append(row)
    cells = {name: rows[-1] for name, rows in earlier.items()}
    raters = scope_fields(columns_and_deletions(clusters)[1])
    return {
        "metrics": cells,
        "earlier": earlier,
        "verdict": correlation_verdict(scores, means[-1][1], clusters, cells, weights),
    } | raters


def candidate_scores(study: Study) -> dict[str, Any]:
    """Return metric -> scores ((P, 2) or (U,)) ``of`` pairs or units with their ``images``, or a ``reason`` for none.

    The metrics are the newest evaluation's, so that the page Results agrees.
    """
    kind = KINDS[study.protocol]
    wanted = _wanted_metrics(study)
    if kind.comparison.refusal:
        return _as_scores([], {}, kind.comparison.refusal)
    if not kind.compares_pairs and kind.results:
        return _as_scores([], {}, "The page Results holds them against the scores of captions.")
    try:
        scores = _pair_scores(study, *wanted) if kind.compares_pairs else _caption_scores(study, *wanted)
        return scores | {"asked": wanted}
    except EvaluationError as error:
        return _as_scores([], {}, str(error))


def _wanted_metrics(study: Study) -> list[Any]:
    newest = Analysis.objects.newest_first(study, Analysis.What.META_EVALUATION)
    stated = newest.values_list("settings", flat=True).first()
    return [stated["metrics"], stated["tok"]] if stated else [list(DEFAULT_METRICS), DEFAULT_TOKENIZER]


def _pair_scores(study: Study, metrics: list[str], tokenizer: str) -> dict[str, Any]:
    pairs, documents, _ = texts_of_pairs(study, loaders.load_references(study))
    imported = imported_scores(study.dataset, metrics)
    _, scores = score_pairs(pairs, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    return _as_scores([(pair.pk, pair.image) for pair in pairs], scores)


def _caption_scores(study: Study, metrics: list[str], tokenizer: str) -> dict[str, Any]:
    references = loaders.load_references(study)
    imported = imported_scores(study.dataset, metrics)
    rows = loaders.caption_units(study)
    have = imported.have([(item, text) for _unit, item, _key, text in rows])
    judged = [CaptionConsensus(*row, 0.0) for row, scored in zip(rows, have.tolist(), strict=True) if scored]
    captions, _ = caption_texts(study, judged, references)
    documents = references.documents()
    scored = score_captions(captions, documents, metrics=metrics, tokenizer=tokenizer, imported=imported)
    scores = {name: result.images for name, result in scored.scores.items()}
    return _as_scores([(caption.unit, caption.item) for caption in captions], scores)


def _as_scores(
    rows: Sequence[tuple[Any, Any]], scores: Mapping[str, Floats], reason: str = ""
) -> dict[str, Any]:
    """Return scores of pairs or units, which ``rows`` name with their images."""
    of, images = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return {"of": of, "images": images, "metrics": scores, "reason": reason}


def draw_plots(result: Mapping[str, Any]) -> dict[str, Any]:
    """Plot growth and metrics by pair kind, with captions."""
    # Imported lazily: matplotlib costs every process 60 MB and 0.3 s.
    from evaluation.results.plots import earlier_figure, growth_figure, growth_sentence, metrics_figure

    known = [row for row in result["growth"] if row["value"] is not None]
    correlated = result["evaluation"]["correlated"]
    kinds = {
        kind: {
            "now": metrics_figure(kind, cell, correlated=correlated),
            "settled": cell["verdict"]["settled"],
            "said": f"{verdict_sentence(cell['verdict'], cell['metrics'])} {scope_sentence(cell)}".strip(),
            "earlier": earlier_figure(kind, cell, correlated=correlated),
            "n": cell["verdict"]["n"],
        }
        for kind, cell in result["evaluation"]["kinds"].items()
    }
    return {
        "growth": growth_figure(known) if len(known) > 1 else "",
        "growth_said": growth_sentence(known),
        "kinds": kinds,
    }


@dataclass(frozen=True, slots=True)
class DashboardSnapshot:
    """A snapshot to store: the ``values`` of its row; ``scores`` of None keeps the stored ones."""

    study: Study
    values: dict[str, Any]
    scores: dict[str, Any] | None


def compute_snapshot(*, study: Study, progress: Progress = no_progress) -> DashboardSnapshot:
    began = time.monotonic()
    kind, design = KINDS[study.protocol], design_of(study)
    # Not of all studies: a judgment of this one may be committed after another study's with a higher id.
    newest = blocks.newest_judgment(study)
    event = study.events.aggregate(last=Max("pk"))["last"] or 0
    # Score before judgments are read, to hold less at once.
    stored = _stored_scores(study)
    scores = candidate_scores(study) if stored is None else stored
    scores["images"] = loaders.clusters_of_items(study, scores["images"])
    progress(0.05, "reading judgments")
    all_units = loaders.study_units(study)
    table = loaders.load_judgments(study, newest=newest, units=all_units)
    progress(0.5, "replaying them")
    units = all_units.judged
    del all_units  # the judged ones are copied
    images, anonymous = _images_of_units(study, units, scores), loaders.is_anonymous(study)

    def in_order(keep: Flags) -> VotesInOrder:
        rows = np.flatnonzero(keep)
        rows = rows[np.argsort(table.pk[rows])]
        columns = (places_in(units.pk, table.unit[rows]), table.worker[rows], table.value[rows])
        return VotesInOrder(*columns, images, anonymous)

    votes = in_order(table.counted & ~np.isnan(table.value))
    agreed = agreement_rows(table, loaders.full_depth_units(study))
    growth = (
        []
        if kind.is_open
        else agreement_so_far(
            in_order(agreed), kind.aggregation.level, seed=design.seed, exchange=exchange_of(kind)
        )
    )
    progress(0.7, "holding metrics against people")
    kinds = _evaluation(study, votes, units, table, scores)
    del votes
    people = {}
    if kind.compares_pairs and agreed.any():
        people = one_against_rest(table, units, agreed, images=images, anonymous=anonymous)
    bias = side_bias(table, units, images, anonymous=anonymous)
    counted = study_counts(study)
    wages = wages_of(study, pay_of_sessions(study))
    result: dict[str, Any] = {
        "wanted": counted["wanted"],
        "finished": sum(counted["assignments"].get(state, 0) for state in FINISHED_STATES),
        "hits": counted["hits"],
        "hits_done": counted["hits_done"],
        "stopping": counted["stopping"],
        "level": "" if kind.is_open else kind.aggregation.level,
        "no_alpha": kind.aggregation.no_alpha,
        "growth": growth,
        "evaluation": {
            "kinds": kinds,
            "people": people,
            "reason": scores["reason"],
            "correlated": not kind.compares_pairs,
        },
        "controls": {},
        **_workers(study, table, table.records, design.controls.threshold),
        "side_bias": bias,
        "wages": {
            "median": wages.median_cents,
            "floor": wages.floor_cents,
            "below": wages.below,
            "n": wages.counted,
        },
        "unused": unused_answers(study, table),
    }
    signature = str(signature_of_study(study, table=table)) if len(table) else ""
    result["drawings"] = {**draw_plots(result), "signature": signature}
    # Judgments that arrive meanwhile count as new beside the snapshot.
    judgments = first_answers(study).filter(pk__lte=newest).count()
    values = {"judgments": judgments, "newest": newest, "event": event, "result": result}
    values |= {"seconds": time.monotonic() - began, "made_at": timezone.now()}
    return DashboardSnapshot(study, values, scores if stored is None else None)


@transaction.atomic
def store_snapshot(board: DashboardSnapshot) -> BoardSnapshot:
    values = dict(board.values)
    if board.scores is not None:
        metrics = {name: array.tolist() for name, array in board.scores["metrics"].items()}
        rows = {name: board.scores[name].tolist() for name in ROWS}
        values["scores"] = board.scores | rows | {"metrics": metrics}
    stored, _ = BoardSnapshot.objects.defer("scores").update_or_create(study=board.study, defaults=values)
    return stored


def _stored_scores(study: Study) -> dict[str, Any] | None:
    stored = BoardSnapshot.objects.filter(study=study).values_list("scores", flat=True).first()
    if not stored or "images" not in stored:
        return None
    wanted = _wanted_metrics(study)
    if stored.get("asked", wanted) != wanted:
        return None
    metrics = {name: np.array(values, dtype=np.float64) for name, values in stored["metrics"].items()}
    rows = {name: np.array(stored[name], dtype=np.int64) for name in ROWS}
    return stored | rows | {"metrics": metrics}


def _evaluation(
    study: Study, votes: VotesInOrder, units: Units, table: JudgmentTable, scores: dict[str, Any]
) -> dict[str, Any]:
    """Return pair kind (or ``all``) -> metrics now and earlier; {} without judgments or metrics."""
    if not scores["metrics"] or not len(votes):
        return {}
    if not KINDS[study.protocol].compares_pairs:
        # In the order of the scores, as an evaluation has them: the same numbers draw the same intervals.
        order = places_in(units.pk, scores["of"])
        means = [
            (upto, np.where(order >= 0, mean[order], np.nan))
            for upto, mean in means_so_far(votes, _decided_units(study, units))
        ]
        clusters = clusters_of_captions(
            table,
            scores["of"],
            scores["images"],
            ratings=(),
            decided=loaders.decisions_of(study),
            anonymous=votes.anonymous,
        )
        known = loaders.weights_of_units(study)
        weights = np.array([known.get(pk, 1.0) for pk in scores["of"].tolist()]) if known else None
        return {"all": correlation_so_far(means, scores["metrics"], clusters, weights)}
    pairs = len(scores["of"])
    pair = places_in(scores["of"], units.pair)
    winners = list(winners_so_far(votes, pair, scores["images"], _decided_units(study, units)))
    kind_of_pair = np.full(pairs, -1, dtype=np.int64)
    kind_of_pair[pair] = units.kind
    codes = np.unique(kind_of_pair[kind_of_pair >= 0]).tolist()
    code_of = {units.kinds[code]: code for code in codes if units.kinds[code]}
    names = pair_kinds(code_of)
    kinds = {name: kind_of_pair == code_of[name] for name in names} if len(names) > 1 else {}
    kinds["all"] = np.ones(pairs, dtype=np.bool_)
    return accuracy_so_far(winners, scores["metrics"], kinds)


def _images_of_units(study: Study, units: Units, scores: Mapping[str, Any]) -> Ints:
    """Return what (U,) units are clustered by, from stored scores if they cover all pairs."""
    index = places_in(scores["of"], units.pair)
    if not KINDS[study.protocol].compares_pairs or (index < 0).any():
        return loaders.clusters_of_units(study, units)
    return scores["images"][index]


def _decided_units(study: Study, units: Units) -> dict[int, float]:
    decisions = loaders.decisions_of(study)
    codes = places_in(units.pk, np.fromiter(decisions, dtype=np.int64, count=len(decisions))).tolist()
    values = [decision.value for decision in decisions.values()]
    return {code: value for code, value in zip(codes, values, strict=True) if code >= 0}


def _workers(
    study: Study, table: JudgmentTable, records: Mapping[int, ControlRecord], threshold: float
) -> dict[str, Any]:
    people = loaders.worker_rows(study)
    rows = worker_table(
        table, people, records, loaders.work_times(study, loaders.workers_without_times(table, people))
    )
    standing = dict(
        Participation.objects.filter(study=study)
        .exclude(standing=Participation.Standing.ACTIVE)
        .values_list("worker__name", "standing")
    )
    rules: dict[str, list[str]] = {}
    cases = QualityCase.objects.filter(study=study, state=QualityCase.State.OPEN).order_by("pk")
    for name, rule in cases.values_list("worker__name", "rule"):
        rules.setdefault(name, []).append(rule)
    for row in rows:
        row |= {"standing": standing.get(row["worker"], ""), "rules": rules.get(row["worker"], [])}
    rows.sort(
        key=lambda row: (
            row["used"] and not row["rules"] and not row["standing"],
            -row["judgments"],
            row["worker"],
        )
    )
    seen, right = (sum(row[key] for row in rows) for key in ("controls_seen", "controls_right"))
    return {
        "workers": rows[:WORKERS_SHOWN],
        "workers_left": max(0, len(rows) - WORKERS_SHOWN),
        "workers_all": len(rows),
        "per_worker": not any(worker.anonymous for worker in people),
        "threshold": threshold,
        "controls": {
            "seen": seen,
            "right": right,
            "share": right / seen if seen else None,
            "workers": sum(row["controls_seen"] > 0 for row in rows),
            "below": sum(row["controls_seen"] > 0 and row["controls_share"] < threshold for row in rows),
            "set_aside": int((~table.used & ~table.control).sum()),
        },
    }
