"""Describe the settings of a design as text for its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.utils.html import format_html
from django.utils.translation import gettext

from common.markup import render_inline, render_markdown
from judgments.design.editing.form.fields import is_money
from judgments.design.editing.form.labels import describe_value, label_of
from judgments.design.editing.form.sections import sections_for
from judgments.design.editing.form.values import value_at
from judgments.design.reading.presets import PRESETS
from judgments.design.study_design import StudyDesign
from judgments.design.tables.plan import RegistrationPlan
from judgments.kinds import KINDS
from judgments.templatetags.judgments_tags import cents


class SectionSettings(NamedTuple):
    """A section's title, the labels and values of its set keys, and the labels of its unset keys."""

    title: str
    rows: list[tuple[str, str]]
    unset_labels: list[str]


# by key, the function that renders its text as participants see it; of a template, its source
TEXT_RENDERERS: dict[str, Callable[[str], str]] = {
    "question": render_inline,
    "instructions": render_markdown,
    "consent": render_markdown,
    "template.html": lambda source: format_html("<pre>{}</pre>", source),
}


def describe_design(design: StudyDesign) -> list[SectionSettings]:
    """Return the settings of a design by section of its form. The registered plan comes last."""
    values = design.model_dump(mode="json")
    sections = []
    for section in sections_for(KINDS[design.protocol], values):
        if section.crowd not in ("", design.crowd.backend):
            continue
        rows: list[tuple[str, str]] = []
        unset_labels: list[str] = []
        for key, schema in section.fields.items():
            label, value = label_of(key, schema, values), value_at(values, key)
            zero_is_value = key in ("seed", "scale.low") or is_money(key)
            if value is None or (not value and not zero_is_value):
                unset_labels.append(label)
            else:
                rows.append((label, _render_value(key, value, design)))
        sections.append(SectionSettings(gettext(section.title), rows, unset_labels))
    if design.registration is not None:
        plan = _describe_plan(design.registration)
        rows = [(label, value) for label, value in plan if value]
        unset_labels = [label for label, value in plan if not value]
        sections.append(SectionSettings(gettext("Plan"), rows, unset_labels))
    return sections


def _render_value(key: str, value: Any, design: StudyDesign) -> str:
    """Return a value as text or, if participants see it on a page, as HTML. Built-in texts are marked as English."""
    if key in TEXT_RENDERERS:
        kind, preset = KINDS[design.protocol], PRESETS.get(design.preset)
        # the kind's default question, in its wording for the type of judged text
        usual_question = kind.question_for(
            {"judged": design.judged, "question": kind.defaults.get("question")}
        )
        is_built_in = value in (usual_question, preset and preset.values.get(key))
        markup = '<div class="q-words" lang="{}" dir="auto">{}</div>'
        return format_html(markup, "en" if is_built_in else "", TEXT_RENDERERS[key](value))
    return cents(value, design.currency) if is_money(key) else describe_value(key, value)


def _describe_plan(plan: RegistrationPlan) -> list[tuple[str, str]]:
    hypotheses = [
        f"{hypothesis.text} ({hypothesis.claim})" if hypothesis.claim else hypothesis.text
        for hypothesis in plan.hypotheses
    ]
    return [
        (gettext("Hypotheses"), "\n".join(hypotheses)),
        (gettext("Exclusions"), plan.exclusions),
        (gettext("Detectors that are allowed to exclude"), ", ".join(plan.exclude_by)),
        (gettext("Stopping"), plan.stopping),
        (gettext("Analyses"), "\n".join(plan.analyses)),
        (gettext("Metrics"), ", ".join(plan.metrics) or gettext("any")),
        (gettext("Level"), f"{plan.level:g}"),
    ]
