"""Pausing, resuming, extending, re-opening and expiring: what the board's buttons do, for programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resources import StudyStep
from annotation.crowds.delivery import carry_out_calls
from annotation.work.extending import (
    expire_assignments,
    expire_slots,
    extend_leases,
    extend_study,
    reopen_units,
)
from annotation.work.pausing import pause_study, resume_study
from judgments.access.permissions import staff_of, study_for
from judgments.access.roles import Right
from judgments.api.bodies import body_of, member
from judgments.models import Study

LONGEST_REASON = 500


class Reason(serializers.Serializer[Any]):
    """Why; it stands in the study's log."""

    why = serializers.CharField(max_length=LONGEST_REASON)


class ExtendRequest(Reason):
    """More workers for all HITs or for those named, or more minutes for everybody who holds one."""

    workers = serializers.IntegerField(min_value=1, max_value=100, required=False)
    hits = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Keys; all HITs where missing."
    )
    minutes = serializers.IntegerField(min_value=1, required=False, help_text="Instead of workers.")


class ReopenRequest(Reason):
    """More votes for units."""

    units = serializers.ListField(
        child=serializers.CharField(), min_length=1, help_text="Keys of judged units."
    )
    votes = serializers.IntegerField(min_value=1, max_value=100)


class ExpireRequest(Reason):
    """Assignments that are held, or open slots of HITs; all leases that are over where neither is named."""

    assignments = serializers.ListField(child=serializers.UUIDField(), required=False)
    hits = serializers.ListField(child=serializers.CharField(), required=False, help_text="Keys.")


def _texts(body: dict[str, Any], name: str) -> list[str] | None:
    found: list[str] | None = member(body, name, list, None)
    if found is not None and not all(isinstance(one, str) for one in found):
        raise ValidationError({name: ["must be a list of texts."]})
    return found


def _ids(body: dict[str, Any]) -> list[UUID] | None:
    found = _texts(body, "assignments")
    try:
        return None if found is None else [UUID(one) for one in found]
    except ValueError:
        raise ValidationError({"assignments": ["must be a list of ids."]}) from None


class Running(StudyStep, ABC):
    """A step of a study that is open: ``do`` says what; the crowd is asked afterwards."""

    @abstractmethod
    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """The step itself."""

    def step(self, request: Request, slug: str) -> Response:
        """Do it, and carry out what it asks of the crowd."""
        body = body_of(request)
        study = study_for(request, slug, Right.CHANGE)
        why = member(body, "why", str)
        if len(why) > LONGEST_REASON:
            raise ValidationError({"why": [f"must have at most {LONGEST_REASON} characters."]})
        self.do(request, study, body, why)
        carry_out_calls(study=study)
        return self.reply(study)


class PauseView(Running):
    """POST /api/studies/{slug}/pause/"""

    @extend_schema(
        request=Reason,
        responses=StudyStep.answers,
        operation_id="studies_pause",
        summary="Hand out nothing new",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Who holds a HIT goes on; twice is harmless."""
        return self.step(request, slug)

    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """Pause."""
        pause_study(study=study, why=why, by=staff_of(request))


class ResumeView(Running):
    """POST /api/studies/{slug}/resume/"""

    @extend_schema(
        request=Reason,
        responses=StudyStep.answers,
        operation_id="studies_resume",
        summary="Hand out work again",
    )
    def post(self, request: Request, slug: str) -> Response:
        """What pausing took down at the crowd is offered again; twice is harmless."""
        return self.step(request, slug)

    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """Resume."""
        resume_study(study=study, why=why, by=staff_of(request))


class ExtendStudyView(Running):
    """POST /api/studies/{slug}/extend/"""

    @extend_schema(
        request=ExtendRequest,
        responses=StudyStep.answers,
        operation_id="studies_extend",
        summary="More workers, or more time",
    )
    def post(self, request: Request, slug: str) -> Response:
        """All or nothing: where the budget does not reach, nothing is changed."""
        return self.step(request, slug)

    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """More workers, or more minutes."""
        minutes = member(body, "minutes", int, None)
        if minutes is not None:
            extend_leases(study=study, minutes=minutes, why=why, by=staff_of(request))
            return
        workers = member(body, "workers", int)
        extend_study(study=study, workers=workers, hits=_texts(body, "hits"), why=why, by=staff_of(request))


class ReopenView(Running):
    """POST /api/studies/{slug}/reopen/"""

    @extend_schema(
        request=ReopenRequest,
        responses=StudyStep.answers,
        operation_id="studies_reopen",
        summary="More votes for units",
    )
    def post(self, request: Request, slug: str) -> Response:
        """The HITs that hold the units go to more workers."""
        return self.step(request, slug)

    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """More votes."""
        votes = member(body, "votes", int)
        reopen_units(
            study=study, units=_texts(body, "units") or [], votes=votes, why=why, by=staff_of(request)
        )


class ExpireView(Running):
    """POST /api/studies/{slug}/expire/"""

    @extend_schema(
        request=ExpireRequest, responses=StudyStep.answers, operation_id="studies_expire", summary="Take back"
    )
    def post(self, request: Request, slug: str) -> Response:
        """What was saved on a HIT that is taken back is kept."""
        return self.step(request, slug)

    def do(self, request: Request, study: Study, body: dict[str, Any], why: str) -> None:
        """Slots, or leases."""
        hits = _texts(body, "hits")
        if hits is not None:
            expire_slots(study=study, hits=hits, why=why, by=staff_of(request))
            return
        expire_assignments(study=study, assignments=_ids(body), why=why, by=staff_of(request))
