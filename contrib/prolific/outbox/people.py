"""Send messages to people at Prolific, and maintain the groups of people who may or may not take part."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.crowds.base import CrowdProblem, CrowdRefusal, UnknownOutcome
from annotation.crowds.people import ids_not_passed_on, installation_id
from annotation.models import CrowdCall
from common.features import feature_settings
from common.rows.batches import batched
from contrib.prolific.client import ProlificClient
from contrib.prolific.outbox.subjects import panel_study_id, person_of_call, store_facts
from judgments.design.study_design import StudyDesign

MEMBERS_PER_CALL = 500


def send_message(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Send a person a message, at most once, since it is impossible to find out later whether it was sent."""
    if "sending" in call.answer:
        raise UnknownOutcome(
            "The message was about to be sent when the answer was lost. Look at the conversation at Prolific, then say "
            "here whether it was sent."
        )
    person = person_of_call(call)
    text = "\n\n".join(str(part) for part in (call.payload.get("subject"), call.payload.get("text")) if part)
    if not text:
        raise CrowdRefusal("The message is empty.")
    store_facts(call, sending=timezone.now().isoformat())
    try:
        client.send_message(participant=person, study=panel_study_id(call), text=text)
    except CrowdProblem as problem:
        if problem.had_no_effect:
            store_facts(call, sending=None)
        raise
    return {"sent": True}


def blocked_group_name() -> str:
    """Return the name of the group whose members do not see any of this installation's studies."""
    return f"quorum-blocked-{installation_id()}"


def change_group(client: ProlificClient, call: CrowdCall, *, name: str, add: bool) -> dict[str, Any]:
    """Add a person to the groups of this name, or remove them. Repeating changes nothing.

    If the group is missing, it is created before somebody is added.
    """
    person, workspace = person_of_call(call), _workspace()
    if not name:
        raise CrowdRefusal(f"The call {call.key} names no group.")
    groups = [group for group in client.groups(workspace) if group.name == name]
    if add and not groups:
        groups = [client.create_group(workspace, name=name)]
    # after a lost response there may be two groups of one name, and a study may use either of them
    for group in groups:
        if add:
            client.add_to_group(group.id, [person])
        else:
            client.remove_from_group(group.id, [person])
    return {"groups": [group.id for group in groups]}


def _workspace() -> str:
    workspace = str(feature_settings.PROLIFIC_WORKSPACE)
    if not workspace:
        raise CrowdRefusal("Groups belong to a workspace: set PROLIFIC_WORKSPACE, then try again.")
    return workspace


def participant_groups_of(
    client: ProlificClient, design: StudyDesign, *, platform: str
) -> tuple[list[str], list[list[str]]]:
    """Return the groups whose members are excluded and, for each required qualification, the groups of its name.

    People who got a qualification before any of their studies was open are added to its groups. A missing group of
    excluded people is created, since people may be added to it while the study runs.
    """
    workers, workspace = design.workers, str(feature_settings.PROLIFIC_WORKSPACE)
    if not workspace:
        if workers.requires or workers.forbids:
            raise CrowdRefusal(
                "Nothing was made at Prolific: qualifications are groups of a workspace there; set PROLIFIC_WORKSPACE."
            )
        return [], []
    by_name: dict[str, list[str]] = {}
    for group in client.groups(workspace):
        by_name.setdefault(group.name, []).append(group.id)
    for name in (blocked_group_name(), *workers.forbids, *workers.requires):
        people = ids_not_passed_on(platform, name)
        if name in workers.requires and name not in by_name and not people:
            raise CrowdRefusal(
                f"Nothing was made at Prolific: workers.requires names {name!r}, and the workspace has no such group, "
                "so that nobody could take part; give the qualification to somebody first."
            )
        if name not in by_name:
            by_name[name] = [client.create_group(workspace, name=name).id]
        for people_of_call in batched(people, MEMBERS_PER_CALL):
            for group_id in by_name[name]:
                client.add_to_group(group_id, people_of_call)
    blocked_groups = [
        group_id for name in (blocked_group_name(), *workers.forbids) for group_id in by_name[name]
    ]
    return blocked_groups, [by_name[name] for name in workers.requires]
