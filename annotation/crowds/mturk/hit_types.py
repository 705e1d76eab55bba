"""The HIT type of a study: its terms, and the qualifications that it requires."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings

from annotation.crowds.base import CrowdRefusal, RetryLater
from annotation.crowds.mturk.client import LIVE, TurkClient, TurkRefusal, format_dollars
from annotation.crowds.mturk.listings import description_of, has_qualification_test, title_of
from annotation.crowds.mturk.requirements import (
    Requirement,
    is_master,
    qualification_requirements,
    require_qualification,
    score_at_least,
)
from annotation.crowds.people import ids_not_passed_on, installation_id
from annotation.work.quiz import quiz_backend
from judgments.design.requirements import Workers
from judgments.design.study_design import StudyDesign
from judgments.models import Study

MAX_DELAY = timedelta(days=30)  # the service's limit for automatic approval
APPROVAL_DELAY = timedelta(days=7)  # the service approves this much later than Quorum

TEST_SECONDS = 3600
RETRY_SECONDS = 3600  # seconds between two attempts at a test

# The id of each HIT type, by platform and by the hash of its properties and of the people sent to the service.
known_hit_types: dict[tuple[str, str], str] = {}
# The id of each of the account's qualifications, by platform and name.
known_qualifications: dict[tuple[str, str], str] = {}


def hit_type_of(client: TurkClient, platform: str, study: Study, design: StudyDesign) -> str:
    crowd = design.crowd
    extra = [is_master(live=platform == LIVE)] if crowd.masters else []
    extra += _own_qualification_requirements(client, design.workers, platform=platform)
    if has_qualification_test(design):
        test = quiz_backend().qualification_test(design, title=title_of(design))
        extra.append(score_at_least(_create_test(client, study, design), test.required_score))
    properties: dict[str, Any] = {
        "Title": title_of(design),
        "Description": description_of(design),
        "Reward": format_dollars(crowd.reward_cents),
        "AssignmentDurationInSeconds": crowd.lease_minutes * 60,
        "AutoApprovalDelayInSeconds": int(auto_approval(design).total_seconds()),
        "QualificationRequirements": qualification_requirements(design.workers, extra=extra),
    }
    if crowd.keywords:
        properties["Keywords"] = crowd.keywords
    names = (*design.workers.requires, *design.workers.forbids)
    people = {name: ids_not_passed_on(platform, name) for name in names}
    key = (f"{platform} {settings.MTURK_ENDPOINT}", json.dumps([properties, people], sort_keys=True))
    if key not in known_hit_types:
        _grant_qualifications(client, people)
        type_id = client.create_hit_type(properties)
        if settings.MTURK_SQS_QUEUE:
            client.set_notification(type_id, transport="SQS", destination=settings.MTURK_SQS_QUEUE)
        elif settings.MTURK_SNS_TOPIC:
            client.set_notification(type_id, transport="SNS", destination=settings.MTURK_SNS_TOPIC)
        known_hit_types[key] = type_id
    return known_hit_types[key]


def auto_approval(design: StudyDesign) -> timedelta:
    """Return the delay after which the service approves work.

    It is longer than Quorum's own delay, so it matters only if this server disappears.
    """
    hours = design.crowd.approve_after_hours
    return min(MAX_DELAY, timedelta(hours=hours) + APPROVAL_DELAY) if hours else MAX_DELAY


def _own_qualification_requirements(
    client: TurkClient, workers: Workers, *, platform: str
) -> list[Requirement]:
    """Return the requirements about Quorum's own qualifications; create missing qualifications at the service.

    Raises:
        CrowdRefusal: a required qualification does not exist at the service, and nobody has it here.
    """
    requirements = []
    for name in (*workers.requires, *workers.forbids):
        is_required, qualification = name in workers.requires, _find_qualification(client, platform, name)
        if is_required and not qualification and not ids_not_passed_on(platform, name):
            raise CrowdRefusal(
                f"Nothing was published: workers.requires names {name!r}, which nobody has at Mechanical Turk; give "
                "the qualification to somebody first."
            )
        requirements.append(
            require_qualification(qualification or qualification_id(client, name), must_have=is_required)
        )
    return requirements


def _find_qualification(client: TurkClient, platform: str, name: str) -> str | None:
    key = (f"{platform} {settings.MTURK_ENDPOINT}", name)
    if key not in known_qualifications:
        qualification = client.find_qualification(_qualification_name(name))
        if qualification is None:
            return None
        known_qualifications[key] = qualification
    return known_qualifications[key]


def _grant_qualifications(client: TurkClient, people: Mapping[str, Collection[str]]) -> None:
    """Grant at Mechanical Turk the qualifications that people received in Quorum and that were never sent there."""
    for name, ids in people.items():
        for worker in ids:
            client.qualify(qualification_id(client, name), worker, 1)


def qualification_id(client: TurkClient, name: str) -> str:
    properties = {
        "Description": f"Given by the requester: {name}",
        "QualificationTypeStatus": "Active",
    }
    return _find_or_create_qualification(client, _qualification_name(name), properties)


def _qualification_name(name: str) -> str:
    return f"{name} ({installation_id()})"


def _create_test(client: TurkClient, study: Study, design: StudyDesign) -> str:
    quiz = design.quiz
    test = quiz_backend().qualification_test(design, title=title_of(design))
    retry = {"RetryDelayInSeconds": RETRY_SECONDS} if quiz.attempts > 1 else {}
    return _find_or_create_qualification(
        client,
        f"Test for {quiz.qualification or study.slug} ({installation_id()})",
        {
            "Description": f"A short test before the work: {title_of(design)}",
            "QualificationTypeStatus": "Active",
            "Test": test.test,
            "AnswerKey": test.answer_key,
            "TestDurationInSeconds": TEST_SECONDS,
            **retry,
        },
    )


def _find_or_create_qualification(client: TurkClient, name: str, properties: dict[str, Any]) -> str:
    """Return the id of the account's qualification with this name; create it if it is missing."""
    existing = client.find_qualification(name)
    if existing is not None:
        return existing
    try:
        return client.create_qualification({"Name": name, **properties})
    except TurkRefusal as problem:
        if "AlreadyExists" not in problem.code:
            raise
        existing = client.find_qualification(name)
        if existing is None:
            raise RetryLater(str(problem)) from None
        return existing
