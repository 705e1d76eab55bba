"""Create studies at Prolific, publish them, add places, and close them, so that repeated calls do nothing twice.

The API has no idempotency key for the creation of a study. Therefore, a draft has Quorum's token as its internal name,
by which it is searched for before one is created. The draft's id is stored before the draft is published, and places
are added by setting their total number.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db.models import Count, Max

from annotation.crowds.base import CrowdPublication, CrowdRefusal, OutOfFunds
from annotation.crowds.panel.links import entry_path
from annotation.crowds.panel.sessions import completion_code_for
from annotation.models import CrowdCall, Publication, at_crowd
from common.features import feature_settings
from common.markup import plain_text
from contrib.prolific.client import SCREEN_OUT, ProlificClient
from contrib.prolific.outbox.filters import requirement_filters
from contrib.prolific.outbox.people import prepare_participant_groups
from contrib.prolific.outbox.subjects import store_facts
from contrib.prolific.records import PanelStudy, StudyAction, StudyState, SubmissionState, valid_id
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

# The reasons for which people are asked to return their place, by the outcome of their session.
UNPAID_CODES = {
    "screened-out": "You do not fulfil what this study asks of its participants.",
    "timed-out": "The time for this study was over before it was finished.",
    "returned": "You gave the study back.",
    "full": "Nothing was left to do when you came.",
}
# The states of the submissions of people who are at work.
WORKING_STATES = {SubmissionState.RESERVED, SubmissionState.ACTIVE, SubmissionState.PROCESSING}
# The states of studies that were published, even if they are closed to new people again.
OPEN_STATES = {
    StudyState.PUBLISHING,
    StudyState.ACTIVE,
    StudyState.PAUSED,
    StudyState.AWAITING_REVIEW,
    StudyState.COMPLETED,
}


def refuse_beyond_reservation(
    client: ProlificClient, *, reward_cents: int, places: int, reserved_cents: int
) -> None:
    """Raise CrowdRefusal if Prolific's price of places, with fee and tax, exceeds the reserved amount."""
    cost_cents = client.fetch_cost_cents(reward_cents=reward_cents, places=places)
    if cost_cents > reserved_cents:
        raise CrowdRefusal(
            f"Nothing was bought: Prolific asks {cost_cents} cents for {places} places at {reward_cents} cents, and "
            f"{reserved_cents} is reserved; set PROLIFIC_FEE_PERCENT to this account's fee with its tax."
        )


def refuse_other_currency(client: ProlificClient, design: StudyDesign) -> None:
    """Raise CrowdRefusal if the workspace pays in another currency than the study's."""
    if not feature_settings.PROLIFIC_WORKSPACE:
        return
    workspace_currency = client.fetch_currency(feature_settings.PROLIFIC_WORKSPACE)
    if workspace_currency and workspace_currency != design.currency:
        raise CrowdRefusal(
            f"Nothing was bought: the workspace at Prolific pays in {workspace_currency}, and the study's amounts are "
            f"in {design.currency}; set crowd.currency to {workspace_currency!r}."
        )


def publish(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Publish the study at Prolific that has the publication's token. If there is none, create it as a draft first.

    Return its id as ``external_id``.
    """
    publication = call.current_publication()
    studies = client.find_studies(publication.token, project=feature_settings.PROLIFIC_PROJECT)
    open_studies = [study for study in studies if study.state in OPEN_STATES]
    if open_studies:
        return {"external_id": open_studies[0].id}
    draft_id = call.answer.get("draft") or (studies[0].id if studies else "")
    if not draft_id:
        screen_outs_cents = publication.screen_outs * publication.screen_out_cents
        refuse_beyond_reservation(
            client,
            reward_cents=publication.reward_cents,
            places=publication.places,
            reserved_cents=call.reserved_cents - screen_outs_cents,
        )
        design = design_of(publication.study)
        if publication.screen_outs:
            _refuse_screen_outs_beyond_reservation(client, publication, design, count=publication.screen_outs)
        refuse_other_currency(client, design)
        draft_id = client.create_study(study_payload(client, publication)).id
    store_facts(call, draft=draft_id)  # if a lost response led to two drafts, only this one is ever published
    try:
        client.transition_study(draft_id, StudyAction.PUBLISH)
    except (CrowdRefusal, OutOfFunds):
        if client.get_study(draft_id).state not in OPEN_STATES:  # an earlier attempt may have published it
            raise
    return {"external_id": draft_id}


def _refuse_screen_outs_beyond_reservation(
    client: ProlificClient, publication: Publication, design: StudyDesign, *, count: int
) -> None:
    refuse_beyond_reservation(
        client,
        reward_cents=design.crowd.screen_out_cents,
        places=count,
        reserved_cents=count * publication.screen_out_cents,  # with the fee, unlike the design's
    )


def study_payload(client: ProlificClient, publication: Publication) -> dict[str, object]:
    """Return a new study as JSON for the API. Its reward is per submission, without Prolific's fee."""
    study = publication.study
    design = design_of(study)
    sizes = HIT.objects.filter(study=study).annotate(unit_count=Count("units"))
    max_unit_count = sizes.aggregate(n=Max("unit_count"))["n"] or 1
    minutes = max(1, math.ceil(max_unit_count * design.panel.hits * design.seconds_per_unit / 60))
    # The least maximum_allowed_time, by Prolific's formula (docs.prolific.com).
    min_allowed_minutes = math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))
    description = design.crowd.description or plain_text(design.question) or design.name
    filters = _study_filters(client, publication, design)
    project = feature_settings.PROLIFIC_PROJECT
    return {
        "name": design.crowd.title or design.name,
        "internal_name": publication.token,
        "description": f"<p>{html.escape(description)}</p>",
        "external_study_url": settings.PUBLIC_URL + entry_path(study, design),
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(study, design, screen_outs=publication.screen_outs),
        "total_available_places": publication.places,
        "estimated_completion_time": minutes,
        "maximum_allowed_time": max(min_allowed_minutes, design.crowd.lease_minutes * design.panel.hits),
        "reward": publication.reward_cents,
        "device_compatibility": list(design.workers.devices),
        "peripheral_requirements": [],
        "submissions_config": {"max_submissions_per_participant": 1},
        "filters": filters,
        **({"project": valid_id(project, "project")} if project else {}),
    }


def _study_filters(
    client: ProlificClient, publication: Publication, design: StudyDesign
) -> list[dict[str, object]]:
    """Return the filters of a new study, by which Prolific decides who sees it.

    These are people in a group of each required qualification, except those in a blocked group or in a study that was
    published at Prolific for this study before. Missing groups are created, and people are added to them.
    """
    publications = at_crowd(Publication, publication.study).exclude(external_id="").order_by("pk")
    groups = prepare_participant_groups(client, design, platform=publication.platform)
    earlier_study_ids = list(publications.values_list("external_id", flat=True))
    filters = [
        *_id_filters("participant_group_blocklist", groups.blocked_ids, "participant group"),
        *_id_filters("previous_studies_blocklist", earlier_study_ids, "study"),
    ]
    for group_ids in groups.required_ids:
        filters += _id_filters("participant_group_allowlist", group_ids, "participant group")
    filters += requirement_filters(client, design.workers, workspace=feature_settings.PROLIFIC_WORKSPACE)
    return filters


def _id_filters(filter_id: str, ids: Collection[str], noun: str) -> list[dict[str, object]]:
    """Return a list with the filter by ids, or [] if there are no ids. ``noun`` says what they identify."""
    selected_ids = [valid_id(identifier, noun) for identifier in ids]
    return [{"filter_id": filter_id, "selected_values": selected_ids}] if selected_ids else []


def completion_codes(study: Study, design: StudyDesign, *, screen_outs: int = 0) -> list[dict[str, object]]:
    """Return the completion code of each outcome of a session, with the action that it causes at Prolific.

    Finished work waits for Quorum's decision. Up to ``screen_outs`` people who are screened out get the pay of the
    design. Other codes ask people to return their place, which is then free again, and pay nothing.
    """
    actions: dict[str, dict[str, object]] = {"completed": {"action": "MANUALLY_REVIEW"}}
    for outcome, reason in UNPAID_CODES.items():
        actions[outcome] = {"action": "REQUEST_RETURN", "return_reason": reason}
    if screen_outs:
        reward = design.crowd.screen_out_cents
        actions["screened-out"] = {
            "action": SCREEN_OUT, "fixed_screen_out_reward": reward, "slots": screen_outs,
        }  # fmt: skip
    return [
        {
            "code": completion_code_for(study, design, outcome),
            "code_type": outcome.replace("-", "_").upper(),
            "actions": [action],
        }
        for outcome, action in actions.items()
    ]


def extend_panel_study(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Add places to a study and resume it if it is paused. A repeated call adds no more places.

    The payload has the numbers of new places and screen-outs, and of those that are opened again: their money was
    released before and is reserved again, and Prolific counts them already.
    """
    publication = call.current_publication()
    new_places, reopened_places = int(call.payload.get("places", 0)), int(call.payload.get("reopened", 0))
    total_places = publication.places + new_places
    screen_outs = int(call.payload.get("screen_outs", 0))
    reopened_screen_outs = int(call.payload.get("screen_outs_again", 0))
    panel_study = client.get_study(publication.external_id)
    if not new_places and panel_study.state is StudyState.COMPLETED:
        raise CrowdRefusal(
            f"Study {panel_study.id} is stopped at Prolific, where a stopped one opens again with more places only: "
            "add one."
        )
    if screen_outs:
        design = design_of(publication.study)
        _refuse_screen_outs_beyond_reservation(client, publication, design, count=screen_outs)
        code = completion_code_for(publication.study, design, "screened-out")
        client.set_screen_outs(
            publication.external_id, code=code, count=publication.screen_outs + screen_outs
        )
    if panel_study.places < total_places:
        screen_outs_cents = (screen_outs + reopened_screen_outs) * publication.screen_out_cents
        refuse_beyond_reservation(
            client,
            reward_cents=publication.reward_cents,
            places=new_places + reopened_places,
            reserved_cents=call.reserved_cents - screen_outs_cents,
        )
        client.increase_places(publication.external_id, total_places)
        panel_study = client.get_study(publication.external_id)
    if panel_study.state is StudyState.PAUSED:
        client.transition_study(publication.external_id, StudyAction.START)
    return {"places": total_places}


def expire_panel_study(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Close the study to new people.

    The study is paused, so that people at work can finish. Once nobody is at work, it is stopped, so that its open
    places are refunded. If the pause is temporary, the study is not stopped, since a stopped study can only be opened
    again with more places.
    """
    publication = call.current_publication()
    panel_study = client.get_study(publication.external_id)
    if panel_study.state is StudyState.ACTIVE:
        client.transition_study(publication.external_id, StudyAction.PAUSE)
        panel_study = client.get_study(publication.external_id)
    is_pause = bool(call.payload.get("pause"))
    if panel_study.state is StudyState.PAUSED and not is_pause:
        submissions = client.list_submissions(publication.external_id)
        if not any(submission.state in WORKING_STATES for submission in submissions):
            client.transition_study(publication.external_id, StudyAction.STOP)
            panel_study = client.get_study(publication.external_id)
    return {"status": panel_study.state.value}


def read_publication(client: ProlificClient, study: PanelStudy, token: str) -> CrowdPublication:
    """Return a study at Prolific as a publication, with the number of its submissions in each state."""
    states = [submission.state for submission in client.list_submissions(study.id)]
    is_closed = study.state in {StudyState.PAUSED, StudyState.AWAITING_REVIEW, StudyState.COMPLETED}
    return CrowdPublication(
        external_id=study.id,
        token=token,
        is_over=is_closed and not any(state in WORKING_STATES for state in states),
        places=study.places,
        reward_cents=study.reward_cents,
        facts={"status": study.state.value, **Counter(state.value for state in states)},
    )
