"""Run detectors over a study's finished work again, to find the workers whom they would have flagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Assignment, Participation, QualityRule, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.quality.detectors import RULES
from annotation.quality.detectors.base import Finding, Rule
from annotation.quality.histories import answer_format_of
from annotation.quality.rules import RECOMMENDED_RULES, make_study_rule
from common.errors import WrongState, did_you_mean
from contrib.replays.page_replays import replay_detectors
from contrib.replays.submitted_pages import finished_judgments, pages_of
from judgments.models import Study

MAX_REPLAYED_JUDGMENTS = 50_000  # only the command replays more


@dataclass(frozen=True, slots=True)
class FlaggedWorker:
    """A worker whom a detector would have flagged. The HTTP interface uses the same names.

    Attributes:
        answers: number of answers after which the detector would have flagged the worker.
        words, numbers: the finding as a sentence, and its evidence.
        judgments, slots: numbers of judgments that an exclusion would invalidate now, and of slots that it would open.
    """

    worker: str
    answers: int
    words: str
    numbers: Mapping[str, Any]
    judgments: int
    slots: int
    standing: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """The findings of one detector. The HTTP interface uses the same names.

    Attributes:
        applies: false if the detector does not fit the kind, or if there are answers, but none has the data it needs.
        unrecorded: whether a detector of texts found no answer with the data that it needs.
        workers: number of the study's workers.
        judgments, slots: numbers of judgments that the exclusion of all flagged workers would invalidate, and of slots
            that it would open.
        found: the flagged workers.
    """

    rule: str
    settings: Mapping[str, Any]
    applies: bool
    unrecorded: bool
    workers: int
    judgments: int
    slots: int
    found: tuple[FlaggedWorker, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def replay_rule(*, study: Study, rule: str, settings: Mapping[str, Any]) -> Replay:
    return replay_rules(study=study, rules=[(rule, settings)])[0]


def replay_rules(*, study: Study, rules: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Replay]:
    """Run each detector over the finished work in order of submission. Excluded workers are left out.

    Args:
        rules: the name and the settings of each detector.
    """
    detectors = [make_study_rule(study, name, settings) for name, settings in rules]
    if Worker.objects.filter(assignments__study=study, anonymous=True).exists():
        raise WrongState(
            _(
                "The source of study %(slug)r does not say which participant gave which answer. Detectors need "
                "this information."
            )
            % {"slug": study.slug}
        )
    answer_format = answer_format_of(study)
    pages = list(pages_of(study))
    findings = replay_detectors(pages, rules=detectors, answer_format=answer_format)
    workers = _StudyWorkers.for_study(study)
    judgments = list(chain.from_iterable(page.judgments for page in pages))
    # Some detectors need data that only some pages record, such as how a text was written.
    has_data = {rule.name: any(map(rule.can_examine, judgments)) for rule in detectors}
    return [
        _build_replay(
            rule,
            findings,
            workers,
            applies=rule.applies_to(answer_format) and (has_data[rule.name] or not pages),
            # detectors of how texts were written may only flag
            unrecorded=rule.only_flags and answer_format.is_text and not has_data[rule.name],
        )
        for rule in detectors
    ]


@dataclass(frozen=True, slots=True)
class _StudyWorkers:
    """Facts about the study's workers, by row id.

    Attributes:
        simulated: the workers of rehearsals.
        judgment_counts: numbers of judgments in finished work.
        slot_counts: numbers of slots that their live work takes; imported work without a HIT takes none.
        standing: standing of those who have one in the study.
    """

    names: Mapping[int, str]
    simulated: frozenset[int]
    judgment_counts: Mapping[int, int]
    slot_counts: Mapping[int, int]
    standing: Mapping[int, str]

    @classmethod
    def for_study(cls, study: Study) -> _StudyWorkers:
        live_pages = Assignment.objects.filter(study=study, state__in=LIVE_STATES, hit__isnull=False)
        workers = Worker.objects.filter(assignments__study=study).distinct()
        rows = list(workers.values_list("pk", "name", "source"))
        return cls(
            names={pk: name for pk, name, _source in rows},
            simulated=frozenset(pk for pk, _name, source in rows if source == Worker.Source.REHEARSAL),
            judgment_counts=Counter(
                finished_judgments(study).values_list("assignment__worker_id", flat=True)
            ),
            slot_counts=Counter(live_pages.values_list("worker_id", flat=True)),
            standing=dict(Participation.objects.filter(study=study).values_list("worker_id", "standing")),
        )


def _build_replay(
    rule: Rule,
    findings_by_worker: Mapping[int, Mapping[str, Finding]],
    workers: _StudyWorkers,
    *,
    applies: bool,
    unrecorded: bool,
) -> Replay:
    flagged_workers = []
    for worker, findings in findings_by_worker.items():
        if rule.name not in findings:
            continue
        finding = findings[rule.name]
        flagged_workers.append(
            FlaggedWorker(
                worker=workers.names[worker],
                answers=finding.judgments,
                words=finding.sentence,
                numbers=finding.evidence,
                judgments=workers.judgment_counts[worker],
                slots=workers.slot_counts[worker],
                standing=workers.standing.get(worker, Participation.Standing.ACTIVE),
                simulated=worker in workers.simulated,
            )
        )
    return Replay(
        rule=rule.name,
        settings=rule.model_dump(mode="json"),
        applies=applies,
        unrecorded=unrecorded,
        workers=len(workers.names),
        judgments=sum(row.judgments for row in flagged_workers),
        slots=sum(row.slots for row in flagged_workers),
        found=tuple(sorted(flagged_workers, key=lambda row: row.worker)),
    )


def rules_to_replay(study: Study, names: Sequence[str] = ()) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the name and the settings of each named detector, or of all detectors.

    The settings are those of the study or, if it does not use the detector, the recommended ones.

    Raises:
        WrongState: a name is unknown.
    """
    unknown_names = [name for name in names if name not in RULES]
    if unknown_names:
        raise WrongState(
            _("There is no detector %(unknown)r; expected one or more of %(rules)s.")
            % {"unknown": unknown_names[0], "rules": ", ".join(RULES)}
            + did_you_mean(unknown_names[0], RULES)
        )
    settings: dict[str, Mapping[str, Any]] = {name: values for name, _, values in RECOMMENDED_RULES}
    settings |= dict(QualityRule.objects.filter(study=study).values_list("rule", "settings"))
    return [(name, settings.get(name, {})) for name in names or RULES]
