"""Build judgments from checked answers, and add signals about copied texts to them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, Judgment
from annotation.work.answers.checks import answer_key
from annotation.work.sheet.units import PageUnit
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.kinds.caption import fold_text
from judgments.kinds.caption_rules import RULES
from judgments.studies.designs import design_of

# folded texts of the caption rules' examples, which workers read
BAD_EXAMPLES = frozenset(fold_text(rule.bad_example) for rule in RULES)
RULE_EXAMPLES = BAD_EXAMPLES | {fold_text(rule.good_example) for rule in RULES}


def add_copy_signals(judgments: Sequence[Judgment], *, assignment: Assignment) -> None:
    """Add signals about copied texts to judgments that are not stored yet, if their kind writes captions.

    The signals are counts; a count of 0 is left out:

    - ``same_as_another``: the number of other workers who wrote the same text about this image
    - ``same_as_own``: the number of other images of the study about which this worker wrote the same text
    - ``from_instructions``: 1 if the text is that of an example in the instructions

    Case and punctuation are ignored. Later judgments do not count, so the first of two copies has no signal, unless
    both are texts of one worker that are stored together.
    """
    study = assignment.study
    if not judgments or not KINDS[study.protocol].writes_captions:
        return
    units = [judgment.unit_id for judgment in judgments]
    current_judgments = Judgment.objects.current()
    others_text_counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    others_judgments = current_judgments.filter(unit__in=units).exclude(
        assignment__worker=assignment.worker_id
    )
    for unit, text in others_judgments.values_list("unit_id", "answer"):
        others_text_counts[unit][_fold_answer(text)] += 1
    own_judgments = current_judgments.filter(assignment__study=study, assignment__worker=assignment.worker_id)
    own_text_counts = Counter(
        _fold_answer(text) for text in own_judgments.exclude(unit__in=units).values_list("answer", flat=True)
    )
    own_text_counts.update(_fold_answer(judgment.answer) for judgment in judgments)
    examples = RULE_EXAMPLES | _example_texts(design_of(study))
    for judgment in judgments:
        text = _fold_answer(judgment.answer)
        counts = {
            "same_as_another": others_text_counts[judgment.unit_id][text],
            "same_as_own": own_text_counts[text] - 1,  # without this judgment
            "from_instructions": int(text in examples),
        }
        # a revision starts with the signals of the judgment that it replaces
        signals = {name: count for name, count in judgment.signals.items() if name not in counts}
        signals.update({name: count for name, count in counts.items() if count})
        judgment.signals = signals


def _example_texts(design: StudyDesign) -> set[str]:
    texts = chain.from_iterable((*example.shown, example.answer) for example in design.examples)
    return {fold_text(text) for text in texts}


def _fold_answer(answer: Any) -> str:
    return fold_text(str(answer))


def build_judgment(
    assignment: Assignment,
    page_unit: PageUnit,
    answer: Mapping[str, Any],
    *,
    kind: Kind,
    made_at: datetime | None = None,
) -> Judgment:
    """Return a judgment, not stored yet, for an answer.

    Args:
        answer: a checked answer, about the options in the order that the worker saw.
        made_at: the time of the judgment; if None, the time of the submission.
    """
    key = answer_key(kind)
    return Judgment(
        assignment_id=assignment.pk,
        unit_id=page_unit.unit.pk,
        **{key: kind.sides.to_canonical(answer[key], side=page_unit.side)},
        presented=_presented_side(kind, page_unit.side),
        seconds=answer.get("seconds"),
        wall_seconds=answer.get("wall_seconds"),
        comment=answer.get("comment", ""),
        signals=answer.get("signals", {}),
        made_at=made_at or assignment.submitted_at or timezone.now(),
    )


def _presented_side(kind: Kind, side: Any) -> str:
    if not kind.two_sided:
        return ""
    return Judgment.Presented.SECOND_LEFT if side else Judgment.Presented.FIRST_LEFT
