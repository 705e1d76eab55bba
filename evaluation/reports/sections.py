"""The sections of a report, from what was gathered: the same for a study and for the rows of its release. Pure."""

from __future__ import annotations

from evaluation.reports import captions, open_answers, pairs, people, proposals, tournaments
from evaluation.reports.between_metrics import between_metrics
from evaluation.reports.content import Section
from evaluation.reports.gathered import Gathered
from judgments.studies.generation import Progress, no_progress


def sections_of(gathered: Gathered, progress: Progress = no_progress) -> list[Section]:
    """Everything that follows from the rows."""
    sections = [people.collection(gathered), people.agreement(gathered), people.workers(gathered)]
    return [*sections, *_against_people(gathered, progress), *open_answers.sections(gathered)]


def _against_people(gathered: Gathered, progress: Progress) -> list[Section]:
    """What a study of pairs says of metrics and systems, or one of single captions."""
    sections: list[Section | None]
    one_judge = captions.ceilings(gathered)
    if gathered.kind.compares_pairs:
        ceilings = pairs.ceilings(gathered)
        sections = [pairs.metrics(gathered, ceilings)]
        progress(0.55, "accuracy by number of references")
        sections += [pairs.references(gathered, ceilings), tournaments.systems(gathered)]
    else:
        sections = [
            captions.metrics(gathered, one_judge),
            captions.thresholds(gathered),
            proposals.grades(gathered),
        ]
        sections.append(proposals.rankings(gathered))
    progress(0.75, "metrics against each other")
    sections.append(between_metrics(gathered, one_judge))
    return [section for section in sections if section is not None]
