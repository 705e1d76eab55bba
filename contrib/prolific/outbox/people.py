"""Send messages to people at Prolific, and maintain the groups of people who may or may not take part.

A qualification is a participant group with its name in the workspace. People whom this installation blocks are the
members of another group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils import timezone

from annotation.crowds.base import CrowdProblem, CrowdRefusal, UnknownOutcome
from annotation.crowds.people import installation_id
from annotation.crowds.raw_ids import ids_with_unsent_qualification
from annotation.models import CrowdCall
from common.features import feature_settings
from common.rows.batches import batched
from contrib.prolific.client import ProlificClient
from contrib.prolific.outbox.subjects import panel_study_id, person_of_call, store_facts
from judgments.design.study_design import StudyDesign

MEMBERS_PER_CALL = 500  # number of people who are added to a group by one call


def send_message(client: ProlificClient, call: CrowdCall) -> dict[str, Any]:
    """Send a person a message at most once.

    If the response is lost, it is impossible to find out whether the message was sent, so it is not sent again.
    """
    if "sending" in call.answer:
        raise UnknownOutcome(
            "The message was about to be sent when the answer was lost. Look at the conversation at Prolific, then say "
            "here whether it was sent."
        )
    person = person_of_call(call)
    text = "\n\n".join(str(part) for part in (call.payload.get("subject"), call.payload.get("text")) if part)
    if not text:
        raise CrowdRefusal("The message is empty.")
    store_facts(call, sending=timezone.now().isoformat())  # in ``call.answer``, for the next attempt
    try:
        client.send_message(participant=person, study=panel_study_id(call), text=text)
    except CrowdProblem as problem:
        if problem.had_no_effect:
            store_facts(call, sending=None)  # None deletes the fact
        raise
    return {"sent": True}


def blocked_group_name() -> str:
    """Return the name of the group whose members do not see any of this installation's studies."""
    return f"quorum-blocked-{installation_id()}"


def change_group(client: ProlificClient, call: CrowdCall, *, name: str, add: bool) -> dict[str, Any]:
    """Add a person to the groups with this name, or remove the person from them. A repeated call changes nothing.

    If there is no such group, it is created before the person is added.
    """
    person, workspace = person_of_call(call), _workspace()
    if not name:  # The call is about a qualification, and does not name it.
        raise CrowdRefusal(f"The call {call.key} names no group.")
    groups = [group for group in client.list_groups(workspace) if group.name == name]
    if add and not groups:
        groups = [client.create_group(workspace, name=name)]
    # After a lost response, there may be two groups with the same name, and a study may use either of them.
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


class StudyGroups(NamedTuple):
    """The groups that decide who sees a study, by their ids at Prolific.

    Attributes:
        blocked_ids: the groups whose members do not see it.
        required_ids: for each required qualification, the groups of its name. People must be in one of them.
    """

    blocked_ids: list[str]
    required_ids: list[list[str]]


def prepare_participant_groups(client: ProlificClient, design: StudyDesign, *, platform: str) -> StudyGroups:
    """Create the groups that a study needs, and add people to them. Return the groups.

    People who got a qualification when it could not be passed on to Prolific yet are added to its groups. A group of
    excluded people is created even if it is empty, since people may be added to it while the study is open. Without a
    workspace, there are no groups.

    Raises:
        CrowdRefusal: the design names qualifications, but no workspace is set; or nobody has a required qualification.
    """
    workers, workspace = design.workers, str(feature_settings.PROLIFIC_WORKSPACE)
    if not workspace:
        if workers.requires or workers.forbids:
            raise CrowdRefusal(
                "Nothing was made at Prolific: qualifications are groups of a workspace there; set PROLIFIC_WORKSPACE."
            )
        return StudyGroups([], [])
    # After a lost response, there may be two groups with the same name.
    ids_by_name: dict[str, list[str]] = {}
    for group in client.list_groups(workspace):
        ids_by_name.setdefault(group.name, []).append(group.id)
    for name in (blocked_group_name(), *workers.forbids, *workers.requires):
        new_people = ids_with_unsent_qualification(platform, name)
        if name in workers.requires and name not in ids_by_name and not new_people:
            raise CrowdRefusal(
                f"Nothing was made at Prolific: workers.requires names {name!r}, and the workspace has no such group, "
                "so that nobody could take part; give the qualification to somebody first."
            )
        if name not in ids_by_name:
            ids_by_name[name] = [client.create_group(workspace, name=name).id]
        for people_of_call in batched(new_people, MEMBERS_PER_CALL):
            for group_id in ids_by_name[name]:
                client.add_to_group(group_id, people_of_call)
    blocked_names = (blocked_group_name(), *workers.forbids)
    return StudyGroups(
        blocked_ids=[group_id for name in blocked_names for group_id in ids_by_name[name]],
        required_ids=[ids_by_name[name] for name in workers.requires],
    )
