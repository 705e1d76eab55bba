"""The judgment signature of a study: what was asked, of what, and what people answered (docs/signatures.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

import numpy as np
from django.db.models import Count, Max, Min

from annotation.models import Adjudication
from annotation.snapshots import Snapshot
from common.rows import batched, plain_rows
from evaluation.data.judgment_sets.blocks import FIRST_LEFT
from evaluation.data.judgment_sets.loaders import ROWS_AT_ONCE, included_votes, rule_of_controls
from evaluation.data.judgment_sets.records import (
    AS_IMPORTED,
    DIGITS_OF_HASH,
    Difference,
    JudgmentTable,
    JudgmentTally,
    Material,
    Votes,
    differences,
    hash_with,
    hash_with_winners,
    judgment_signature,
)
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Caption, Study, Unit
from judgments.studies.generation import describe_stopping
from judgments.studies.studies import design_of, draws_at_claim, stops_early
from quorum.numeric.signatures import Signature, Value, quorum_version


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
    references = shown.aggregate(least=Min("n"), most=Max("n"))
    return Material(
        units=counts["units"],
        pairs=pairs,
        images=counts["images"],
        references=(references["least"] or 0, references["most"] or 0),
    )


def votes_of(study: Study) -> Votes:
    """Return counts over every judgment."""
    tally = JudgmentTally()
    for _ in included_votes(study, None, tally):
        continue
    return tally.facts()


def hash_of_judgments(study: Study) -> str:
    return votes_of(study).data_hash


def votes_of_table(table: JudgmentTable) -> Votes:
    counted = table.counted
    _, votes = np.unique(table.unit[counted], return_counts=True)
    sided = counted & table.sided
    return Votes(
        units=len(votes),
        least=int(votes.min(initial=votes.max(initial=0))),
        most=int(votes.max(initial=0)),
        sided=int(sided.sum()),
        first_left=int((sided & (table.side == FIRST_LEFT)).sum()),
        data_hash=table.data_hash,
        counted=int(counted.sum()),
    )


def control_rule(study: Study) -> Value:
    if study.source == Study.Source.IMPORTED:
        return AS_IMPORTED
    controls = design_of(study).controls
    return controls.threshold if controls.per_hit else "none"


# Parts of a design that change nothing of what people are asked, or only which units there are.
NOT_ASKED = {
    "name", "slug", "dataset", "preset", "purpose", "seed", "seconds_per_unit", "consent", "contact", "arena",
    "sampling", "filter", "access", "workers", "rules", "stopping", "crowd", "panel", "erasure", "retention", "ethics",
    "registration", "chosen", "by_hand",
}  # fmt: skip


def _as_text(text: str | None) -> str:
    return "null" if text is None else encode_basestring_ascii(text)


@lru_cache(ROWS_AT_ONCE)
def _as_json(text: str | None) -> str:
    return "null" if text is None else json.dumps(json.loads(text), sort_keys=True)


SHOWN: Mapping[str, Callable[[Any], str]] = {
    "key": _as_text, "control": lambda is_control: "true" if is_control else "false", "item__name": _as_text,
    "item__text": _as_text, "reference__text": _as_text, "first__text": _as_text, "second__text": _as_text,
    "expected": _as_json, "content": _as_json,
}  # fmt: skip
NAMED = {"item__name": _as_text, "text": _as_text}


def _digest_of_material(study: Study) -> str:
    """Hash units and references as lines of JSON, column by column: encoding whole rows takes twice as long."""
    units = Unit.objects.filter(study=study)
    references = Caption.objects.filter(item__in=units.order_by().values("item"), role=Caption.Role.REFERENCE)
    digest = hashlib.sha256()
    for rows, columns in (
        (units.order_by("position", "pk"), SHOWN),
        (references.order_by("item__position", "position", "pk"), NAMED),
    ):
        for some in batched(plain_rows(rows.values_list(*columns)), ROWS_AT_ONCE):
            texts = map(map, columns.values(), zip(*some, strict=True))
            lines = "]\n[".join(map(", ".join, zip(*texts, strict=True)))
            digest.update(f"[{lines}]\n".encode())
    return digest.hexdigest()[:DIGITS_OF_HASH]


def uncommon_fields(study: Study, *, moment: Snapshot | None = None) -> dict[str, Value]:
    """Return digests of the design and the material, and uncommon signature fields, now or at ``moment``."""
    asked = {name: value for name, value in study.design.items() if name not in NOT_ASKED}
    fields: dict[str, Value] = {
        "design": hash_with("", asked)[:DIGITS_OF_HASH],
        "material": _digest_of_material(study),
    }
    kind = KINDS[study.protocol]
    if answers := kind.setting(design_of(study)) if kind.two_sided or kind.scale else "":
        # a colon separates a field from its value
        fields["answers" if kind.two_sided else "scale"] = answers.replace(":", "/")
    if draws_at_claim(study):
        fields["drawn"] = f"live,even-{design_of(study).arena.even:g}"
    if chosen := design_of(study).chosen:
        fields["chosen"] = f"{chosen.method},{chosen.budget}-of-{chosen.population}-{chosen.per}"
    if (least := rule_of_controls(study).least) > 1:
        fields["least"] = least
    if stops_early(study):
        fields["stopping"] = describe_stopping(design_of(study))
    if moment is None:
        decided = Adjudication.objects.filter(
            study=study, state=Adjudication.State.DECIDED, value__isnull=False
        ).count()
    else:
        decided = len(moment.decisions)
    if decided:
        fields["adjudicated"] = decided
    if study.simulated:
        fields["people"] = "simulated"
    return fields
