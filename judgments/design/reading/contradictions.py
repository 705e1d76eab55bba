"""Find contradictions in a design, by the rules of its kind."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext, pgettext

from judgments.design.reading.crowd_contradictions import (
    contradictions_of_crowd,
    contradictions_of_html_question,
    contradictions_of_panel,
)
from judgments.design.reading.item_contradictions import (
    contradictions_of_arena,
    contradictions_of_sampling,
    contradictions_of_stopping,
)
from judgments.design.study_design import StudyDesign, contradictions_of_translations
from judgments.design.tables.controls import Writing
from judgments.design.tables.questions import AnswerOptions
from judgments.kinds import KINDS, Kind, UnavailableKind
from quorum.numeric.names import nearest_name


def contradictions_of(design: StudyDesign) -> Iterator[str]:
    """Yield a clause about each contradiction in a design.

    A clause has no full stop. It begins with the key that it is about, which may be in quotes.
    """
    kind = KINDS.get(design.protocol)
    if kind is None:
        unavailable_kind = KINDS[design.protocol]  # unlike get(), a subscript returns an UnavailableKind
        if isinstance(unavailable_kind, UnavailableKind) and unavailable_kind.feature:
            yield gettext(
                "protocol is %(protocol)r, but this protocol is off; turn on %(feature)s in CONTRIB_APPS"
            ) % {"protocol": design.protocol, "feature": unavailable_kind.feature}
            return
        yield gettext("protocol is %(protocol)r; expected one of %(listed)s; the nearest one is %(near)r") % {
            "protocol": design.protocol,
            "listed": ", ".join(KINDS),
            "near": nearest_name(design.protocol, KINDS, cutoff=0.0),
        }
        return
    yield from contradictions_of_crowd(design)
    yield from kind.contradictions(design)
    yield from _contradictions_of_unused_tables(design, kind)
    if design.arena.pages:
        yield from contradictions_of_arena(design, kind)
    if design.by_hand and (design.arena.pages or design.chosen is not None):
        yield gettext(
            "“by_hand” (changes to single items) cannot be combined with “arena” (items sampled during the "
            "study) or “chosen” (items chosen by a method)"
        )
    yield from _contradictions_of_scale(design, kind)
    yield from _contradictions_of_labels(design, kind)
    yield from contradictions_of_translations(design)
    if design.crowd.backend == "mturk" and design.crowd.question == "html":
        yield from contradictions_of_html_question(design, kind)
    size = kind.hit_size(design)
    if design.controls.per_hit >= size:
        yield gettext(
            "controls.per_hit is %(per_hit)s, but the number of items on a page of work is %(size)s; expected a "
            "smaller number of check questions"
        ) % {"per_hit": design.controls.per_hit, "size": size}
    yield from contradictions_of_sampling(design, kind)
    if design.filter.audit and not design.filter.bleu_pre:
        yield gettext(
            "filter.audit is %(audit)s, but filter.bleu_pre is 0, so the filter leaves nothing out"
        ) % {"audit": design.filter.audit}
    yield from contradictions_of_stopping(design, kind)
    yield from contradictions_of_panel(design)


def _contradictions_of_unused_tables(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.source.show and kind.no_source_reason:
        yield gettext("source.show is true, but %(no_source)s; expected false") % {
            "no_source": kind.no_source_reason
        }
    # `worst` is the only option for lists; all others are for pairs
    pair_options = design.answers.model_copy(update={"worst": True})
    if pair_options != AnswerOptions() and not kind.compares_pairs:
        yield gettext(
            "“answers” is only for protocols that compare pairs; remove this table, because %(name)s "
            "compares no pairs"
        ) % {"name": kind.name}
    if not design.answers.worst and not kind.names_best:
        yield pgettext(
            "staff", "answers.worst is false, but %(name)s never asks for the worst; remove the key"
        ) % {"name": kind.name}
    if design.writing != Writing() and not kind.writes_captions:
        yield gettext(
            "“writing” is only for answers that participants write; remove this table, because "
            "%(name)s has no such answers"
        ) % {"name": kind.name}


def _contradictions_of_labels(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.labels and design.scale is None and len(design.labels) != len(kind.labelled_values):
        if kind.labelled_values:
            clause = gettext(
                "“labels” (number of texts: %(n)s): for %(name)s, expected one text for each of %(values)s"
            )
        else:
            clause = gettext("“labels” (number of texts: %(n)s): %(name)s has no labels; expected none")
        yield clause % {
            "n": len(design.labels),
            "name": kind.name,
            "values": ", ".join(map(str, kind.labelled_values)),
        }
    elif len(set(design.labels)) < len(design.labels):
        yield gettext("“labels” has the same text twice, so two answers could not be distinguished")


def _contradictions_of_scale(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.scale is None:
        return
    if kind.scale is None:
        yield gettext(
            "“scale” is only for graded and slider; remove this table, because %(name)s has no scale"
        ) % {"name": kind.name}
        return
    if problem := kind.scale_problem(design.scale):
        yield gettext("scale (points: %(n)s): %(problem)s") % {"n": len(design.scale), "problem": problem}
    if design.labels:
        yield gettext(
            "“labels” is not empty (texts: %(n)s), but the labels of a custom scale are in scale.labels; expected none"
        ) % {"n": len(design.labels)}
    if len(set(design.scale.labels.values())) < len(design.scale.labels):
        yield gettext("scale.labels has the same text twice, so two answers could not be distinguished")
