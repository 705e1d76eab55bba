"""Count judgments, and describe workers and systems by counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Assignment, Judgment
from common.amounts import percent, thousands
from evaluation.data.judgment_sets.records import JudgmentTable, WorkerRow
from evaluation.results.consensus.study import StudyConsensus, columns_and_others
from judgments.models import Study
from quorum.statistics.sorting import order_of

if TYPE_CHECKING:
    from annotation.quality.controls import ControlRecord

SYSTEM_COUNTS = ("pairs", "wins", "losses", "ties")


def unused_answers(study: Study, table: JudgmentTable) -> dict[str, Any]:
    """Return counts of unused answers by reason, without answers to control items.

    The keys are:

    - ``answers``: the number of all answers, used or not;
    - ``below``: the numbers of ``people`` below the pass mark, and of their ``answers``;
    - ``excluded``: the numbers of excluded ``people``, and of their ``answers``;
    - ``other``: the number of answers that are unused for another reason, such as that the crowd does not confirm them.
    """
    workers_below = np.array(
        [worker for worker, record in table.records.items() if not record.is_used], dtype=np.int64
    )
    is_unused = ~table.used & ~table.control
    is_below = is_unused & np.isin(table.worker, workers_below)
    # The table has no judgments of excluded participants, and none of work that the crowd does not know.
    judgments = Judgment.objects.filter(
        assignment__study=study, replaced_by__isnull=True, unit__control=False
    )
    excluded = judgments.filter(assignment__state=Assignment.State.INVALIDATED).aggregate(
        answers=Count("pk"), people=Count("assignment__worker", distinct=True)
    )
    unknown_count = judgments.filter(assignment__state=Assignment.State.APART).count()
    return {
        "answers": int((~table.control).sum()) + excluded["answers"] + unknown_count,
        "below": {"answers": int(is_below.sum()), "people": len(np.unique(table.worker[is_below]))},
        "excluded": excluded,
        "other": int((is_unused & ~is_below).sum()) + unknown_count,
    }


def unused_sentence(counts: Mapping[str, Any]) -> str:
    """Return a sentence on unused answers, or "" if there are none."""
    low_scorers, excluded, other_count = counts["below"], counts["excluded"], counts["other"]
    unused_count = low_scorers["answers"] + excluded["answers"] + other_count
    if not unused_count:
        return ""
    reasons = []
    if low_scorers["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant answered too few check questions right (%(answers)s)",
                "%(n)s participants answered too few check questions right (%(answers)s)",
                low_scorers["people"],
            )
            % _format_counts(low_scorers)
        )
    if excluded["answers"]:
        reasons.append(
            ngettext(
                "%(n)s participant was excluded (%(answers)s)",
                "%(n)s participants were excluded (%(answers)s)",
                excluded["people"],
            )
            % _format_counts(excluded)
        )
    if other_count:
        reasons.append(
            _("the crowd or the source of the data did not confirm the answers (%(answers)s)")
            % {"answers": thousands(other_count)}
        )
    return _("Answers that are not used: %(unused)s of %(whole)s (%(share)s). The reason: %(reasons)s.") % {
        "unused": thousands(unused_count),
        "whole": thousands(counts["answers"]),
        "share": percent(unused_count / counts["answers"]),
        "reasons": _(", and ").join(reasons),
    }


def unused_context(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template context on unused answers, or {} for results of earlier versions."""
    counts = result.get("unused")
    if not counts:
        return {}
    return {
        "unused_sentence": unused_sentence(counts),
        "unused_count": counts["below"]["answers"] + counts["excluded"]["answers"] + counts["other"],
        "unused_count_below_pass_mark": counts["below"]["answers"],
        "unused_count_of_excluded": counts["excluded"]["answers"],
    }


def _format_counts(counts: Mapping[str, int]) -> dict[str, str]:
    return {"n": thousands(counts["people"]), "answers": thousands(counts["answers"])}


def count_judgments(table: JudgmentTable, consensus: StudyConsensus, worker_count: int) -> dict[str, int]:
    # Outcomes that are numbers may be in columns (arrays). The others, or all if there are no columns, are objects.
    columns, other_outcomes = columns_and_others(consensus.of_unit)
    consensus_count = sum(  # open kinds have an answer in place of a value
        outcome.value is not None or (outcome.answer is not None and not outcome.tie)
        for outcome in other_outcomes.values()
    )
    ties = sum(outcome.tie for outcome in other_outcomes.values())
    if columns is not None:
        consensus_count += int((~np.isnan(columns.value)).sum())
        ties += int(columns.tie.sum())
    return {
        "judgments": len(table),
        "control_judgments": int(table.control.sum()),
        "unused_judgments": int((~table.used & ~table.control).sum()),
        "counted_judgments": int(table.is_counted.sum()),
        "units": len(consensus.units),
        "units_with_consensus": consensus_count,
        "adjudicated": len(consensus.decisions),
        "unit_ties": ties,
        "pairs": len(consensus.pairs),
        "pairs_with_consensus": sum(pair.value is not None for pair in consensus.of_pair.values()),
        "pair_ties": sum(pair.tie for pair in consensus.of_pair.values()),
        "published_winners": sum(pair.published for pair in consensus.of_pair.values()),  # in the dataset
        "workers": worker_count,
    }


def worker_figures(
    table: JudgmentTable,
    workers: Sequence[WorkerRow],
    records: Mapping[int, ControlRecord],
    wall_times: Mapping[int, Sequence[float]],
) -> list[dict[str, Any]]:
    """Return a row for each worker, sorted by name, without anonymous workers.

    ``seconds`` is the median time for a unit, as measured by the page, or by wall time if the page has no times.
    """
    rows = []
    order = order_of(table.worker)
    sorted_workers = table.worker[order]
    # The rows of each worker are order[start:end].
    worker_ids = [worker.pk for worker in workers]
    starts = np.searchsorted(sorted_workers, worker_ids, "left")
    ends = np.searchsorted(sorted_workers, worker_ids, "right")
    has_side, chose_left = table.has_side, table.chose_left
    for worker, start, end in zip(workers, starts.tolist(), ends.tolist(), strict=True):
        if worker.anonymous:
            continue
        indexes = order[start:end]
        record = records.get(worker.pk)
        counts_by_kind = record.by_kind if record else {}
        seconds = table.seconds[indexes]
        seconds = seconds[~np.isnan(seconds)]
        times = seconds if len(seconds) else np.array(wall_times.get(worker.pk, ()), dtype=np.float64)
        side_count = int(has_side[indexes].sum())
        judged_count = int((~table.control[indexes]).sum())
        rows.append(
            {
                "worker": worker.name,
                "judgments": judged_count,
                "used_judgments": int((table.used[indexes] & ~table.control[indexes]).sum()),
                "controls_seen": record.answers if record else 0,
                "controls_right": record.right_answers if record else 0,
                "controls_share": record.share if record else None,
                "controls_by_kind": {
                    name: {"seen": seen_count, "right": right_count}
                    for name, (seen_count, right_count) in counts_by_kind.items()
                },
                # A worker without judgments has none that are not used.
                "used": bool(table.used[indexes].any()) or not len(indexes),
                "seconds": float(np.median(times)) if len(times) else None,
                "left_share": int(chose_left[indexes].sum()) / side_count if side_count else None,
                "simulated": worker.simulated,
            }
        )
    return rows


def system_tallies(consensus: StudyConsensus, systems: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Count each system's pairs, wins, losses and ties (Vedantam et al. 2015, §7.3). People are a system, too.

    ``systems`` has the names of both captions' systems, by pair key.
    """
    tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in consensus.pairs:
        first, second = systems[pair.key]
        if first == second:
            continue
        outcome = consensus.of_pair[pair.pk]
        for name, side in ((first, 1), (second, 2)):
            tallies[name]["pairs"] += 1
            if outcome.value is not None:
                tallies[name]["wins" if outcome.value == side else "losses"] += 1
            elif outcome.tie:
                tallies[name]["ties"] += 1
    return [
        {"system": name, **{count_name: tallies[name][count_name] for count_name in SYSTEM_COUNTS}}
        for name in sorted(tallies)
    ]
