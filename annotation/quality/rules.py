"""A study's detectors as rows, a worker's history for them, and replays over finished work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Judgment, Participation, QualityRule, Worker
from annotation.models.assignments import FINISHED_STATES, LIVE_STATES
from annotation.quality.controls import ControlAnswer, control_answers
from annotation.quality.detectors import RULES, make_rule
from annotation.quality.detectors.answers import ControlAccuracy
from annotation.quality.detectors.base import (
    MOST_OTHERS_TEXTS,
    NAN,
    WINDOW,
    AnswerFormat,
    Finding,
    History,
    OthersJudgment,
    OthersText,
    OwnJudgment,
    Rule,
    WrittenAnswer,
    make_history,
    pages_since_look,
)
from annotation.quality.detectors.honesty import hidden_word, is_pasted
from common.errors import DesignError, WrongState
from judgments.access.roles import note_event
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.studies.studies import design_of, kind_of


class SubmittedPage(NamedTuple):
    worker: int
    judgments: Sequence[OwnJudgment]


@dataclass(slots=True)
class JudgmentLog:
    answers: AnswerFormat
    _pages: Counter[int] = field(default_factory=Counter)
    _unseen: Counter[int] = field(default_factory=Counter)
    _given: dict[int, list[OwnJudgment]] = field(default_factory=lambda: defaultdict(list))
    _votes: dict[int, list[tuple[int, OthersJudgment]]] = field(default_factory=lambda: defaultdict(list))
    _texts: list[OthersText] = field(default_factory=list)

    def add(self, page: SubmittedPage) -> None:
        self._pages[page.worker] += 1
        self._unseen[page.worker] += len(page.judgments)
        self._given[page.worker].extend(page.judgments)
        for judgment in page.judgments:
            self._votes[judgment.unit].append((page.worker, OthersJudgment(judgment.value, judgment.seconds)))
            if judgment.written is not None:
                self._texts.append(
                    OthersText(page.worker, judgment.unit, judgment.written.text, judgment.written.at)
                )

    def count(self, worker: int) -> int:
        return len(self._given[worker])

    def take_new_judgments(self, worker: int) -> int:
        """Return the number of judgments since the last look; 0 if no look is due."""
        if not pages_since_look(self._pages[worker]):
            return 0
        return self._unseen.pop(worker, 0)

    def history(self, worker: int, *, fresh: int, others: bool = True, texts: bool = False) -> History:
        judgments = self._given[worker]
        votes: Mapping[int, Sequence[OthersJudgment]] = {}
        if others:
            votes = {
                judgment.unit: [vote for who, vote in self._votes[judgment.unit] if who != worker]
                for judgment in judgments[-WINDOW:]
            }
        theirs = (judgment for judgment in reversed(self._texts) if judgment.worker != worker)
        latest = list(islice(theirs, MOST_OTHERS_TEXTS)) if texts else []
        return make_history(
            judgments, votes, answers=self.answers, total=len(judgments), fresh=fresh, others_texts=latest
        )

    def control_history(self, worker: int, *, fresh: int) -> History:
        return control_history(self._given[worker], answers=self.answers, fresh=fresh)


def control_history(judgments: Sequence[OwnJudgment], *, answers: AnswerFormat, fresh: int) -> History:
    """Build a history of control items from all judgments, the last ``fresh`` of them new."""
    known = [judgment for judgment in judgments if judgment.is_control]
    new = sum(judgment.is_control for judgment in judgments[len(judgments) - fresh :])
    return make_history(known, {}, answers=answers, total=len(known), fresh=new)


def examine_latest_page(
    log: JudgmentLog, worker: int, *, rules: Iterable[Rule]
) -> list[tuple[Rule, Finding]]:
    """Return the findings after the worker's latest page, if a look is due."""
    fresh = log.take_new_judgments(worker)
    if not fresh:
        return []
    total = log.count(worker)
    applying = [rule for rule in rules if rule.applies_to(log.answers)]
    at_large = [rule for rule in applying if not rule.controls_only and rule.is_due(total=total, fresh=fresh)]
    findings: list[tuple[Rule, Finding]] = []
    if at_large:
        others = any(rule.needs_others for rule in at_large)
        texts = any(rule.needs_texts for rule in at_large)
        history = log.history(worker, fresh=fresh, others=others, texts=texts)
        findings += collect_findings(at_large, history, judgments=total)
    if len(at_large) < len(applying) and (known := log.control_history(worker, fresh=fresh)).fresh:
        on_controls = [
            rule
            for rule in applying
            if rule.controls_only and rule.is_due(total=known.total, fresh=known.fresh)
        ]
        findings += collect_findings(on_controls, known, judgments=total)
    return findings


def collect_findings(
    rules: Iterable[Rule], history: History, *, judgments: int
) -> list[tuple[Rule, Finding]]:
    examined = ((rule, rule.examine(history)) for rule in rules)
    return [
        (rule, replace(finding, judgments=judgments)) for rule, finding in examined if finding is not None
    ]


def replay(
    pages: Iterable[SubmittedPage], *, rules: Sequence[Rule], answers: AnswerFormat
) -> dict[int, dict[str, Finding]]:
    """Return the first finding of each detector by worker."""
    log = JudgmentLog(answers)
    findings: dict[int, dict[str, Finding]] = {}
    for page in pages:
        log.add(page)
        open_rules = [rule for rule in rules if rule.name not in findings.get(page.worker, {})]
        for rule, finding in examine_latest_page(log, page.worker, rules=open_rules):
            findings.setdefault(page.worker, {})[rule.name] = finding
    return findings


ROWS_AT_ONCE = 2_000

# an integer key of the HIT is read faster than the assignment's UUID
VALUE_COLUMNS = ("assignment__hit_id", "unit_id", "value", "presented", "seconds")
OPEN_COLUMNS = (*VALUE_COLUMNS, "signals")
WRITTEN_COLUMNS = (*OPEN_COLUMNS, "answer", "assignment__hit__key", "assignment__worker__name", "pk")
# Defaults for a designer who names no rules: each acts only when it is sure, and a person decides the rest.
RECOMMENDED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("too-fast", "pause", {}),
    ("straight-lining", "pause", {}),
    ("side-bias", "pause", {}),
    ("alternation", "pause", {}),
    ("disagreement", "flag", {"of_crowd": 0.5}),
    ("pasted-text", "flag", {}),
    ("typing", "flag", {}),
    ("phrasing", "flag", {}),
    ("canary", "flag", {}),
    ("control-accuracy", "exclude", {}),
    ("repeat-consistency", "flag", {}),
)


def answer_format_of(study: Study) -> AnswerFormat:
    kind = kind_of(study)
    # read the stored JSON, as in _with_design_settings
    writing = study.design.get("writing", {})
    return AnswerFormat.from_values(
        kind.outcomes,
        level=kind.aggregation.level,
        sided=kind.two_sided,
        written=kind.writes_captions,
        recorded=bool(writing.get("record")),
        hidden_line=bool(writing.get("hidden_line")),
    )


def finished_judgments(study: Study) -> QuerySet[Judgment]:
    finished = Assignment.objects.filter(study=study).finished()
    return Judgment.objects.filter(assignment__in=finished, replaced_by__isnull=True)


@dataclass(slots=True)
class _JudgmentReader:
    """Turn rows of ``columns`` into records; ``seed`` is set if pages have a hidden line."""

    kind: Kind
    numbers: dict[int, int]
    seed: int | None = None

    @classmethod
    def of(cls, study: Study) -> _JudgmentReader:
        hidden = study.design.get("writing", {}).get("hidden_line")
        return cls(KINDS[study.protocol], {}, study.design["seed"] if hidden else None)

    def read(self, row: tuple[Any, ...]) -> OwnJudgment:
        """Build a record from ``columns``; ignore later columns."""
        assignment, unit, value, presented, seconds = row[:5]
        seen = left = pasted = NAN
        written = None
        if value is None:
            pasted = float(is_pasted(row[5]))
            written = self._read_text(row) if self.kind.writes_captions else None
        else:
            value = self.kind.outcome_of(value)
            seen = self.kind.sides.from_canonical(value, side=presented == Judgment.Presented.SECOND_LEFT)
            left = float(seen == 1) if presented and seen in (1, 2) else NAN
        return OwnJudgment(
            self.numbers.setdefault(assignment, len(self.numbers)),
            unit,
            seen,
            NAN if value is None else value,
            left,
            NAN if seconds is None else seconds,
            pasted=pasted,
            written=written,
        )

    def _read_text(self, row: tuple[Any, ...]) -> WrittenAnswer:
        signals, text, hit, worker, at = row[5:10]
        word = "" if self.seed is None else hidden_word(seed=self.seed, hit=hit or "", worker=worker)
        return WrittenAnswer(text, signals, word, at)

    @property
    def columns(self) -> tuple[str, ...]:
        if self.kind.writes_captions:
            return WRITTEN_COLUMNS
        return OPEN_COLUMNS if self.kind.is_open else VALUE_COLUMNS


def count_submitted_pages(study: Study, worker: int) -> int:
    return Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False).count()


def count_judgments(study: Study, worker: int) -> int:
    finished = Assignment.objects.filter(study=study, worker=worker, submitted_at__isnull=False)
    return Judgment.objects.filter(assignment__in=finished, replaces__isnull=True).count()


def history_of(
    study: Study, worker: int, *, total: int, pages: int, others: bool, texts: bool = False
) -> History:
    """Return the worker's latest judgments and, if ``others``, those of others on the same units.

    ``texts`` adds others' answers to any unit. ``total`` counts the worker's judgments in the study; those of the
    latest ``pages`` are new to the detectors.
    """
    reader = _JudgmentReader.of(study)
    current = Judgment.objects.filter(assignment__state__in=FINISHED_STATES, replaced_by__isnull=True)
    of_worker = current.filter(assignment__study=study, assignment__worker=worker)
    judgments = [
        reader.read(row) for row in reversed(of_worker.order_by("-pk").values_list(*reader.columns)[:WINDOW])
    ]
    last = len(reader.numbers) - pages
    fresh = sum(judgment.assignment >= last for judgment in judgments)
    answers_of_others: defaultdict[int, list[OthersJudgment]] = defaultdict(list)
    if others:
        theirs = current.filter(unit__in=[judgment.unit for judgment in judgments]).exclude(
            assignment__worker=worker
        )
        for unit, value, seconds in theirs.values_list("unit_id", "value", "seconds"):
            answers_of_others[unit].append(
                OthersJudgment(
                    NAN if value is None else reader.kind.outcome_of(value),
                    NAN if seconds is None else seconds,
                )
            )
    latest: list[OthersText] = []
    if texts:
        theirs = current.filter(assignment__study=study).exclude(assignment__worker=worker).order_by("-pk")
        rows = theirs.values_list("assignment__worker_id", "unit_id", "answer", "pk")[:MOST_OTHERS_TEXTS]
        latest = [OthersText(who, unit, str(text), at) for who, unit, text, at in rows]
    return make_history(
        judgments,
        answers_of_others,
        answers=answer_format_of(study),
        total=total,
        fresh=fresh,
        others_texts=latest,
    )


def control_history_of(study: Study, worker: Worker, *, pages: int) -> History:
    """Return the worker's answers on control items; those of the latest ``pages`` are new."""
    finished = Assignment.objects.filter(worker=worker, study=study, submitted_at__isnull=False)
    latest = set(finished.order_by("-submitted_at", "-pk").values_list("pk", flat=True)[:pages])
    answers = control_answers(study, workers=[worker.pk])
    kind = kind_of(study)
    judgments = [_control_judgment(answer, kind, number) for number, answer in enumerate(answers)]
    fresh = sum(answer.assignment in latest for answer in answers)
    return make_history(judgments, {}, answers=answer_format_of(study), total=len(judgments), fresh=fresh)


def _control_judgment(answer: ControlAnswer, kind: Kind, number: int) -> OwnJudgment:
    right = float(kind.is_right(answer.answer, answer.expected))
    repeated = answer.control_kind == Unit.ControlKind.REPEATED
    return OwnJudgment(
        number, answer.unit, NAN, NAN, right=NAN if repeated else right, same=right if repeated else NAN
    )


def pages_of(study: Study) -> Iterator[SubmittedPage]:
    """Yield the finished pages of a study in order of submission."""
    kind = kind_of(study)
    known: dict[tuple[UUID, int], OwnJudgment] = {
        (answer.assignment, answer.unit): _control_judgment(answer, kind, 0)
        for answer in control_answers(study)
    }
    reader = _JudgmentReader.of(study)
    in_order = finished_judgments(study).order_by(
        "assignment__submitted_at", "assignment__worker_id", "assignment_id", "pk"
    )
    rows = in_order.values_list(*reader.columns, "assignment_id", "assignment__worker_id")
    for assignment, group in groupby(rows.iterator(ROWS_AT_ONCE), key=itemgetter(-2)):
        page = list(group)
        yield SubmittedPage(page[0][-1], list(_with_control_results(page, reader, assignment, known)))


def _with_control_results(
    rows: Iterable[tuple[Any, ...]],
    reader: _JudgmentReader,
    assignment: UUID,
    known: dict[tuple[UUID, int], OwnJudgment],
) -> Iterator[OwnJudgment]:
    for row in rows:
        judgment = reader.read(row)
        control = known.get((assignment, judgment.unit))
        yield judgment if control is None else judgment._replace(right=control.right, same=control.same)


def _with_design_settings(study: Study, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    if name != ControlAccuracy.name:
        return dict(settings)
    # read the stored JSON: validating the whole design takes longer than the rest of a look
    controls = study.design.get("controls", {})
    below = {"least": controls.get("after"), "threshold": controls.get("threshold")}
    return {key: value for key, value in below.items() if value is not None} | dict(settings)


def make_study_rule(study: Study, name: str, settings: Mapping[str, Any]) -> Rule:
    try:
        return make_rule(name, _with_design_settings(study, name, settings))
    except ValueError as error:
        raise WrongState(_("Nothing was changed: %(error)s.") % {"error": error}) from None


def check_action(rule: Rule, action: str) -> None:
    """Raise ValueError for an action of a detector that may only flag."""
    if rule.only_flags and action != QualityRule.Action.FLAG:
        raise ValueError(
            _(
                "the action of %(rule)s is %(action)s; expected flag, because what it finds is a sign and no proof"
            )
            % {"rule": rule.name, "action": action}
        )


@transaction.atomic
def copy_rules(*, study: Study) -> int:
    """Copy the design's detectors into rows, if there are none; return the number of new ones."""
    existing = set(QualityRule.objects.filter(study=study).values_list("rule", flat=True))
    new = []
    for number, entry in enumerate(design_of(study).rules, start=1):
        try:
            rule = make_rule(entry.rule, _with_design_settings(study, entry.rule, entry.settings))
            check_action(rule, entry.action)
        except ValueError as error:
            raise DesignError(
                _("rules, table %(number)s: %(error)s.") % {"number": number, "error": error}, field="rules"
            ) from None
        if entry.rule in existing:
            continue
        existing.add(entry.rule)
        new.append(
            QualityRule(
                study=study, rule=entry.rule, settings=entry.settings, action=entry.action, enabled=True
            )
        )
    QualityRule.objects.bulk_create(new)
    return len(new)


def recommend_rules(*, study: Study) -> int:
    """Enable the recommended detectors that fit, in a study without any. Return their number."""
    if QualityRule.objects.filter(study=study).exists():
        return 0
    answers = answer_format_of(study)
    rows = QualityRule.objects.bulk_create(
        QualityRule(study=study, rule=name, settings=settings, action=action, enabled=True)
        for name, action, settings in RECOMMENDED
        if RULES[name].applies_to(answers)
    )
    return len(rows)


@transaction.atomic
def set_rule(
    *,
    study: Study,
    rule: str,
    settings: Mapping[str, Any],
    action: str,
    enabled: bool,
    by: User | None = None,
) -> QualityRule:
    detector = make_study_rule(study, rule, settings)
    try:
        check_action(detector, action)
    except ValueError as error:
        raise WrongState(_("Nothing was changed: %(error)s.") % {"error": error}) from None
    row, _made = QualityRule.objects.update_or_create(
        study=study,
        rule=rule,
        defaults={
            "settings": dict(settings),
            "action": action,
            "enabled": enabled,
            "changed_by": by,
            "changed_at": timezone.now(),
        },
    )
    note_event(
        study=study,
        what="rule-changed",
        sentence=f"The detector {rule} is {f'on; it will {action}' if enabled else 'off'}.",
        by=by,
        rule=rule,
        action=action,
        enabled=enabled,
        settings=dict(settings),
    )
    return row


@dataclass(frozen=True, slots=True)
class FoundWorker:
    """A worker whom a detector would have flagged after ``answers`` answers.

    An exclusion would invalidate ``judgments`` and reopen ``slots`` now.
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
    """The findings of one detector.

    ``applies`` is False if it does not fit the kind, or if no answer has the data it needs (``unrecorded``).
    """

    rule: str
    settings: Mapping[str, Any]
    applies: bool
    unrecorded: bool
    workers: int
    judgments: int
    slots: int
    found: tuple[FoundWorker, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def replay_rule(*, study: Study, rule: str, settings: Mapping[str, Any]) -> Replay:
    return replay_rules(study=study, rules=[(rule, settings)])[0]


def replay_rules(*, study: Study, rules: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Replay]:
    """Replay the finished work in order of submission with each detector, without excluded workers."""
    detectors = [make_study_rule(study, name, settings) for name, settings in rules]
    if Worker.objects.filter(assignments__study=study, anonymous=True).exists():
        raise WrongState(
            _(
                "The raters of study %(slug)r are anonymous places in published totals, not "
                "persons; detectors look at persons only."
            )
            % {"slug": study.slug}
        )
    answers = answer_format_of(study)
    pages = list(pages_of(study))
    findings = replay(pages, rules=detectors, answers=answers)
    people = _StudyWorkers.of(study)
    readable = {
        rule.name: any(rule.can_examine(judgment) for page in pages for judgment in page.judgments)
        for rule in detectors
    }
    return [
        _build_replay(
            rule,
            findings,
            people,
            applies=rule.applies_to(answers) and (readable[rule.name] or not pages),
            unrecorded=rule.only_flags and answers.written and not readable[rule.name],
        )
        for rule in detectors
    ]


@dataclass(frozen=True, slots=True)
class _StudyWorkers:
    names: Mapping[int, tuple[str, bool]]
    judgments: Mapping[int, int]
    slots: Mapping[int, int]
    standing: Mapping[int, str]

    @classmethod
    def of(cls, study: Study) -> _StudyWorkers:
        live = Assignment.objects.filter(study=study, state__in=LIVE_STATES)
        workers = Worker.objects.filter(assignments__study=study).distinct()
        return cls(
            names={
                pk: (name, source == Worker.Source.REHEARSAL)
                for pk, name, source in workers.values_list("pk", "name", "source")
            },
            judgments=Counter(finished_judgments(study).values_list("assignment__worker_id", flat=True)),
            slots=Counter(live.filter(hit__isnull=False).values_list("worker_id", flat=True)),
            standing=dict(Participation.objects.filter(study=study).values_list("worker_id", "standing")),
        )


def _build_replay(
    rule: Rule,
    findings_by_worker: Mapping[int, Mapping[str, Finding]],
    people: _StudyWorkers,
    *,
    applies: bool,
    unrecorded: bool,
) -> Replay:
    hits = []
    for worker, findings in findings_by_worker.items():
        if rule.name not in findings:
            continue
        finding = findings[rule.name]
        name, simulated = people.names[worker]
        hits.append(
            FoundWorker(
                worker=name,
                answers=finding.judgments,
                words=finding.sentence,
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
        unrecorded=unrecorded,
        workers=len(people.names),
        judgments=sum(hit.judgments for hit in hits),
        slots=sum(hit.slots for hit in hits),
        found=tuple(sorted(hits, key=lambda hit: hit.worker)),
    )


def rules_to_replay(study: Study, names: Sequence[str] = ()) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the named detectors, default all, with the study's or the recommended settings."""
    unknown = [name for name in names if name not in RULES]
    if unknown:
        raise WrongState(
            _("There is no rule %(unknown)r; expected some of %(rules)s.")
            % {"unknown": unknown[0], "rules": ", ".join(RULES)}
        )
    settings: dict[str, Mapping[str, Any]] = {name: chosen for name, _, chosen in RECOMMENDED}
    settings |= dict(QualityRule.objects.filter(study=study).values_list("rule", "settings"))
    return [(name, settings.get(name, {})) for name in names or RULES]
