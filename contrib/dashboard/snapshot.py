"""Compute and store the snapshot of a dashboard: the figures that are too slow for a page. A job does this."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.models.assignments import FINISHED_STATES
from annotation.money.wages import pay_of_sessions, wages_of
from contrib.dashboard.drawings import draw_plots
from contrib.dashboard.models import BoardSnapshot
from contrib.dashboard.replay import VotesInOrder, agreement_so_far
from contrib.dashboard.results.metrics import evaluate_metrics
from contrib.dashboard.results.workers import worker_results
from contrib.dashboard.scores import CandidateScores, candidate_scores, stored_scores
from contrib.dashboard.staleness import first_answers
from evaluation.data.judgment_sets import blocks, loaders
from evaluation.data.judgment_sets.records import JudgmentTable, Units
from evaluation.data.judgment_sets.study_signatures import signature_of_study
from evaluation.data.progress import study_counts
from evaluation.results.agreement import (
    exchange_of,
    flag_judgments_for_agreement,
    one_against_rest,
    side_bias,
)
from evaluation.results.consensus.counts import unused_answers
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.arrays import Flags, Ints, places_in


@dataclass(frozen=True, slots=True)
class ComputedSnapshot:
    """A snapshot that is not stored yet.

    Attributes:
        values: the fields of its ``BoardSnapshot``, without the scores.
        scores: the scores of its candidates; None to keep the stored ones.
    """

    study: Study
    values: dict[str, Any]
    scores: CandidateScores | None


def compute_snapshot(*, study: Study, progress: Progress = no_progress) -> ComputedSnapshot:
    """Read all judgments of a study, and compute the results of its dashboard, without storing them."""
    start = time.monotonic()
    kind, design = KINDS[study.protocol], design_of(study)
    # The last judgment of this study. The last of all studies would not do: judgments of this study with lower ids may
    # be committed after it, and would be missed.
    newest_pk = blocks.last_judgment_bound(study)
    event = study.events.aggregate(last=Max("pk"))["last"] or 0  # a later log entry makes the snapshot stale
    # Score before reading judgments, to use less memory.
    saved_scores = stored_scores(study)
    scores = candidate_scores(study) if saved_scores is None else saved_scores
    # The first image of a document stands for all its images, since intervals are clustered by document.
    scores = replace(scores, images=loaders.clusters_of_items(study, scores.images))
    progress(0.05, "reading judgments")
    all_units = loaders.study_units(study)
    table = loaders.load_judgments(study, newest=newest_pk, units=all_units)
    progress(0.5, "replaying them")
    units = all_units.judged_units
    del all_units  # the judged ones, which are no control items, have been copied
    images, anonymous = _images_of_units(study, units, scores), loaders.is_anonymous(study)
    votes = _sort_votes(table, units, images, table.is_counted & ~np.isnan(table.value), anonymous=anonymous)
    # early stopping ends units as soon as people agree, so only units that are exempt from it are used
    used_for_alpha = flag_judgments_for_agreement(table, loaders.full_depth_units(study))
    growth = []
    if not kind.is_open:
        votes_for_alpha = _sort_votes(table, units, images, used_for_alpha, anonymous=anonymous)
        measurement_level = kind.aggregation.level
        exchange = exchange_of(kind)  # swaps an answer's two sides
        growth = agreement_so_far(votes_for_alpha, measurement_level, seed=design.seed, exchange=exchange)
        del votes_for_alpha  # to use less memory
    progress(0.7, "comparing metrics with people")
    metric_results = evaluate_metrics(study, votes, units, table, scores)
    del votes  # to use less memory
    people_accuracy = {}
    if kind.compares_pairs and used_for_alpha.any():
        people_accuracy = one_against_rest(table, units, used_for_alpha, images=images, anonymous=anonymous)
    bias = side_bias(table, units, images, anonymous=anonymous)
    counts = study_counts(study)
    wages = wages_of(study, pay_of_sessions(study))
    result: dict[str, Any] = {
        "wanted": counts["wanted"],  # judgments
        "finished": sum(counts["assignments"].get(state, 0) for state in FINISHED_STATES),  # assignments
        "hits": counts["hits"],
        "hits_done": counts["hits_done"],
        "stopping": counts["stopping"],  # what early stopping saved; None if the study does not stop early
        "level": "" if kind.is_open else kind.aggregation.level,
        "no_alpha": kind.aggregation.no_alpha,  # why answers of the kind have no alpha; "" if they have one
        "growth": growth,
        "evaluation": {
            "kinds": metric_results,  # by kind of pairs; "all" for captions, and for pairs of all kinds
            "people": people_accuracy,
            "reason": scores.reason,  # why there are no scores of metrics; "" if there are
            "correlated": not kind.compares_pairs,
        },
        "controls": {},  # worker_results replaces it; it stands here to keep the order of the JSON's members
        **worker_results(study, table, table.records, design.controls.threshold),
        "side_bias": bias,
        "wages": {
            "median": wages.median_cents,
            "floor": wages.floor_cents,
            "below": wages.below_floor_count,
            "n": wages.session_count,
        },
        "unused": unused_answers(study, table),
    }
    signature = str(signature_of_study(study, table=table)) if len(table) else ""
    result["drawings"] = {**draw_plots(result), "signature": signature}
    # Judgments that arrive meanwhile are counted as new, in addition to the snapshot.
    judgments = first_answers(study).filter(pk__lte=newest_pk).count()
    values = {"judgments": judgments, "newest": newest_pk, "event": event, "result": result}
    values |= {"seconds": time.monotonic() - start, "made_at": timezone.now()}
    return ComputedSnapshot(study, values, scores if saved_scores is None else None)


@transaction.atomic
def store_snapshot(snapshot: ComputedSnapshot) -> BoardSnapshot:
    values = dict(snapshot.values)
    if snapshot.scores is not None:
        values["scores"] = snapshot.scores.as_json()
    row, _ = BoardSnapshot.objects.defer("scores").update_or_create(study=snapshot.study, defaults=values)
    return row


def forget_snapshot(*, study: Study, **_signal: Any) -> None:
    """Delete the snapshot, since it may name people who were erased.

    This is a receiver of the signals ``person_erased`` and ``pages_discarded``.
    """
    BoardSnapshot.objects.filter(study=study).delete()


def _sort_votes(
    judgments: JudgmentTable, units: Units, images: Ints, is_included: Flags, *, anonymous: bool
) -> VotesInOrder:
    """Return the included judgments in the order of arrival. ``images`` has the (U,) images of the units."""
    rows = np.flatnonzero(is_included)
    rows = rows[np.argsort(judgments.pk[rows])]  # row ids grow in the order of arrival
    return VotesInOrder(
        unit=places_in(units.pk, judgments.unit[rows]),
        worker=judgments.worker[rows],
        value=judgments.value[rows],
        image=images,
        anonymous=anonymous,
    )


def _images_of_units(study: Study, units: Units, scores: CandidateScores) -> Ints:
    """Return the (U,) images of the units, as clusters. If the scores cover all pairs, no rows are read."""
    pair_index = places_in(scores.row_ids, units.pair)
    if not KINDS[study.protocol].compares_pairs or (pair_index < 0).any():
        return loaders.clusters_of_units(study, units)
    return scores.images[pair_index]
