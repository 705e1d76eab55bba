"""Format numbers, describe jobs and their results, and show the forms of operations."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from rest_framework import serializers

from common import amounts
from common.texts import readable
from judgments.importers.textio import QUIRKS
from judgments.models import Job, Study

JOB_TITLES = {
    "compile": "Compiling metrics and statistics, once",
    "understand_upload": "Look at an upload",
    "import_dataset": "Import of a dataset",
    "import_candidates": "Import of candidates",
    "import_rankings": "Import of rankings",
    "import_scores": "Import of scores",
    "import_predictions": "Import of predicted distributions",
    "import_template": "Import of a HIT template",
    "import_judgments": "Import of judgments",
    "scale_pictures": "Scaling of pictures",
    "generate_hits": "Generating pages of work",
    "rehearse": "Rehearsal",
    "sync_crowd": "Comparison with the crowd",
    "aggregate": "Consensus and agreement",
    "evaluate": "Metrics against the consensus",
    "export": "Export",
    "plan_power": "Plan of pairs and votes",
    "ask_judge": "Asking a model",
    "compare_judges": "Judges beside people",
    "board": "Figures of the dashboard",
    "figures": "Figures of a study's pages",
    "verify_release": "Check of a release",
    "compare_metrics": "Comparison of two metrics",
    "compare_releases": "Comparison of releases",
    "select_items": "Choice of items",
    "weigh_back": "Answers weighed back",
    "choice_savings": "What choosing items saves",
    "read_panel_list": "Look at a panel's list",
    "submit_captions": "Submission to a challenge",
    "finish_erasure": "Removing files that name an erased person",
    "end_retention": "Removing who participants are",
}

RESULT_LABELS = {
    "hits": "pages of work filled",
    "returned": "pages of work given back",
    "hours": "simulated hours of work",
    "recovered": "items whose known truth was recovered",
    "undecided": "items that ended in a tie",
    "controls_careful": "check questions that careful participants got right",
    "controls_spammers": "check questions that spammers got right",
}

SHARES = {"recovered", "undecided", "controls_careful", "controls_spammers"}

QUEUE_TITLES = {
    "interactive": "short work",
    "reading": "reading of files",
    "crowd": "work with the crowd",
    "heavy": "long work",
}

CAPTIONS_OF = "captions of "  # and the name of a system

ENDS = ("low", "high")

FOR_MACHINES = {"what", "analysis", "created"}


def describe_work(job: Job) -> str:
    return gettext(JOB_TITLES.get(job.kind, job.kind.replace("_", " ").capitalize()))


def describe_line(job: Job, position: int | None = None) -> str:
    queue = gettext(QUEUE_TITLES.get(job.queue, job.queue))
    return f"{queue}, {describe_queue_position(position)}" if position else queue


def describe_queue_position(position: int) -> str:
    return gettext("number %(place)s in line") % {"place": amounts.thousands(position)}


def describe_result(job: Job) -> list[tuple[str, str]]:
    if not isinstance(job.result, dict):
        return []
    rows = {**job.result, **(job.result.get("counts") or {})}
    values = [
        (_label(name), _describe_value(name, value))
        for name, value in rows.items()
        if name not in FOR_MACHINES and value not in (None, "") and not isinstance(value, dict | list)
    ]
    if job.result.get("created") is False:
        values.append((gettext("changed"), gettext("nothing: the same was there already")))
    return values


def _label(name: str) -> str:
    if name.startswith(CAPTIONS_OF):
        return gettext("captions of %(system)s") % {"system": name.removeprefix(CAPTIONS_OF)}
    return gettext(RESULT_LABELS.get(name, name.replace("_", " ")))


def _describe_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if name in SHARES:
        return amounts.percent(value)
    if isinstance(value, float):
        return amounts.thousands(round(value, 2))
    return amounts.thousands(value) if isinstance(value, int) and name != "seed" else str(value)


def describe_note(note: str) -> str:
    """Translate a note of an import, which is stored in English and may begin with the name of a system."""
    for quirk in QUIRKS.values():
        pattern = (
            re.escape(quirk).replace(r"\{n\}", r"(?P<n>[\d,]+)").replace(r"\{detail\}", "(?P<detail>.*)")
        )
        if match := re.fullmatch(f"(?P<system>.*: )?{pattern}", note, re.DOTALL):
            parts = match.groupdict(default="")
            number = parts.get("n", "").replace(",", "")
            return parts["system"] + gettext(quirk).format(
                n=amounts.thousands(int(number)) if number else "", detail=parts.get("detail", "")
            )
    return gettext(note)


register = template.Library()


def _is_number(value: Any) -> bool:
    """Templates pass '' for missing values."""
    return isinstance(value, int | float) and math.isfinite(value)


@register.filter
def file_size(size: int) -> str:
    """Format as 1.2 MB, with a point as all numbers on staff's pages."""
    return str(filesizeformat(size)).replace(",", ".")


@register.filter
def thousands(value: Any) -> str:
    """Format as 12,345, or a dash."""
    whole = isinstance(value, float) and value.is_integer()  # as JSON may hand a count back
    return amounts.thousands(int(value) if whole else value) if _is_number(value) else "–"


@register.filter
def coefficient(value: Any, digits: int = 2) -> str:
    """Format as .62, -.05, 1.00, or a dash."""
    return amounts.coefficient(value, digits) if _is_number(value) else "–"


@register.filter
def p_value(value: Any, equals: str = "") -> str:
    """Format as .047, behind `equals`, as < .001, or as a dash."""
    if not _is_number(value):
        return "–"
    return "< .001" if value < 0.0005 else equals + f"{value:.3f}".removeprefix("0")


@register.filter
def is_markup(value: Any) -> bool:
    return isinstance(value, SafeString)


@register.filter
def cents(value: Any, currency: str = "") -> str:
    """Format cents as 12.30 USD, or a dash."""
    if not isinstance(value, int):
        return "–"
    amount = f"{'-' if value < 0 else ''}{amounts.thousands(abs(value) // 100)}.{abs(value) % 100:02d}"
    return f"{amount}\N{NO-BREAK SPACE}{currency}" if currency else amount


@register.filter
def percent(value: Any, unit: str = "%") -> str:
    """Format a share as 62 %, without `unit` as 62, or as a dash."""
    return amounts.percent(value)[: None if unit else -2] if _is_number(value) else "–"


@register.filter
def interval(figure: Any, shows: Any = 2) -> str:
    """Format the ends of a mapping's or an object's interval as [.58, .66], as "percent", or as a dash."""
    get = figure.get if isinstance(figure, Mapping) else lambda end: getattr(figure, end, None)
    low, high = (percent(get(end)) if shows == "percent" else coefficient(get(end), shows) for end in ENDS)
    return "–" if "–" in (low, high) else f"[{low}, {high}]"


@register.filter
def hours(value: float) -> str:
    """Format a duration: "about 3 h 10 min"."""
    minutes = value * 60
    if minutes < 1:
        return gettext("under a minute")
    if minutes < 60:
        return gettext("about %(n)s min") % {"n": f"{minutes:.0f}"}
    whole, rest = divmod(round(minutes / 5) * 5, 60)
    if whole >= 20 or not rest:
        return gettext("about %(n)s h") % {"n": amounts.thousands(round(value))}
    return gettext("about %(hours)s h %(minutes)s min") % {"hours": whole, "minutes": rest}


register.filter("describe_note", describe_note)
register.filter("readable", readable)

register.filter("describe_work", describe_work)

# The control of each type of field; the first that fits, "text" for all others.
INPUTS: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], str], ...] = (
    (serializers.BooleanField, "checkbox"),
    (serializers.IntegerField, "number"),
    (serializers.FloatField, "decimal"),
    (serializers.ChoiceField, "select"),
)


@register.inclusion_tag("judgments/parts/step_form.html", takes_context=True)
def step_form(
    context: RequestContext,
    name: str,
    title: str,
    help: str = "",
    button: str = "",
    opened: bool = False,
    reason: bool = False,
    **begin: Any,
) -> dict[str, Any]:
    """Return the form of a step, folded until it is opened or was refused.

    Args:
        button: a class of the button.
        reason: whether the form itself shows why it was refused.
        begin: initial values other than ``initial``; a page's context may have them in ``begin``, by step.
    """
    step = context["steps"][name]
    refusal = context.get("refusal")
    sent = refusal.sent if refusal is not None and refusal.step == name else None
    fields = step.form.parameters().fields
    begin = (context.get("begin") or {}).get(name, {}) | begin
    return {
        "study": context["study"],
        "page": context["active_page"],
        "csrf_token": context["csrf_token"],
        "step": step,
        "title": title,
        "help": help,
        "button": button,
        "opened": opened or sent is not None,
        "currency": context.get("currency", ""),
        "reason": refusal.sentence if reason and refusal is not None and refusal.step == name else "",
        "hidden": {name: begin[name] for name in step.form.hidden},
        "inputs": [
            _input(
                context["study"],
                fields[name],
                begin | (sent or {}),
                sent is None,
                required=fields[name].required or name in step.form.needed,
            )
            for name in step.form.fields
        ],
    }


def _input(
    study: Study,
    field: serializers.Field[Any, Any, Any, Any],
    begin: Mapping[str, Any],
    fresh: bool,
    *,
    required: bool,
) -> dict[str, Any]:
    name = str(field.style.get("name", field.field_name))
    initial = field.get_initial() if fresh else ""
    value = begin.get(name, initial)
    multiline = field.style.get("base_template") == "textarea.html"
    kind = next((kind for known, kind in INPUTS if isinstance(field, known)), "text")
    declared = field.style.get("choices", ())
    kind = field.style.get("kind", "ticks" if declared else kind)
    if kind == "ticks" and isinstance(value, str):
        value = value.split(",")
    choices = declared(study) if callable(declared) else declared or getattr(field, "choices", {}).items()
    return {
        "field": field,
        "name": name,
        "label": gettext(str(field.label)),
        "help": gettext(str(field.help_text or "")),
        "kind": "textarea" if multiline else kind,
        "choices": [(value, gettext(str(label))) for value, label in choices],
        "required": required,
        "value": "" if value in (None, []) else value,
    }
