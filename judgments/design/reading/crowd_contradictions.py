"""Find settings of a design that contradict its crowd."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from django.utils.translation import gettext, pgettext

from judgments.design.crowds import crowd_labels, disabled_feature_of, installed_crowds
from judgments.design.study_design import StudyDesign
from judgments.design.tables.controls import Writing
from judgments.kinds import Kind


def contradictions_of_html_question(design: StudyDesign, kind: Kind) -> Iterator[str]:
    if design.writing != Writing():
        yield gettext(
            "“writing” is set, but a page stored at Mechanical Turk (crowd.question = 'html') cannot "
            "record how answers are written and cannot have a hidden line; expected 'external', or "
            "no table “writing”"
        )
    if not kind.page.self_contained:
        yield (
            gettext(
                "crowd.question is 'html', but %(name)s cannot be used on a page stored at Mechanical Turk; "
                "expected 'external'"
            )
            % {"name": kind.name}
        )


def contradictions_of_crowd(design: StudyDesign) -> Iterator[str]:
    name = design.crowd_name
    if feature := disabled_feature_of(name):
        yield pgettext(
            "staff",
            "%(key)s needs the crowd %(name)r, but this crowd is off; turn on %(feature)s in CONTRIB_APPS",
        ) % {"key": "panel.api" if design.panel.api else "crowd.backend", "name": name, "feature": feature}
    elif design.crowd.backend not in crowd_labels():
        yield gettext("crowd.backend is %(name)r; expected one of %(listed)s") % {
            "name": design.crowd.backend,
            "listed": ", ".join(crowd_labels()),
        }


def contradictions_of_panel(design: StudyDesign) -> Iterator[str]:
    for crowd in installed_crowds().values():
        if crowd.name == design.crowd_name:
            continue
        for key in crowd.keys:
            # a contradiction of "panel.api" is reported below
            if key != "panel.api" and attrgetter(key)(design):
                yield gettext("%(key)s can be set only for %(crowd)s (%(named_by)s)") % {
                    "key": key,
                    "crowd": gettext(crowd.label),
                    "named_by": crowd.study_file_line,
                }
    session_pay = design.crowd.reward_cents * design.panel.hits
    if design.panel.api and design.crowd.screen_out_cents >= max(1, session_pay):  # 0 is always valid
        yield (
            gettext(
                "crowd.screen_out_cents is %(screen_out_cents)s; expected less than the pay of a "
                "session, which is %(what)s"
            )
            % {"screen_out_cents": design.crowd.screen_out_cents, "what": session_pay}
        )
    panels_with_api = [name for name, crowd in installed_crowds().items() if crowd.panel]
    if design.panel.api and (
        design.crowd.backend != "external" or design.panel.preset not in panels_with_api
    ):
        yield gettext(
            'panel.api is true, but this works only with crowd.backend = "external" and panel.preset '
            "= %(presets)s"
        ) % {"presets": " or ".join(f'"{name}"' for name in panels_with_api) or "none"}
