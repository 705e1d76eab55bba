"""What a rule would have done: run over a study's finished work, before it is switched on. Nothing is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from annotation.histories import answers_of, judged, pages_of
from annotation.models import Assignment, Participation, QualityRule, Worker
from annotation.models.assignments import LIVE
from annotation.rules import RULES, Finding, Rule, replay
from annotation.services.rules import RECOMMENDED, rule_of
from judgments.errors import WrongState
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class FoundWorker:
    """A worker whom the rule would have found.

    Attributes:
        answers: after how many of their answers.
        words, numbers: the evidence.
        judgments, slots: what an exclusion would touch now: current judgments, and slots that would open again.
        standing: whether the worker was paused or excluded meanwhile.
        simulated: the worker of a rehearsal.
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
    """What one rule would have found, workers by name; ``applies`` is False where it means nothing for the kind."""

    rule: str
    settings: Mapping[str, Any]
    applies: bool
    workers: int
    judgments: int
    slots: int
    found: tuple[FoundWorker, ...]

    def as_json(self) -> dict[str, Any]:
        """As the command writes it."""
        return asdict(self)


def replay_rule(*, study: Study, rule: str, settings: Mapping[str, Any]) -> Replay:
    """``replay_rules`` for one rule."""
    return replay_rules(study=study, rules=[(rule, settings)])[0]


def replay_rules(*, study: Study, rules: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Replay]:
    """Go through the study's finished work page by page, in the order it was submitted, and let each rule look as it
    would have looked then. Work of excluded workers is not among it.

    Raises:
        WrongState: no such rule or setting, or the raters are places in published totals, not persons.
    """
    made = [rule_of(study, name, settings) for name, settings in rules]
    if Worker.objects.filter(assignments__study=study, anonymous=True).exists():
        raise WrongState(
            f"The raters of study {study.slug!r} are anonymous places in published totals, not persons; "
            "rules about persons cannot look at them."
        )
    answers = answers_of(study)
    found = replay(pages_of(study), rules=made, answers=answers)
    people = _People.of(study)
    return [_told(rule, rule.applies(answers), found, people) for rule in made]


@dataclass(frozen=True, slots=True)
class _People:
    """What an exclusion of each worker would touch."""

    names: Mapping[int, tuple[str, bool]]
    judgments: Mapping[int, int]
    slots: Mapping[int, int]
    standing: Mapping[int, str]

    @classmethod
    def of(cls, study: Study) -> _People:
        live = Assignment.objects.filter(study=study, state__in=LIVE)
        workers = Worker.objects.filter(assignments__study=study).distinct()
        return cls(
            names={
                pk: (name, source == Worker.Source.REHEARSAL)
                for pk, name, source in workers.values_list("pk", "name", "source")
            },
            judgments=Counter(judged(study).values_list("assignment__worker_id", flat=True)),
            slots=Counter(live.filter(hit__isnull=False).values_list("worker_id", flat=True)),
            standing=dict(Participation.objects.filter(study=study).values_list("worker_id", "standing")),
        )


def _told(rule: Rule, applies: bool, found: Mapping[int, Mapping[str, Finding]], people: _People) -> Replay:
    hits = []
    for worker, findings in found.items():
        if rule.name not in findings:
            continue
        finding = findings[rule.name]
        name, simulated = people.names[worker]
        hits.append(
            FoundWorker(
                worker=name,
                answers=finding.judgments,
                words=finding.words,
                numbers=finding.evidence,
                judgments=people.judgments[worker],
                slots=people.slots[worker],
                standing=people.standing.get(worker, Participation.Standing.ACTIVE),
                simulated=simulated,
            )
        )
    return Replay(
        rule=rule.name,
        settings=rule.model_dump(mode="json"),
        applies=applies,
        workers=len(people.names),
        judgments=sum(hit.judgments for hit in hits),
        slots=sum(hit.slots for hit in hits),
        found=tuple(sorted(hits, key=lambda hit: hit.worker)),
    )


def rules_to_replay(study: Study, names: Sequence[str] = ()) -> list[tuple[str, Mapping[str, Any]]]:
    """The study's own rules with their settings, and every other one with those that are recommended; or the named.

    Raises:
        WrongState: a name is none.
    """
    unknown = [name for name in names if name not in RULES]
    if unknown:
        raise WrongState(f"There is no rule {unknown[0]!r}; expected some of {', '.join(RULES)}.")
    settings: dict[str, Mapping[str, Any]] = {name: chosen for name, _, chosen in RECOMMENDED}
    settings |= dict(QualityRule.objects.filter(study=study).values_list("rule", "settings"))
    return [(name, settings.get(name, {})) for name in names or RULES]
