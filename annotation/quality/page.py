"""The pages "Detectors", "Replay", "Work" and "Check questions" of a study."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Avg, Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from rest_framework import serializers

from annotation.models import Assignment, Case, CrowdCall, Judgment, QualityRule, StudyAlarm
from annotation.quality.controls import (
    ControlItemTest,
    ControlTally,
    check_control_items,
    control_answers,
    control_tallies,
)
from annotation.quality.detectors import RULES, describe_evidence
from annotation.quality.operations import (
    RuleSettingsRequest,
    answer_appeal,
    approve,
    approve_unopposed,
    reject,
    set_rule,
    settings_from_query,
    strike,
)
from annotation.quality.reviews import reasons_against
from annotation.quality.rules import (
    RECOMMENDED,
    FoundWorker,
    Replay,
    answer_format_of,
    finished_judgments,
    make_study_rule,
    replay_rule,
)
from annotation.snapshots import has_many_assignments
from common.errors import QuorumError, WrongState, sentence_of
from judgments.admin.base import picture_address
from judgments.cached_figures import Figures, add_figures, cached_figures, required_figures
from judgments.design.editing.rows import DETECTORS
from judgments.drawing.controls import REPEATED
from judgments.kinds import Kind
from judgments.models import Item, Study, Unit
from judgments.studies.studies import design_of, kind_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyStep,
    add_operation,
    add_step,
    page_address,
    read_posted_parameters,
    study_page,
)

MOST_TO_REPLAY = 50_000  # judgments; more are replayed by the command only
SETTING_LABELS = {
    "least": gettext_noop("Looks from so many answers"),
    "alpha": gettext_noop("False alarms at most (alpha)"),
    "control-accuracy least": gettext_noop("Looks from so many check questions"),
    "control-accuracy threshold": gettext_noop("Least share right"),
    "disagreement of_crowd": gettext_noop("Share of the others' agreement"),
    "canary words": gettext_noop("Answers with the word"),
    "pasted-text share": gettext_noop("Share pasted"),
    "phrasing copies": gettext_noop("Answers like others'"),
    "phrasing length": gettext_noop("Characters of an answer that counts"),
    "phrasing share": gettext_noop("Share of answers like others'"),
    "phrasing similar": gettext_noop("Alike from this similarity (0.5 to 1)"),
    "typing keys": gettext_noop("Keys of an answer that counts"),
    "typing per_second": gettext_noop("Too fast above (characters a second)"),
    "typing share": gettext_noop("Share of answers typed so"),
    "typing spread": gettext_noop("Too even below (spread over median)"),
    "repeat-consistency least": gettext_noop("Looks from so many repeats"),
    "repeat-consistency threshold": gettext_noop("Least share answered alike"),
    "side-bias tolerance": gettext_noop("Habit that is let pass (share beyond half)"),
    "straight-lining tolerance": gettext_noop("Tolerance towards long runs (0 to 1)"),
    "too-fast of_crowd": gettext_noop("Share of the others' time"),
    "too-fast seconds": gettext_noop("Too fast below (seconds)"),
    "too-fast share": gettext_noop("Share of answers so fast"),
}
ON_A_PAGE = 50
STATE_LABELS = {
    "submitted": gettext_noop("waiting"),
    "approved": gettext_noop("approved"),
    "rejected": gettext_noop("rejected"),
    "invalidated": gettext_noop("invalidated"),
    "apart": gettext_noop("kept apart"),
}

ACTIONS = {
    QualityRule.Action.FLAG.value: gettext_noop("flag for review"),
    QualityRule.Action.PAUSE.value: gettext_noop("pause the participant until somebody looked"),
    QualityRule.Action.EXCLUDE.value: gettext_noop("exclude the participant"),
}


@study_page("rules", "Detectors", order=46, group=Group.LIVE, before=Group.DESIGN)
def show_rules(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    unopened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    rows = {row.rule: row for row in QualityRule.objects.filter(study=study).select_related("changed_by")}
    chosen = {name: (action, settings) for name, action, settings in RECOMMENDED}
    waiting = (
        {entry.rule: entry for entry in design_of(study).rules if entry.rule not in rows} if unopened else {}
    )
    chosen |= {name: (entry.action, entry.settings) for name, entry in waiting.items()}
    of_rules = Case.objects.filter(study=study).order_by().values_list("rule")
    cases: dict[str, int] = dict(of_rules.annotate(flags=Count("pk")))
    answers = answer_format_of(study)
    rules = []
    for name, kind in RULES.items():
        row = rows.get(name)
        action, settings = (row.action, row.settings) if row else chosen[name]
        rules.append(
            {
                "name": name,
                "title": _(kind.title),
                "about": _(kind.description),
                "measured": _(kind.false_alarms) if kind.false_alarms else "",
                "only_flags": kind.only_flags,
                "applies": kind.applies_to(answers),
                "unrecorded": answers.written and not kind.applies_to(answers) and kind.only_flags,
                "row": row,
                "waits": name in waiting,
                "action": action,
                "settings": _setting_fields(study, name, settings),
                "cases": cases.get(name, 0),
            }
        )
    context |= {
        "rules": rules,
        "actions": [(value, _(label)) for value, label in ACTIONS.items()],
        "watching": sum(row.enabled for row in rows.values()),
        "waiting": len(waiting),
    }
    return TemplateResponse(request, "admin/annotation/study_rules.html", context)


def _setting_fields(study: Study, name: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        rule = make_study_rule(study, name, settings)
    except WrongState:  # a row of another version: the form starts from the rule's own settings
        rule = make_study_rule(study, name, {})
    return [
        {
            "name": key,
            "label": setting_label(name, key),
            "value": f"{value:g}",
            "whole": isinstance(value, int),
        }
        for key, value in rule.model_dump().items()
    ]


def setting_label(rule: str, setting: str) -> str:
    return _(SETTING_LABELS.get(f"{rule} {setting}") or SETTING_LABELS.get(setting, setting))


@study_page("replay", order=0, under="rules")
def show_replay(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show whom a detector would have flagged in finished work, with the settings of the query."""
    name = request.GET.get("rule", "")
    # count at most the bound, with revised ones: excluding these would make the database look at all rows
    answers = Judgment.objects.filter(assignment__study=study, assignment__submitted_at__isnull=False)
    count = answers.order_by()[: MOST_TO_REPLAY + 1].count()
    if count <= MOST_TO_REPLAY:
        count = finished_judgments(study).count()
    context |= {"subtitle": _("Replay"), "rule_name": name, "count": count, "most": MOST_TO_REPLAY}
    try:
        if count <= MOST_TO_REPLAY:
            settings = settings_from_query(study, name, request.GET.dict())
            result = replay_rule(study=study, rule=name, settings=settings)
            context["replay"] = result
            context["found"] = [(worker, _evidence_of(result, worker)) for worker in result.found]
            context["rule_title"] = _(RULES[name].title)
    except QuorumError as error:
        context["problem"] = str(error)
    except serializers.ValidationError as error:
        context["problem"] = sentence_of(error.detail)
    return TemplateResponse(request, "admin/annotation/study_replay.html", context)


def _evidence_of(replay: Replay, worker: FoundWorker) -> str:
    return describe_evidence(
        replay.rule, {"words": worker.words, "numbers": worker.numbers, "settings": replay.settings}
    )


def _try_rule(request: HttpRequest, study: Study) -> HttpResponse:
    values = read_posted_parameters(request, RuleSettingsRequest)
    query = urlencode({"rule": request.POST.get("rule", ""), **values.get("settings", {})})
    return redirect(f"{page_address(study, 'replay')}?{query}")


DETECTORS.update({name: rule.title for name, rule in RULES.items()})
add_operation(set_rule, name="save-rule", label="Change a detector", fields=())
add_step(StudyStep(name="try-rule", label="Try a detector", run=_try_rule, permission="view"))


CONTROL_TALLIES = add_figures(
    Figures(
        "answers on check questions",
        control_tallies,
        rows=lambda counts: sum(count.n for count in counts),
        from_json=lambda rows: [ControlTally(*row) for row in rows],
        many=has_many_assignments,
    )
)


@study_page("work", "Work", order=43, group=Group.LIVE)
def show_work(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    work = Assignment.objects.filter(study=study, state__in=STATE_LABELS, submitted_at__isnull=False)
    counts = dict.fromkeys(STATE_LABELS, 0) | dict(
        work.order_by().values_list("state").annotate(n=Count("pk"))
    )
    chosen = request.GET.get("state", "submitted" if counts["submitted"] else "")
    if chosen in STATE_LABELS:
        work = work.filter(state=chosen)
    else:
        chosen = ""
    # paginate row ids only: for a late page, the database would read the whole rows of all pages before it
    pages = Paginator(work.order_by("submitted_at", "pk").values_list("pk", flat=True), ON_A_PAGE)
    pages.count = counts[chosen] if chosen else sum(counts.values())
    page = pages.get_page(request.GET.get("page"))
    rows = Assignment.objects.filter(pk__in=page.object_list).select_related("worker", "hit", "exclusion")
    work_shown = list(rows.prefetch_related("appeal_notes__by").order_by("submitted_at", "pk"))
    # a query of its own: joined to the sorted rows, the database would read the judgments of all work
    answers = {
        pk: (count, seconds)
        for pk, count, seconds in Assignment.objects.filter(
            pk__in=[assignment.pk for assignment in work_shown]
        )
        .order_by()
        .values_list("pk", Count("judgments"), Avg("judgments__seconds"))
    }
    counted = cached_figures(study, CONTROL_TALLIES)
    against = reasons_against(
        study, {assignment.worker_id for assignment in work_shown}, known=counted.value, signs=True
    )
    context |= {
        "counted": counted,
        "page": page,
        "work": [
            {
                "one": assignment,
                "given": answers[assignment.pk][0],
                "seconds": answers[assignment.pk][1],
                "against": against.get(assignment.worker_id, []),
            }
            for assignment in work_shown
        ],
        "asked": CrowdCall.objects.filter(
            study=study, kind__in=["approve", "reject"], state__in=["waiting", "started"]
        ).count()
        if study.platform
        else 0,
        "states": [
            {"name": name, "label": _(label), "count": counts[name]} for name, label in STATE_LABELS.items()
        ],
        "chosen": chosen,
    }
    return TemplateResponse(request, "admin/annotation/study_work.html", context)


add_operation(approve, label="Approve work", fields=())
add_operation(reject, label="Reject work", fields=())
add_operation(answer_appeal, label="Add a note", fields=())
add_operation(approve_unopposed, label="Approve what nothing speaks against", fields=())


LONGEST_CELL = 300  # characters of a row's cell on the page
ITEMS_ON_A_PAGE = 60
KIND_WORDS = {
    "degraded": gettext_noop("degraded"),
    "repeated": gettext_noop("repeated"),
    "known-good": gettext_noop("known-good"),
    "reference": gettext_noop("reference"),
    "quiz": gettext_noop("quiz"),
    "control": gettext_noop("control"),
}


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    seen: int
    right: int


@dataclass(frozen=True, slots=True)
class SuspectRow:
    units: list[Unit]
    shown: dict[str, Any]
    test: ControlItemTest

    @property
    def keys(self) -> str:
        return " ".join(unit.key for unit in self.units)


@dataclass(slots=True)
class ControlGroup:
    image: Item
    picture: str
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def keys(self) -> str:
        return " ".join(item["unit"].key for item in self.items if not item["unit"].withdrawn)


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """The answers to a study's control items.

    Attributes:
        by_unit: unit row id -> answers to that item, in any HIT.
        suspects: items that careful workers miss, the surest first.
    """

    by_unit: dict[int, AnswerCounts]
    by_kind: list[tuple[str, AnswerCounts]]
    suspects: list[SuspectRow]


def _count_answers(figures: ControlFigures) -> int:
    return sum(counts.seen for _, counts in figures.by_kind)


def _as_json(figures: ControlFigures) -> dict[str, Any]:
    return {
        "fared": {unit: [entry.seen, entry.right] for unit, entry in figures.by_unit.items()},
        "by_kind": [[name, entry.seen, entry.right] for name, entry in figures.by_kind],
        "suspects": [[[unit.pk for unit in entry.units], asdict(entry.test)] for entry in figures.suspects],
    }


def from_json(value: dict[str, Any]) -> ControlFigures:
    """Return the figures of ``_as_json`` with the suspects' current rows."""
    texts = ("study", "item", "reference", "first", "second")
    pks = [pk for units, _ in value["suspects"] for pk in units]
    units = Unit.objects.filter(withdrawn=False).select_related(*texts).in_bulk(pks) if pks else {}
    suspects = []
    for suspect_units, test in value["suspects"]:
        current = [units[pk] for pk in suspect_units if pk in units]
        if current:
            kind = kind_of(current[0].study)
            suspects.append(
                SuspectRow(current, describe_control_item(kind, current[0]), ControlItemTest(**test))
            )
    return ControlFigures(
        by_unit={int(unit): AnswerCounts(*counts) for unit, counts in value["fared"].items()},
        by_kind=[(name, AnswerCounts(seen, right)) for name, seen, right in value["by_kind"]],
        suspects=suspects,
    )


def compute_control_figures(study: Study) -> ControlFigures:
    kind = kind_of(study)
    answers = control_answers(study)
    if not answers:
        return ControlFigures({}, [], [])
    names = ("pk", "item_id", "reference_id", "first_id", "second_id", "expected", "control_kind")
    rows = Unit.objects.filter(study=study, control=True, withdrawn=False).values_list(*names)
    item_of = {row[0]: _item_key(kind, row) for row in rows}
    by_kind: dict[str, list[int]] = {}
    by_item: dict[Hashable, list[int]] = {}
    known: list[tuple[Hashable, int, bool]] = []
    for answer in answers:
        right = kind.is_right(answer.answer, answer.expected)
        for counts in (
            by_kind.setdefault(answer.control_kind, [0, 0]),
            by_item.setdefault(item_of[answer.unit], [0, 0]),
        ):
            counts[0] += 1
            counts[1] += right
        if answer.control_kind != REPEATED:  # the right answer of a repeated unit is not known
            known.append((item_of[answer.unit], answer.worker, right))
    tests = check_control_items(known, threshold=design_of(study).controls.threshold)
    return ControlFigures(
        by_unit={unit: AnswerCounts(*by_item[item]) for unit, item in item_of.items() if item in by_item},
        by_kind=[(name or "control", AnswerCounts(*counts)) for name, counts in sorted(by_kind.items())],
        suspects=_suspect_rows(kind, item_of, {item: test for item, test in tests.items() if test.suspect}),
    )


def _item_key(kind: Kind, row: Sequence[Any]) -> Hashable:
    """Return image, texts in any order, and right answer."""
    pk, item, reference, first, second, expected, control_kind = row
    if control_kind == REPEATED:
        return pk
    if kind.two_sided and expected == 2:
        first, second, expected = second, first, 1
    return item, reference, first, second, str(expected)


def _suspect_rows(
    kind: Kind, item_of: dict[int, Hashable], tests: dict[Hashable, ControlItemTest]
) -> list[SuspectRow]:
    pks = [pk for pk, item in item_of.items() if item in tests]
    units: dict[Hashable, list[Unit]] = {}
    texts = ("item", "reference", "first", "second")
    for unit in Unit.objects.filter(pk__in=pks).select_related(*texts).order_by("position"):
        units.setdefault(item_of[unit.pk], []).append(unit)
    suspects = [
        SuspectRow(units[item], describe_control_item(kind, units[item][0]), test)
        for item, test in tests.items()
    ]
    return sorted(suspects, key=lambda test: (test.test.p, test.units[0].position))


def describe_control_item(kind: Kind, unit: Unit) -> dict[str, Any]:
    """Return the texts that workers read, with the right one marked, and the right answer in words."""
    if unit.control_kind == REPEATED:
        return {
            "reference": unit.reference,
            "texts": _texts_of(kind, unit),
            "right_answer": _("as the other time it is shown"),
        }
    if kind.two_sided:
        shown = [(unit.first, unit.expected == 1), (unit.second, unit.expected == 2)]
        return {"reference": unit.reference, "texts": shown, "right_answer": ""}
    return {
        "reference": None,
        "texts": _texts_of(kind, unit),
        "right_answer": _right_answer(kind, unit.expected),
    }


def _texts_of(kind: Kind, unit: Unit) -> list[tuple[Any, bool]]:
    rows = [text for text in (unit.first, unit.second) if text is not None]
    cells = kind.exchange.fields(unit.content).items()
    cell_texts = [{"text": f"{name}: {cell[:LONGEST_CELL]}"} for name, cell in cells if cell.strip()]
    return [(text, False) for text in [*rows, *unit.content.get("options", ()), *cell_texts]]


def _right_answer(kind: Kind, expected: Any) -> str:
    labels = {str(choice.value): choice.text for choice in kind.choices if choice.has_words}
    low, _dash, high = expected.partition("-") if isinstance(expected, str) else (str(expected), "", "")
    if low in labels and (high in labels or not high):
        return _(" or ").join(labels[part] for part in (low, high) if part in labels)
    return kind.describe_expected(expected)


def group_by_image(kind: Kind, units: Iterable[Unit], counts: dict[int, AnswerCounts]) -> list[ControlGroup]:
    groups: list[ControlGroup] = []
    before: Unit | None = None
    for unit in units:
        together = (
            kind.grouped
            and before is not None
            and before.item_id == unit.item_id
            and before.position == unit.position - 1
        )
        if not together:
            groups.append(ControlGroup(image=unit.item, picture=picture_address(unit.item)))
        groups[-1].items.append(
            {"unit": unit, "counts": counts.get(unit.pk), **describe_control_item(kind, unit)}
        )
        before = unit
    return groups


def sum_used_up_alarms(study: Study) -> dict[str, Any]:
    alarms = StudyAlarm.objects.filter(study=study, what=StudyAlarm.What.CONTROLS_USED_UP)
    return alarms.aggregate(workers=Count("pk"), pages=Sum("pages"), missing=Sum("missing"))


FIGURES = add_figures(
    Figures(
        "controls",
        compute_control_figures,
        rows=_count_answers,
        as_json=_as_json,
        from_json=from_json,
        many=has_many_assignments,
    )
)


@study_page(
    "controls",
    "Check questions",
    order=30,
    shown=lambda study: study.state != Study.State.DRAFT and design_of(study).controls.per_hit > 0,
    group=Group.LIVE,
    before=Group.DESIGN,
)
def show_controls(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    units = (
        Unit.objects.filter(study=study, control=True)
        .exclude(control_kind=Unit.ControlKind.QUIZ)
        .select_related("item__dataset", "reference", "first", "second")
        .order_by("position")
    )
    page = Paginator(units, ITEMS_ON_A_PAGE).get_page(request.GET.get("page"))
    counted = cached_figures(study, FIGURES)
    figures = required_figures(counted)
    context |= {
        "counted": counted,
        "page": page,
        "groups": group_by_image(context["kind"], list(page.object_list), figures.by_unit),
        "figures": figures,
        "by_kind": [(_(KIND_WORDS[name]), counts) for name, counts in figures.by_kind],
        "design": design_of(study),
        "pool": study.notes.get("control_pool"),
        "alarm": sum_used_up_alarms(study),
        "may_withdraw": context["may_change"] and study.source == Study.Source.DESIGNED,
    }
    return TemplateResponse(request, "admin/annotation/study_controls.html", context)


add_operation(strike, label="Withdraw check questions", fields=())
