"""The judgment signature of a study: its questions, its material, and the answers (docs/signatures.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from annotation.models import Adjudication
from annotation.snapshots import Snapshot
from evaluation.data.judgment_sets.blocks import FIRST_LEFT, unit_columns
from evaluation.data.judgment_sets.data_hash import hash_with_data, hash_with_winners
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH, included_votes, rule_of_controls
from evaluation.data.judgment_sets.material_digest import digest_of_material
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.data.judgment_sets.signatures import (
    AS_IMPORTED,
    DIGITS_OF_HASH,
    Difference,
    MaterialCounts,
    differences,
    judgment_signature,
)
from evaluation.data.judgment_sets.tallies import JudgmentTally, VoteCounts
from judgments.kinds import KINDS
from judgments.models import CandidatePair, Study
from judgments.studies.designs import design_of, draws_at_claim, stops_early
from judgments.studies.stopping import describe_stopping
from quorum.numeric.signatures import Signature, Value, quorum_version
from quorum.statistics.inputs import encode

# Keys of a design that are not signed, because they do not change what people are asked, or only determine the units.
UNSIGNED_KEYS = {
    "name", "slug", "dataset", "preset", "purpose", "seed", "seconds_per_unit", "consent", "contact", "arena",
    "sampling", "filter", "access", "workers", "rules", "stopping", "crowd", "panel", "erasure", "retention", "ethics",
    "registration", "chosen", "by_hand",
}  # fmt: skip


def signature_of_study(
    study: Study, *, table: JudgmentTable | None = None, material_digest: str | None = None
) -> Signature:
    """Return the current signature of the study's judgments.

    It is computed from ``table`` and from blocks (stored columns) of units, or from rows if no table is given. With a
    table, ``material_digest`` is the digest of the material, if it is already computed.
    """
    if table is None:
        return signature_from(study, material_of(study), votes_of(study), uncommon_fields(study))
    digest = material_digest or digest_of_material(study, from_blocks=True)
    fields = uncommon_fields(study, material_digest=digest)
    return signature_from(study, material_of(study, from_blocks=True), votes_of_table(table), fields)


def signature_from(
    study: Study, material: MaterialCounts, votes: VoteCounts, others: Mapping[str, Value]
) -> Signature:
    """Return the signature of the study's judgments from counts of its material and votes.

    ``others`` are the fields that not every study has (``uncommon_fields``). The data hash covers published winners.
    """
    published_pairs = CandidatePair.objects.filter(study=study, published_winner__isnull=False)
    rows = published_pairs.values_list("key", "published_winner").iterator(ROWS_PER_BATCH)
    winners = {key: winner for key, winner in rows if winner is not None}
    return judgment_signature(
        KINDS[study.protocol],
        material,
        replace(votes, data_hash=hash_with_winners(votes.data_hash, winners)),
        controls=controls_field(study),
        seed=design_of(study).seed,
        version=quorum_version(),
        others=others,
    )


def compare_signature(study: Study, stated: Signature) -> list[Difference]:
    return differences(stated, signature_of_study(study))


def material_of(study: Study, *, from_blocks: bool = False) -> MaterialCounts:
    """Return counts of the judged material.

    With ``from_blocks``, units are read from stored blocks and newer rows, else all are read from their rows.
    """
    import pyarrow.compute as pc

    units = unit_columns(study, ("pair", "item", "reference", "control"), from_blocks=from_blocks)
    judged_units = units.select(["pair", "item", "reference"]).filter(pc.invert(units["control"]))
    pairs = None
    if KINDS[study.protocol].compares_pairs:
        pairs = CandidatePair.objects.filter(study=study).count()
    # A group is a pair, or the units of an image if they have no pair. Threads would take three times the CPU time.
    units_by_pair = judged_units.group_by(["pair", "item"], use_threads=False)
    reference_counts = units_by_pair.aggregate([("reference", "count_distinct")])
    references = [n for n in pc.unique(reference_counts["reference_count_distinct"]).to_pylist() if n > 0]
    return MaterialCounts(
        units=len(judged_units),
        pairs=pairs,
        images=pc.count_distinct(judged_units["item"]).as_py(),
        references=(min(references, default=0), max(references, default=0)),
    )


def votes_of(study: Study) -> VoteCounts:
    tally = JudgmentTally()
    for _ in included_votes(study, None, tally):
        continue  # reading a judgment adds it to the tally
    return tally.finish()


def hash_of_judgments(study: Study) -> str:
    return votes_of(study).data_hash


def votes_of_table(table: JudgmentTable) -> VoteCounts:
    is_counted = table.is_counted
    vote_counts = np.bincount(encode(table.unit[is_counted])[1])
    has_side = is_counted & table.has_side
    return VoteCounts(
        units=len(vote_counts),
        least=int(vote_counts.min()) if len(vote_counts) else 0,
        most=int(vote_counts.max(initial=0)),
        sided=int(has_side.sum()),
        first_left=int((has_side & (table.side == FIRST_LEFT)).sum()),
        data_hash=table.data_hash,
        counted=int(is_counted.sum()),
    )


def controls_field(study: Study) -> Value:
    """Return the field of the signature about control items: the share that must be right, "none" or AS_IMPORTED."""
    if study.source == Study.Source.IMPORTED:
        return AS_IMPORTED
    controls = design_of(study).controls
    return controls.threshold if controls.per_hit else "none"


def uncommon_fields(
    study: Study, *, moment: Snapshot | None = None, material_digest: str | None = None
) -> dict[str, Value]:
    """Return the signature fields that not every study has, now or at ``moment``.

    They include digests of the design and of the material. If ``material_digest`` is omitted, it is computed from rows.
    """
    design_values = {name: value for name, value in study.design.items() if name not in UNSIGNED_KEYS}
    fields: dict[str, Value] = {
        "design": hash_with_data("", design_values)[:DIGITS_OF_HASH],
        "material": material_digest or digest_of_material(study),
    }
    kind = KINDS[study.protocol]
    if kind.two_sided or kind.scale:
        answers = kind.setting(design_of(study))
        if answers:
            # In a signature, a colon separates a field from its value.
            fields["answers" if kind.two_sided else "scale"] = answers.replace(":", "/")
    if draws_at_claim(study):
        # such as "live,even-0.2": a fifth of an arena's pairs are sampled uniformly
        fields["drawn"] = f"live,even-{design_of(study).arena.even:g}"
    if sample := design_of(study).chosen:
        # such as "even,200-of-1000-images"
        fields["chosen"] = f"{sample.method},{sample.budget}-of-{sample.population}-{sample.per}"
    least = rule_of_controls(study).least  # check questions to answer before somebody can be excluded
    if least > 1:
        fields["least"] = least
    if stops_early(study):
        fields["stopping"] = describe_stopping(design_of(study))
    if moment is None:
        decision_count = Adjudication.objects.filter(
            study=study, state=Adjudication.State.DECIDED, value__isnull=False
        ).count()
    else:
        decision_count = len(moment.decisions)
    if decision_count:
        fields["adjudicated"] = decision_count
    if study.simulated:
        fields["people"] = "simulated"
    return fields
