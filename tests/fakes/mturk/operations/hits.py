"""HIT types and HITs: put up, extend, expire, list, delete."""

from datetime import datetime
from typing import Any

from tests.fakes.mturk import lifecycle
from tests.fakes.mturk.eligibility import check_requirements
from tests.fakes.mturk.errors import ParameterValidationError, RequestError, out_of_range, wrong_state
from tests.fakes.mturk.ledger import MANY, cents_of, dollars
from tests.fakes.mturk.operations.registry import (
    Answer,
    Parameters,
    demand_length,
    demand_range,
    operation,
    page,
)
from tests.fakes.mturk.questions import parse_question
from tests.fakes.mturk.state import HIT, HITType, World

YEAR = 31_536_000
MONTH = 2_592_000
SOONEST_EXTENSION = 60  # seconds (O aws-sdk-java#1817)


def hit_row(world: World, hit: HIT, now: datetime) -> dict[str, Any]:
    """A HIT as the service shows it."""
    pending, available, completed = lifecycle.counters(world, hit, now)
    return {
        "HITId": hit.hit_id,
        "HITTypeId": hit.type.hit_type_id,
        "HITGroupId": hit.type.hit_group_id,
        "CreationTime": hit.created,
        "Title": hit.type.title,
        "Description": hit.type.description,
        "Question": hit.question.xml,
        "Keywords": hit.type.keywords,
        "HITStatus": hit.status,
        "MaxAssignments": hit.max_assignments,
        "Reward": dollars(hit.type.reward_cents),
        "AutoApprovalDelayInSeconds": hit.type.auto_approval,
        "Expiration": hit.expiration,
        "AssignmentDurationInSeconds": hit.type.duration,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": hit.type.requirements,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": pending,
        "NumberOfAssignmentsAvailable": available,
        "NumberOfAssignmentsCompleted": completed,
    }


@operation("CreateHITType")
def create_hit_type(world: World, parameters: Parameters, now: datetime) -> Answer:
    """The same properties give the same type (D)."""
    return {"HITTypeId": _hit_type(world, parameters).hit_type_id}


@operation("CreateHIT")
def create_hit(world: World, parameters: Parameters, now: datetime) -> Answer:
    """A HIT and its type in one; the type is shared with equal ones, so that HITs of one kind stay a group."""
    return _create(world, parameters, now)


@operation("CreateHITWithHITType")
def create_hit_with_hit_type(world: World, parameters: Parameters, now: datetime) -> Answer:
    """A HIT of a type that is there."""
    return _create(world, parameters, now, world.hit_type(parameters["HITTypeId"]))


def _create(world: World, parameters: Parameters, now: datetime, hit_type: HITType | None = None) -> Answer:
    token = parameters.get("UniqueRequestToken")
    earlier = world.tokens.earlier("CreateHIT", token, now)
    # The code and the HITId in the message are documented, the wording is a guess (?).
    if earlier is not None:
        raise RequestError(
            f"A HIT was already created with this UniqueRequestToken. HITId: {earlier}", "HitAlreadyExists"
        )
    demand_range("LifetimeInSeconds", parameters["LifetimeInSeconds"], 30, YEAR)
    places = parameters.get("MaxAssignments", 1)
    demand_range("MaxAssignments", places, 1, 1_000_000_000)
    if len(parameters.get("RequesterAnnotation", "")) > 255:
        raise ParameterValidationError("RequesterAnnotation must have at most 255 characters.")
    for missing in ("HITLayoutId", "AssignmentReviewPolicy", "HITReviewPolicy"):
        if missing in parameters:
            raise ParameterValidationError(f"{missing} is not known to this emulator.")
    if "Question" not in parameters:
        raise ParameterValidationError("Either a Question parameter or a HITLayoutId must be provided.")
    hit = lifecycle.create(
        world,
        hit_type or _hit_type(world, parameters),
        parse_question(parameters["Question"]),
        lifetime=parameters["LifetimeInSeconds"],
        places=places,
        annotation=parameters.get("RequesterAnnotation"),
        now=now,
    )
    world.tokens.remember("CreateHIT", token, hit.hit_id, now)
    return {"HIT": hit_row(world, hit, now)}


def _hit_type(world: World, parameters: Parameters) -> HITType:
    demand_length(parameters, Title=128, Description=2000)
    if len(parameters.get("Keywords", "")) > 1000:
        raise ParameterValidationError("Keywords must have at most 1000 characters.")
    demand_range("AssignmentDurationInSeconds", parameters["AssignmentDurationInSeconds"], 30, YEAR)
    auto_approval = parameters.get("AutoApprovalDelayInSeconds", MONTH)
    demand_range("AutoApprovalDelayInSeconds", auto_approval, 0, MONTH)
    reward = cents_of(parameters["Reward"], "Reward")
    if not reward:  # work for nothing is not to be had (O SurveyMan#83)
        raise ParameterValidationError(f"The value {parameters['Reward']} is invalid for Reward.")
    requirements = parameters.get("QualificationRequirements", [])
    check_requirements(world, requirements)
    properties: dict[str, Any] = {
        "title": parameters["Title"],
        "description": parameters["Description"],
        "keywords": parameters.get("Keywords"),
        "reward_cents": reward,
        "duration": parameters["AssignmentDurationInSeconds"],
        "auto_approval": auto_approval,
        "requirements": requirements,
    }
    for known in world.hit_types.values():
        if all(getattr(known, name) == value for name, value in properties.items()):
            return known
    made = HITType(hit_type_id=world.new_id(), hit_group_id=world.new_id(), **properties)
    world.hit_types[made.hit_type_id] = made
    return made


@operation("GetHIT")
def get_hit(world: World, parameters: Parameters, now: datetime) -> Answer:
    """A HIT by id; deleted ones are still shown, as Disposed (?)."""
    return {"HIT": hit_row(world, world.hit(parameters["HITId"]), now)}


@operation("ListHITs")
def list_hits(world: World, parameters: Parameters, now: datetime) -> Answer:
    """All HITs but deleted ones (D), newest first (?)."""
    there = (hit for hit in world.hits.values() if hit.status != "Disposed")
    shown, told = page(parameters, there, lambda hit: hit.number, newest_first=True)
    return told | {"HITs": [hit_row(world, hit, now) for hit in shown]}


@operation("UpdateExpirationForHIT")
def update_expiration_for_hit(world: World, parameters: Parameters, now: datetime) -> Answer:
    """A past time closes the HIT at once (D).

    The same time twice within 24 hours is refused, in these words (O Dallinger#3109). The report is about a
    time to come; whether a past one is refused as well is not known, so the harder case is what we play.
    """
    hit = world.hit(parameters["HITId"])
    if hit.status == "Disposed":
        raise wrong_state("HIT", "Assignable, Unassignable, Reviewable, Reviewing", hit.status)
    at: datetime = parameters["ExpireAt"]
    token = f"{hit.hit_id}{at:%a %b %d %H:%M:%S UTC %Y}"
    if world.tokens.earlier("UpdateExpirationForHIT", token, now) is not None:
        raise RequestError(f'The idempotency token "{token}" has already been processed.', "DuplicateRequest")
    if at > hit.expiration:
        increment = int((at - max(hit.expiration, now)).total_seconds())
        if at > now and not SOONEST_EXTENSION <= increment <= YEAR:
            raise out_of_range("ExpirationIncrementInSeconds", increment, SOONEST_EXTENSION, YEAR)
    lifecycle.set_expiration(world, hit, at if at > now else min(now, hit.expiration), now)
    world.tokens.remember("UpdateExpirationForHIT", token, hit.hit_id, now)
    return {}


@operation("DeleteHIT")
def delete_hit(world: World, parameters: Parameters, now: datetime) -> Answer:
    """Only what is over, and with every submission judged (D)."""
    hit = world.hit(parameters["HITId"])
    if hit.status not in {"Reviewable", "Reviewing"} or hit.having("Submitted"):
        raise wrong_state("HIT", "Reviewable, Reviewing", hit.status)
    lifecycle.dispose(world, hit, now)
    return {}


@operation("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(world: World, parameters: Parameters, now: datetime) -> Answer:
    """More places; never from under ten to ten or more (D)."""
    token = parameters.get("UniqueRequestToken")
    hit = world.hit(parameters["HITId"])
    refuse_repeated(world, "CreateAdditionalAssignmentsForHIT", token, now)
    if hit.status == "Disposed":
        raise wrong_state("HIT", "Assignable, Unassignable, Reviewable, Reviewing", hit.status)
    places = parameters["NumberOfAdditionalAssignments"]
    demand_range("NumberOfAdditionalAssignments", places, 1, 1_000_000_000)
    if hit.max_assignments < MANY <= hit.max_assignments + places:
        raise RequestError(
            f"HITs created with fewer than {MANY} assignments cannot be extended to have {MANY} or more.",
            "InvalidMaximumAssignmentsIncrease",
        )
    lifecycle.add_places(world, hit, places, now)
    world.tokens.remember("CreateAdditionalAssignmentsForHIT", token, request_id(world), now)
    return {}


def refuse_repeated(world: World, name: str, token: str | None, now: datetime) -> None:
    """A token of the last 24 hours: an error with the earlier request's id (D); wording and code: (?)."""
    earlier = world.tokens.earlier(name, token, now)
    if earlier is not None:
        raise RequestError(
            f'The idempotency token "{token}" has already been processed. Request ID: {earlier}',
            "DuplicateRequest",
        )


def request_id(world: World) -> str:
    """Something like the id of a request."""
    digits = f"{world.random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
