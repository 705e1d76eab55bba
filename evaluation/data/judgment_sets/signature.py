"""Compute a study's judgment signature from its rows (docs/signatures.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Count, Max, Min, Q

from annotation.models import Adjudication, Judgment
from annotation.snapshots import Snapshot
from evaluation.data.judgment_sets.loaders import by_unit_and_name, excluded_workers, unconfirmed_work
from evaluation.data.judgment_sets.records import (
    Difference,
    JudgmentTable,
    JudgmentTally,
    Material,
    Votes,
    differences,
    hash_with_winners,
    judgment_signature,
)
from evaluation.data.provenance import quorum_version
from evaluation.numeric.signatures import Signature, Value
from judgments.drawing.stopping import stopping_in_words
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Study, Unit
from judgments.studies.studies import design_of, draws_at_claim, stops_early

ROWS_AT_ONCE = 2_000


def signature_of_study(study: Study, *, table: JudgmentTable | None = None) -> Signature:
    """Return the current signature, from ``table`` if loaded."""
    votes = votes_of(study) if table is None else votes_of_table(table)
    return signature_from(study, material_of(study), votes, uncommon_fields(study))


def signature_from(study: Study, material: Material, votes: Votes, others: Mapping[str, Value]) -> Signature:
    published = CandidatePair.objects.filter(study=study, published_winner__isnull=False)
    rows = published.values_list("key", "published_winner").iterator(ROWS_AT_ONCE)
    winners = {key: winner for key, winner in rows if winner is not None}
    return judgment_signature(
        KINDS[study.protocol],
        material,
        replace(votes, data_hash=hash_with_winners(votes.data_hash, winners)),
        controls=control_rule(study),
        seed=design_of(study).seed,
        version=quorum_version(),
        others=others,
    )


def compare_signature(study: Study, stated: Signature) -> list[Difference]:
    return differences(stated, signature_of_study(study))


def material_of(study: Study) -> Material:
    units = Unit.objects.filter(study=study, control=False)
    counts = units.aggregate(units=Count("pk"), images=Count("item", distinct=True))
    pairs = None
    if KINDS[study.protocol].compares_pairs:
        pairs = CandidatePair.objects.filter(study=study).count()
    shown = (
        units.filter(reference__isnull=False)
        .values("pair", "item")
        .annotate(n=Count("reference", distinct=True))
    )
    found = shown.aggregate(least=Min("n"), most=Max("n"))
    return Material(
        units=counts["units"],
        pairs=pairs,
        images=counts["images"],
        references=(found["least"] or 0, found["most"] or 0),
    )


def votes_of(study: Study) -> Votes:
    """Return counts over every judgment."""
    tally = JudgmentTally()
    for _ in included_votes(study, None, tally):
        continue
    return tally.facts()


def hash_of_judgments(study: Study) -> str:
    return votes_of(study).data_hash


def included_votes(
    study: Study, moment: Snapshot | None, tally: JudgmentTally, *, units: Sequence[int] | None = None
) -> Iterator[tuple[int, int, str, Any]]:
    """Yield (unit, worker, worker's name, answer) of judgments in consensus and agreement.

    Ordered by unit and worker name. ``tally`` takes in every judgment; ``units`` are row ids.
    """
    if moment is None:
        unused, gone = excluded_workers(study), frozenset[UUID]()
        unconfirmed = frozenset(unconfirmed_work(study).values_list("pk", flat=True))
        judgments = Judgment.objects.current().filter(
            Q(assignment__study=study) if units is None else Q(unit__in=units)
        )
    else:
        unused, gone, unconfirmed = moment.excluded_workers, frozenset(moment.invalidated), moment.unconfirmed
        judgments = moment.judgments(study, units=units)
    rows = judgments.order_by("unit__position", "unit_id", "pk").values_list(
        "unit_id", "assignment__worker__name", "assignment__worker_id", "unit__key", "value", "answer", "set_aside",
        "unit__withdrawn", "assignment_id", "unit__control", "presented",
    )  # fmt: skip
    for row in by_unit_and_name(rows.iterator(ROWS_AT_ONCE), unit=0, worker=1):
        unit, name, worker, key, value, answer, set_aside, withdrawn, assignment, control, presented = row
        if assignment in gone:
            continue
        if moment is not None:
            withdrawn = unit in moment.withdrawn
        used = not set_aside and not withdrawn and worker not in unused and assignment not in unconfirmed
        given = value if answer is None else answer
        tally.add(key, name, given, used=used, control=control, presented=presented)
        if used and not control:
            yield unit, worker, name, given


def votes_of_table(table: JudgmentTable) -> Votes:
    counted = table.counted
    _, votes = np.unique(table.unit[counted], return_counts=True)
    sided = counted & table.sided
    return Votes(
        units=len(votes),
        least=int(votes.min(initial=votes.max(initial=0))),
        most=int(votes.max(initial=0)),
        sided=int(sided.sum()),
        # The left option was first and chosen, or second and the other was chosen.
        first_left=int((sided & (table.left == (table.value == 1))).sum()),
        data_hash=table.data_hash,
        counted=int(counted.sum()),
    )


def control_rule(study: Study) -> Value:
    if study.source == Study.Source.IMPORTED:
        return "as-imported"
    controls = design_of(study).controls
    return controls.threshold if controls.per_hit else "none"


def uncommon_fields(study: Study, *, moment: Snapshot | None = None) -> dict[str, Value]:
    """Return uncommon signature fields, now or at ``moment``."""
    found: dict[str, Value] = {}
    if answers := KINDS[study.protocol].setting(design_of(study)) if KINDS[study.protocol].two_sided else "":
        found["answers"] = answers
    if draws_at_claim(study):
        found["drawn"] = f"live,even-{design_of(study).arena.even:g}"
    if chosen := design_of(study).chosen:
        found["chosen"] = f"{chosen.method},{chosen.budget}-of-{chosen.population}-{chosen.per}"
    if stops_early(study):
        found["stopping"] = stopping_in_words(design_of(study))
    if moment is None:
        decided = Adjudication.objects.filter(
            study=study, state=Adjudication.State.DECIDED, value__isnull=False
        ).count()
    else:
        decided = len(moment.decisions)
    if decided:
        found["adjudicated"] = decided
    if study.simulated:
        found["people"] = "simulated"
    return found
