"""Checks of stored arenas, for the command check_integrity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet

from annotation.work.system_pairs import counts_for_pair, tally_answers
from judgments.models import HITUnit, Study, SystemPair


def arena_units_have_drawing_probabilities() -> Iterator[str]:
    """Yield a message for each unit of an arena's HIT that lacks its probability or the answers that determined it."""
    hit_units = HITUnit.objects.filter(hit__study__in=_arenas(), unit__control=False).filter(
        Q(chance__isnull=True) | Q(chance__lte=0) | Q(chance__gt=1) | Q(hit__drawn_from=None)
    )
    for slug, hit, unit in hit_units.values_list("hit__study__slug", "hit__key", "unit__key"):
        yield f"Study {slug}: unit {unit} stands in HIT {hit} without the chance it was drawn by."


def arena_pairs_count_their_answers() -> Iterator[str]:
    """Yield a message for each system pair of an arena whose stored counts differ from its answers."""
    for study in Study.objects.filter(pk__in=_arenas()).order_by("slug"):
        tallies = tally_answers(study)
        for row in SystemPair.objects.filter(study=study).order_by("position"):
            counts = {"wins": row.wins, "ties": row.ties, "losses": row.losses}
            tally = counts_for_pair(tallies, row.first_system_id, row.second_system_id)
            if counts != tally:
                yield f"Study {study.slug}: pair {row.position} of systems counts {counts}; its answers are {tally}."


def _arenas() -> QuerySet[SystemPair, Any]:
    """Return the row ids of the studies that have system pairs."""
    return SystemPair.objects.values("study")
