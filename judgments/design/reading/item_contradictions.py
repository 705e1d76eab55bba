"""Find contradictions in how a design draws items and decides their outcomes."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext

from judgments.design.study_design import StudyDesign
from judgments.kinds import Kind


def contradictions_of_sampling(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.sampling.only and not kind.supports_unit_ids:
        yield gettext("sampling.only lists ids (%(n)s), but items of %(name)s cannot be chosen by id") % {
            "n": len(design.sampling.only),
            "name": kind.name,
        }
    if design.chosen is not None and set(design.chosen.chances) != set(design.sampling.only):
        differing_item = min(set(design.chosen.chances) ^ set(design.sampling.only))
        yield gettext(
            "chosen.chances and sampling.only name different items, such as %(apart)r; choose the items again, "
            "or undo the choice"
        ) % {"apart": differing_item}
    reads_list = kind.judges_one_caption and design.sampling.pairs_from == "list"
    if reads_list and not design.sampling.listed:
        yield gettext(
            "sampling.listed is empty, but sampling.pairs_from = 'list' needs it; expected pairs of "
            "an image and a caption"
        )
    if design.sampling.listed and not reads_list:
        yield (
            gettext(
                "sampling.listed lists pairs (%(n)s), but %(name)s with sampling.pairs_from = %(pairs_from)r does not "
                "use them; expected none"
            )
            % {"n": len(design.sampling.listed), "pairs_from": design.sampling.pairs_from, "name": kind.name}
        )


def contradictions_of_stopping(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.stopping.rule != "none" and not kind.aggregation.supports_early_stopping:
        yield (
            gettext(
                "stopping.rule is %(rule)r, but the consensus of %(name)s cannot be decided early; "
                "expected 'none'"
            )
            % {"rule": design.stopping.rule, "name": kind.name}
        )
    if design.stopping.rule == "margin" and design.stopping.minimum > design.judgments_per_unit:
        yield (
            gettext(
                "stopping.minimum is %(minimum)s; expected at most %(judgments_per_unit)s, which "
                "is judgments_per_unit"
            )
            % {"minimum": design.stopping.minimum, "judgments_per_unit": design.judgments_per_unit}
        )


def contradictions_of_arena(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if not kind.compares_pairs:
        yield gettext(
            "“arena” is only for protocols that compare pairs; remove this table, because %(name)s "
            "compares no pairs"
        ) % {"name": kind.name}
    if other_kinds := sorted(set(design.sampling.pairs) - {"MM"}):
        yield gettext(
            "sampling.pairs contains %(kind)s, but an arena compares systems with one another; expected only MM"
        ) % {"kind": other_kinds[0]}
    if design.stopping.rule != "none":
        yield gettext(
            "stopping.rule is %(rule)r, but an arena samples each page by all answers so far and has no "
            "decided items; expected 'none'"
        ) % {"rule": design.stopping.rule}
    if design.chosen is not None:
        yield gettext(
            "“chosen” (items chosen by a method) and “arena” (items sampled by the answers so "
            "far) cannot be combined; remove one of these tables"
        )
    if "repeated" in design.controls.kinds and design.controls.per_hit:
        yield gettext(
            "controls.kinds has 'repeated', but the check questions of an arena are made before the items of a page; "
            "expected other kinds"
        )
    if design.crowd.backend == "mturk":
        yield gettext(
            "crowd.backend is 'mturk', but its HITs are created in advance, and an arena generates a "
            "page when a participant takes it; expected 'local' or 'external'"
        )
