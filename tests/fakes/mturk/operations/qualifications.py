"""Qualification types, requests for them, and what workers were given."""

from datetime import datetime
from typing import Any

from tests.fakes.mturk.errors import ParameterValidationError, RequestError, wrong_state
from tests.fakes.mturk.operations.registry import (
    Answer,
    Parameters,
    demand_length,
    demand_range,
    operation,
    page,
)
from tests.fakes.mturk.questions import check_answer_key, parse_test
from tests.fakes.mturk.state import Qualification, QualificationType, World

YEAR = 31_536_000
# Titles of the service's own qualifications (D), for ListQualificationTypes.
SYSTEM_NAMES = {
    "00000000000000000040": "Worker_NumberHITsApproved",
    "00000000000000000060": "Worker_Adult",
    "00000000000000000071": "Worker_Locale",
    "000000000000000000L0": "Worker_PercentAssignmentsApproved",
}


def type_row(kind: QualificationType) -> dict[str, Any]:
    """A qualification type as the service shows it."""
    return {
        "QualificationTypeId": kind.qualification_type_id,
        "CreationTime": kind.created,
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords,
        "QualificationTypeStatus": kind.status,
        "Test": kind.test,
        "TestDurationInSeconds": kind.test_duration,
        "AnswerKey": kind.answer_key,
        "RetryDelayInSeconds": kind.retry_delay,
        "IsRequestable": True,
    }


@operation("CreateQualificationType")
def create_qualification_type(world: World, parameters: Parameters, now: datetime) -> Answer:
    """The name must be the only one of its kind among the requester's types (D)."""
    demand_length(parameters, Name=200, Description=2000)
    if len(parameters.get("Keywords", "")) > 1000:
        raise ParameterValidationError("Keywords must have at most 1000 characters.")
    if any(kind.name == parameters["Name"] for kind in world.qualification_types.values()):
        raise RequestError(
            f"You have already created a QualificationType with this name: {parameters['Name']}.",
            "QualificationTypeAlreadyExists",
        )
    kind = QualificationType(
        number=world.number(),
        qualification_type_id=world.new_id(),
        created=now,
        name=parameters["Name"],
        keywords=parameters.get("Keywords"),
        description=parameters["Description"],
        status=parameters["QualificationTypeStatus"],
    )
    _set_up(kind, parameters)
    world.qualification_types[kind.qualification_type_id] = kind
    return {"QualificationType": type_row(kind)}


def _set_up(kind: QualificationType, parameters: Parameters) -> None:
    """Test, key and delay, with the rules between them (D); changes all or nothing."""
    test, key = parameters.get("Test"), parameters.get("AnswerKey")
    duration = parameters.get("TestDurationInSeconds")
    if test is None and (key is not None or duration is not None):
        raise ParameterValidationError("AnswerKey and TestDurationInSeconds need a Test.")
    if "RetryDelayInSeconds" in parameters:
        demand_range("RetryDelayInSeconds", parameters["RetryDelayInSeconds"], 0, YEAR)
    if test is not None:
        if duration is None:
            raise ParameterValidationError("A Test needs TestDurationInSeconds.")
        demand_range("TestDurationInSeconds", duration, 1, YEAR)
        parse_test(test)
        if key is not None:
            check_answer_key(key)
        kind.test, kind.test_duration, kind.answer_key = test, duration, key
    kind.retry_delay = parameters.get("RetryDelayInSeconds", kind.retry_delay)


@operation("ListQualificationTypes")
def list_qualification_types(world: World, parameters: Parameters, now: datetime) -> Answer:
    """By words in name, keywords and description; the service's own types only when not MustBeOwnedByCaller."""
    words = parameters.get("Query", "").lower().split()
    rows: list[tuple[int, dict[str, Any]]] = [
        (kind.number, type_row(kind)) for kind in world.qualification_types.values()
    ]
    if not parameters.get("MustBeOwnedByCaller") and not parameters["MustBeRequestable"]:
        rows += [(place - len(SYSTEM_NAMES), _system_row(key)) for place, key in enumerate(SYSTEM_NAMES)]
    found = [
        row
        for row in rows
        if all(
            word
            in " ".join(str(row[1].get(name) or "") for name in ("Name", "Keywords", "Description")).lower()
            for word in words
        )
    ]
    shown, told = page(parameters, found, lambda row: row[0])
    return told | {"QualificationTypes": [row for _, row in shown]}


def _system_row(identifier: str) -> dict[str, Any]:
    return {
        "QualificationTypeId": identifier,
        "Name": SYSTEM_NAMES[identifier],
        "Description": SYSTEM_NAMES[identifier],
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
    }


def grant(world: World, kind: QualificationType, worker_id: str, value: int, now: datetime) -> None:
    """Gives a worker a qualification, or changes its value."""
    key = (kind.qualification_type_id, worker_id)
    before = world.qualifications.get(key)
    number = before.number if before else world.number()
    world.qualifications[key] = Qualification(number, kind, worker_id, now, value)


@operation("AssociateQualificationWithWorker")
def associate_qualification(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Gives it without a request; a pending request stays (D)."""
    kind = world.qualification_type(parameters["QualificationTypeId"])
    grant(world, kind, parameters["WorkerId"], parameters.get("IntegerValue", 1), now)
    return {}


@operation("DisassociateQualificationFromWorker")
def disassociate_qualification(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Takes it away; who has none is an error (D)."""
    world.qualifications.pop((_granted(world, parameters).type.qualification_type_id, parameters["WorkerId"]))
    return {}


@operation("GetQualificationScore")
def get_qualification_score(world: World, parameters: Parameters, now: datetime) -> Answer:
    """A worker's value; one that was taken away is an error about the state (O Dallinger's tests)."""
    return {"Qualification": qualification_row(_granted(world, parameters))}


def _granted(world: World, parameters: Parameters) -> Qualification:
    kind = world.qualification_type(parameters["QualificationTypeId"])
    found = world.qualifications.get((kind.qualification_type_id, parameters["WorkerId"]))
    if found is None:
        raise RequestError(
            f"You requested a Qualification that does not exist. Worker {parameters['WorkerId']} "
            f"was not given {kind.qualification_type_id}.",
            "QualificationDoesNotExist",
        )
    if found.status != "Granted":
        raise wrong_state("Qualification", "Granted")
    return found


def qualification_row(found: Qualification) -> dict[str, Any]:
    """A worker's qualification as the service shows it."""
    return {
        "QualificationTypeId": found.type.qualification_type_id,
        "WorkerId": found.worker_id,
        "GrantTime": found.granted,
        "IntegerValue": found.value,
        "Status": found.status,
    }
