"""Check the quiz and the study's requirements before a worker joins or takes work.

A worker declares their country; approval counts come from this installation. Rehearsal workers are not checked.
"""

from __future__ import annotations

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.errors import CountryProblem, QuizFailed, QuizNotPassed, RequirementNotMet
from annotation.models import Assignment, Worker
from annotation.quiz.quizzes import has_passed, standing_of
from judgments.countries import COUNTRIES, country_name
from judgments.design.requirements import Workers, approval_is_enough
from judgments.design.study_design import StudyDesign
from judgments.models import Study

# a returned or expired assignment does not count
COUNTED = ("reserved", "accepted", "submitted", "approved", "rejected", "invalidated")


def refuse_unfit(*, asked: Workers, worker: Worker | None, country: str = "") -> None:
    """Check a worker against a study's requirements.

    Args:
        worker: None for a new worker.
        country: the country declared just now, if the worker declared none before.

    Raises:
        RequirementNotMet: with the requirement in words.
    """
    if asked.countries:
        code = (worker.country if worker is not None else "") or country
        if not code:
            raise RequirementNotMet(_("Please say in which country you live; this study asks for it."))
        if code not in asked.countries:
            raise RequirementNotMet(
                _("This study is for people who live in other countries than %(country)s.")
                % {"country": country_name(code)}
            )
    if not asked.approval_above and not asked.approved_at_least:
        return
    approved, rejected = _record_of(worker) if worker is not None else (0, 0)
    if approved < asked.approved_at_least:
        raise RequirementNotMet(
            _(
                "This study is for people with at least %(wanted)s approved pages of work here; you have %(approved)s."
            )
            % {"wanted": asked.approved_at_least, "approved": approved}
        )
    if asked.approval_above and not approval_is_enough(approved, rejected, asked.approval_above):
        raise RequirementNotMet(
            _("This study is for people of whose work here more than %(share)s %% was approved.")
            % {"share": f"{asked.approval_above * 100:g}"}
        )


def _record_of(worker: Worker) -> tuple[int, int]:
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=Q(state=Assignment.State.APPROVED)),
        rejected=Count("pk", filter=Q(state=Assignment.State.REJECTED)),
    )
    return counts["approved"], counts["rejected"]


def refuse_unqualified(*, study: Study, design: StudyDesign, worker: Worker) -> None:
    """Check the quiz and the requirements. Make no query if the study has none."""
    if not worker.is_person:
        return
    refuse_unfit(asked=design.workers, worker=worker)
    if has_passed(study=study, design=design, worker=worker):
        return
    standing = standing_of(study=study, worker=worker)
    if standing.running is None and not standing.attempts_left:
        raise QuizFailed(study.slug)
    raise QuizNotPassed(study.slug)


def has_done_all(*, study: Study, design: StudyDesign, worker: Worker) -> bool:
    limit = design.workers.hits_at_most
    if not limit or not worker.is_person:
        return False
    return Assignment.objects.filter(study=study, worker=worker, state__in=COUNTED).count() >= limit


def checked_country(code: str) -> str:
    """Return a country as two letters, or '' for none."""
    code = code.strip().upper()
    if code and code not in COUNTRIES:
        raise CountryProblem(
            _("%(code)r is no country; expected two letters of ISO 3166-1, such as US.") % {"code": code}
        )
    return code
