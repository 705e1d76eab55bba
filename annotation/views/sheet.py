"""A page of work as a response."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation.examples import worked_examples
from annotation.frames import frame_of, outer_address
from annotation.models import Assignment
from annotation.pictures import picture_url
from annotation.presentation import Place
from annotation.script_words import script_words
from annotation.services.leases import lease_of
from annotation.services.revisions import changeable_until, current_answers
from annotation.wording import worded
from annotation.words import spell_left
from annotation.worksheet import Step, sheet_of, shows_pictures
from judgments.design import StudyDesign
from judgments.draws import content_key
from judgments.kinds import KINDS
from judgments.markup import render_markdown
from judgments.services.studies import design_of


def sheet_context(design: StudyDesign, steps: list[Step]) -> dict[str, Any]:
    """What every page of work has, a preview too."""
    kind = KINDS[design.protocol].of(design)
    return {
        "design": design,
        "kind": kind,
        "single": bool(kind.choices) and not kind.grouped,
        "steps": steps,
        "has_pictures": shows_pictures(design, steps),
        "missing_steps": [step for step in steps if step.missing],
        "now": next((step.number for step in steps if not step.answered), len(steps)),
        "instructions": render_markdown(worded(design.instructions)) if design.instructions else "",
        "words": script_words(pictures=kind.grouped and design.about_pictures),
    }


def render_sheet(
    request: HttpRequest,
    assignment: Assignment,
    places: list[Place],
    *,
    missing: Collection[int] = (),
    unfinished: Mapping[int, Any] | None = None,
    last: Assignment | None = None,
    revising: bool = False,
    status: int = 200,
) -> HttpResponse:
    """The page of ``assignment``.

    Args:
        missing: positions that a submission left out.
        unfinished: what a form held instead of answers when ``revising``.
        last: the page of work before it, where it can still be changed.
        revising: it is submitted, and its answers are to be changed.
    """
    study = assignment.study
    design = design_of(study)
    answers: Mapping[str, Any] = current_answers(assignment, places) if revising else assignment.answers
    if unfinished:
        answers = {**answers, **{str(at): {"unfinished": given} for at, given in unfinished.items()}}
    steps = sheet_of(
        places,
        design=design,
        picture_url=lambda place: picture_url(place=place, assignment=assignment),
        answers=answers,
        missing=missing,
    )
    end = changeable_until(assignment) if revising else assignment.expires_at
    left = (end - timezone.now()).total_seconds() if end else 0.0
    context = sheet_context(design, steps) | {
        "study": study,
        "examples": worked_examples(study, design),
        "assignment": assignment,
        # the same for whoever takes the same work up again, so that nothing a browser kept is lost
        "shelf": content_key("shelf", study.slug, assignment.hit_id, assignment.worker_id)[:16],
        "left": max(0, int(left)),
        "left_words": spell_left(left),
        # in a frame the crowd's clock is the lease
        "more": 0 if revising or frame_of(request) is not None else lease_of(assignment).more,
        "last": last,
        "credits": outer_address(request, "annotation:credits", study.slug),
        "revising": revising,
    }
    return render(request, "annotation/work.html", context, status=status)
