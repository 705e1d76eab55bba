"""The template context of a study's page "Panel"."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.panel.backend import panel_title
from annotation.crowds.panel.links import PanelIds, entry_path, link_signing_key
from annotation.crowds.panel.payouts import last_bonus_list, unlisted_bonuses, unpaid_pages
from annotation.crowds.panel.sessions import completion_code_for, return_address_for
from annotation.models import CrowdSession, Publication, RawId
from judgments.design.panel_links import session_parameter
from judgments.design.panels import OUTCOMES, PANEL_PRESETS
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of

# words for when a session has each outcome
OUTCOME_CONDITIONS = {
    "completed": gettext_noop("all pages of work of the session are submitted"),
    "screened-out": gettext_noop("a requirement, the quiz or a detector screened the participant out"),
    "timed-out": gettext_noop("the participant was away too long, and the place went to somebody else"),
    "returned": gettext_noop("the participant returned the session, or did not consent"),
    "full": gettext_noop("no place was left"),
}


def panel_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    design = design_of(study)
    link = site_address(request) + entry_path(study, design)
    # sessions that ended early, each with the submitted pages that are not paid yet
    early_endings = unpaid_pages(study) if study.platform else []
    return {
        "design": design,
        "panel_title": panel_title(design),
        "link": link,
        "outcomes": [_describe_outcome(study, design, outcome) for outcome in OUTCOMES],
        "pay_cents": design.crowd.reward_cents * design.panel.hits,
        "published_place_count": _count_places(study),
        "unpaid_session_count": len(early_endings),
        "unpaid_session_cents": sum(ending.cents for ending in early_endings),
        "bonus_list_numbers": range(1, last_bonus_list(study) + 1),
        "unlisted_bonus_count": unlisted_bonuses(study).count(),
        "raw_id_count": RawId.objects.filter(worker__crowd_sessions__study=study).distinct().count(),
        "undecided_count": CrowdSession.objects.filter(study=study, status="submitted").count(),
        "needs_address": _needs_address(design),
        "link_key": link_signing_key(study) if design.panel.signature else "",
        "signs_sessions": bool(session_parameter(design.panel)),  # a link's signature covers the session, too
    }


def site_address(request: HttpRequest) -> str:
    """Return the public address of this server, without a slash at the end."""
    return settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")


def _count_places(study: Study) -> int:
    publications = Publication.objects.filter(study=study, hit=None, state=Publication.State.PUBLISHED)
    return publications.aggregate(n=Sum("places"))["n"] or 0


def _describe_outcome(study: Study, design: StudyDesign, outcome: str) -> dict[str, str]:
    code = completion_code_for(study, design, outcome)
    placeholder_ids = PanelIds(worker="WORKER", session="SESSION")
    return {
        "name": outcome,
        "condition": _(OUTCOME_CONDITIONS[outcome]),
        "code": "" if design.panel.personal_codes else code,
        "return_address": return_address_for(design, outcome, code=code, ids=placeholder_ids),
    }


def _needs_address(design: StudyDesign) -> bool:
    """Return whether the design lacks the address to which people return after completion.

    Connect and SONA have an address for each study, which only their own pages show.
    """
    if design.panel.preset not in ("connect", "sona"):
        return False
    has_address = PANEL_PRESETS[design.panel.preset].addresses or design.panel.addresses.get("completed")
    return not has_address
