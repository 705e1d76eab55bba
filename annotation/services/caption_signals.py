"""What is noticed of written captions when they are handed in: copies, told to whoever reviews, refused to nobody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from annotation.models import Assignment, Judgment
from judgments.design import StudyDesign
from judgments.kinds import KINDS
from judgments.kinds.caption import folded
from judgments.kinds.caption_rules import RULES
from judgments.services.studies import design_of

RULE_EXAMPLES = frozenset(folded(text) for rule in RULES for text in (rule.refused, rule.fine))


def note_copies(judgments: Sequence[Judgment], *, assignment: Assignment) -> None:
    """Add to the signals of ``judgments``, rows that are not stored yet, what they are copies of; for kinds that write
    captions, in two queries.

    ``same_as_another``: as many other workers wrote the same about this image. ``same_as_own``: about so many other
    images of the study this worker wrote the same. ``from_instructions``: 1 where it stands among the examples. Case
    and punctuation are no difference. A judgment tells of what was there before it: the first of two copies is not
    marked.
    """
    study = assignment.study
    if not judgments or not KINDS[study.protocol].writes_captions:
        return
    units = [judgment.unit_id for judgment in judgments]
    there = Judgment.objects.current()
    others: defaultdict[int, Counter[str]] = defaultdict(Counter)
    of_others = there.filter(unit__in=units).exclude(assignment__worker=assignment.worker_id)
    for unit, text in of_others.values_list("unit_id", "answer"):
        others[unit][_plain(text)] += 1
    earlier = there.filter(assignment__study=study, assignment__worker=assignment.worker_id)
    own = Counter(_plain(text) for text in earlier.exclude(unit__in=units).values_list("answer", flat=True))
    own.update(_plain(judgment.answer) for judgment in judgments)
    examples = RULE_EXAMPLES | _examples(design_of(study))
    for judgment in judgments:
        text = _plain(judgment.answer)
        noticed = {
            "same_as_another": others[judgment.unit_id][text],
            "same_as_own": own[text] - 1,
            "from_instructions": int(text in examples),
        }
        # a revision starts from the signals of what it replaces
        told = {name: count for name, count in judgment.signals.items() if name not in noticed}
        judgment.signals = told | {name: count for name, count in noticed.items() if count}


def _examples(design: StudyDesign) -> set[str]:
    return {folded(text) for example in design.examples for text in (*example.shown, example.answer)}


def _plain(answer: Any) -> str:
    return folded(str(answer))
