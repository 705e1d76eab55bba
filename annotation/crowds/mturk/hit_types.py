"""Prepare the HIT type of a study at Mechanical Turk: its terms, and the qualifications that it requires.

A HIT type has the properties that all HITs of a study share, such as title and reward. HIT types and qualifications are
created if they are missing. Their ids never change, so this module keeps them in memory: those of HIT types, and of the
qualifications and tests that a study requires.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings

from annotation.crowds.base import CrowdRefusal, RetryLater
from annotation.crowds.mturk.client import LIVE, TurkClient, format_dollars
from annotation.crowds.mturk.errors import TurkRefusal
from annotation.crowds.mturk.listings import description_of, has_qualification_test, title_of
from annotation.crowds.mturk.requirements import (
    Requirement,
    qualification_requirements,
    require_masters,
    require_qualification,
    score_at_least,
)
from annotation.crowds.people import installation_id
from annotation.crowds.raw_ids import ids_with_unsent_qualification
from annotation.work.quiz import QualificationTest, quiz_backend
from judgments.design.requirements import Workers
from judgments.design.study_design import StudyDesign
from judgments.models import Study

MAX_APPROVAL_DELAY = timedelta(days=30)  # the service's limit for automatic approval
APPROVAL_MARGIN = timedelta(days=7)  # by how much later than Quorum the service approves work

TEST_SECONDS = 3600  # seconds in which a qualification test must be done
RETRY_SECONDS = 3600  # seconds between two attempts at a test

# Ids of HIT types. A key has the platform with its address, and JSON of the type's properties and of the WorkerIds of
# people who have a qualification here that the service does not know yet: they get it before the type is created.
known_hit_types: dict[tuple[str, str], str] = {}
# Ids of the account's qualifications. A key has the platform with its address, and the qualification's name there.
known_qualifications: dict[tuple[str, str], str] = {}


def prepare_hit_type(client: TurkClient, platform: str, study: Study, design: StudyDesign) -> str:
    """Return the id of the study's HIT type; create it, and what it requires, if it is missing.

    Raises:
        CrowdRefusal: nobody has a required qualification.
    """
    crowd = design.crowd
    requirements = [require_masters(live=platform == LIVE)] if crowd.masters else []
    requirements += _requirements_of_named_qualifications(client, design.workers, platform=platform)
    if has_qualification_test(design):
        test = quiz_backend().qualification_test(design, title=title_of(design))
        test_id = _prepare_test(client, study, design, test, platform=platform)
        requirements.append(score_at_least(test_id, test.required_score))
    properties: dict[str, Any] = {
        "Title": title_of(design),
        "Description": description_of(design),
        "Reward": format_dollars(crowd.reward_cents),
        "AssignmentDurationInSeconds": crowd.lease_minutes * 60,
        "AutoApprovalDelayInSeconds": int(auto_approval_delay(design).total_seconds()),
        "QualificationRequirements": qualification_requirements(design.workers, extra=requirements),
    }
    if crowd.keywords:
        properties["Keywords"] = crowd.keywords
    names = (*design.workers.requires, *design.workers.forbids)
    unsent_ids = {name: ids_with_unsent_qualification(platform, name) for name in names}
    key = (f"{platform} {settings.MTURK_ENDPOINT}", json.dumps([properties, unsent_ids], sort_keys=True))
    if key not in known_hit_types:
        _grant_qualifications(client, unsent_ids)
        type_id = client.create_hit_type(properties)
        if settings.MTURK_SQS_QUEUE:
            client.set_notification(type_id, transport="SQS", destination=settings.MTURK_SQS_QUEUE)
        elif settings.MTURK_SNS_TOPIC:
            client.set_notification(type_id, transport="SNS", destination=settings.MTURK_SNS_TOPIC)
        known_hit_types[key] = type_id
    return known_hit_types[key]


def auto_approval_delay(design: StudyDesign) -> timedelta:
    """Return the delay after which the service approves work automatically.

    It is longer than Quorum's own delay, so the service approves work only if this server no longer does.
    """
    hours = design.crowd.approve_after_hours
    return min(MAX_APPROVAL_DELAY, timedelta(hours=hours) + APPROVAL_MARGIN) if hours else MAX_APPROVAL_DELAY


def _requirements_of_named_qualifications(
    client: TurkClient, workers: Workers, *, platform: str
) -> list[Requirement]:
    """Return the requirements about the qualifications that the design names; create those that are missing."""
    requirements = []
    for name in (*workers.requires, *workers.forbids):
        is_required = name in workers.requires
        known_id = _find_qualification(client, platform, _qualification_name(name))
        if is_required and not known_id and not ids_with_unsent_qualification(platform, name):
            raise CrowdRefusal(
                f"Nothing was published: workers.requires names {name!r}, which nobody has at Mechanical Turk; give "
                "the qualification to somebody first."
            )
        qualification = known_id or prepare_qualification(client, name)
        requirements.append(require_qualification(qualification, must_have=is_required))
    return requirements


def _find_qualification(client: TurkClient, platform: str, name: str) -> str | None:
    """Return the id of the account's qualification with this name at the service; None if it does not exist."""
    key = (f"{platform} {settings.MTURK_ENDPOINT}", name)
    if key not in known_qualifications:
        qualification_id = client.find_qualification(name)
        if qualification_id is None:
            return None
        known_qualifications[key] = qualification_id
    return known_qualifications[key]


def _grant_qualifications(client: TurkClient, ids_by_name: Mapping[str, Collection[str]]) -> None:
    """Grant qualifications at the service. ``ids_by_name`` has the WorkerIds by the qualification's name in Quorum."""
    for name, worker_ids in ids_by_name.items():
        if worker_ids:
            qualification_id = prepare_qualification(client, name)
            for worker_id in worker_ids:
                client.qualify(qualification_id, worker_id, 1)


def prepare_qualification(client: TurkClient, name: str) -> str:
    """Return the service's id of the qualification with this name in Quorum; create it if it is missing."""
    properties = {
        "Description": f"Given by the requester: {name}",
        "QualificationTypeStatus": "Active",
    }
    service_name = _qualification_name(name)
    return client.find_qualification(service_name) or _create_qualification(client, service_name, properties)


def _qualification_name(name: str) -> str:
    """Return the name that the qualification has at the service.

    It contains the installation's id, since installations that share an account must not share qualifications.
    """
    return f"{name} ({installation_id()})"


def _prepare_test(
    client: TurkClient, study: Study, design: StudyDesign, test: QualificationTest, *, platform: str
) -> str:
    """Return the id of the qualification that the study's quiz gives; create it if it is missing."""
    name = f"Test for {design.quiz.qualification or study.slug} ({installation_id()})"
    retry = {"RetryDelayInSeconds": RETRY_SECONDS} if design.quiz.attempts > 1 else {}
    return _find_qualification(client, platform, name) or _create_qualification(
        client,
        name,
        {
            "Description": f"A short test before the work: {title_of(design)}",
            "QualificationTypeStatus": "Active",
            "Test": test.test,
            "AnswerKey": test.answer_key,
            "TestDurationInSeconds": TEST_SECONDS,
            **retry,
        },
    )


def _create_qualification(client: TurkClient, name: str, properties: dict[str, Any]) -> str:
    """Create a qualification of the account, and return its id. If it was created meanwhile, return that id."""
    try:
        return client.create_qualification({"Name": name, **properties})
    except TurkRefusal as problem:
        if "AlreadyExists" not in problem.code:
            raise
        qualification_id = client.find_qualification(name)
        if qualification_id is None:  # the service does not list it yet
            raise RetryLater(str(problem)) from None
        return qualification_id
