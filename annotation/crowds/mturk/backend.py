"""The Mechanical Turk backend: each HIT is one external HIT with a slot per worker (docs/crowds/mturk.md).

A call's key is the UniqueRequestToken of operations that take one; the service remembers it for 24 hours. Later, and
for other operations, the state is read first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import override

from annotation.crowds.base import (
    Ability,
    CrowdBackend,
    HandedIn,
    Plan,
    Price,
    Refused,
    SeenPublication,
    SeenWork,
    TryLater,
    fee_of,
)
from annotation.crowds.mturk.client import (
    LIVE,
    SANDBOX,
    AskedBefore,
    HitAlreadyExists,
    NotAtTurk,
    TurkBonus,
    TurkClient,
    TurkHIT,
    TurkRefused,
    WrongStateAtTurk,
    client_of,
    dollars,
    receive_messages,
)
from annotation.crowds.mturk.notifications import NotificationProblem, read_sqs
from annotation.crowds.mturk.pages import (
    QuestionProblem,
    Requirement,
    answers_of_page,
    external_question,
    has,
    html_question,
    is_master,
    language_of,
    requirements_of,
    score_at_least,
    sites_of,
)
from annotation.crowds.people import ids_not_passed_on, installation_word
from annotation.models import CrowdCall, CrowdSession, RawId, Worker
from annotation.work.quiz import quiz_backend
from annotation.work.worksheet import units_of_hit, worked_examples
from common.errors import WrongState
from common.http.addresses import THIS_MACHINE
from common.markup import plain_text
from judgments.design.quiz import asks_anything
from judgments.design.requirements import Workers
from judgments.design.study_design import StudyDesign, design_in
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

if TYPE_CHECKING:
    from annotation.models import CrowdCall, Publication

Status = CrowdSession.Status
ENTRY = "/s/{slug}/mturk/"
REMEMBERED = timedelta(hours=23)  # the service remembers tokens for 24 hours
LONGEST_DELAY = timedelta(days=30)  # the service's limit for automatic approval
NET = timedelta(days=7)  # delay of the service's automatic approval after ours
DECIDED_MEANWHILE = 600.0  # seconds after which a HIT with undecided work is looked at again
UNKNOWN_YET = 60.0  # seconds after which a fresh submission is requested again (ParlAI#2957)
TEST_SECONDS = 3600
RETRY_SECONDS = 3600  # between two attempts at a test
LONGEST_FEEDBACK = 1024

# HIT types by place, properties, and people passed on; equal ones have one id.
_types: dict[tuple[str, str], str] = {}
_qualifications: dict[tuple[str, str], str] = {}  # those of the account by place and name


def annotation_of(token: str, study: Study) -> str:
    return f"{token} {installation_word()} {study.slug}"


def _token_of(annotation: str, study: Study) -> str:
    token, _, rest = annotation.partition(" ")
    return token if rest == f"{installation_word()} {study.slug}" else ""


def title_of(design: StudyDesign) -> str:
    return (design.crowd.title or design.name)[:128]


def description_of(design: StudyDesign) -> str:
    return (design.crowd.description or plain_text(design.question))[:2000]


def is_tested_there(design: StudyDesign) -> bool:
    """Return whether the quiz becomes a qualification test of the service: it has only questions."""
    return bool(asks_anything(design.quiz)) and not design.quiz.items


def _question_of(study: Study, design: StudyDesign, hit: HIT) -> str:
    if design.crowd.question == "html":
        language = language_of(design)
        design = design_in(design, language)
        with override(language):
            examples = worked_examples(study, design)
        return html_question(
            design=design,
            hit=hit,
            units=units_of_hit(hit.pk),
            hosts=sites_of(study.platform or SANDBOX),
            examples=examples,
            language=language,
        )
    return external_question(
        url=settings.PUBLIC_URL + ENTRY.format(slug=study.slug),
        hit=hit.key,
        loopback=urlsplit(settings.MTURK_ENDPOINT).hostname in THIS_MACHINE,
    )


def _is_old(call: CrowdCall) -> bool:
    """Return whether an attempt may have succeeded whose token is forgotten."""
    began, now = call.first_started_at, call.started_at or timezone.now()
    return began is not None and now - began > REMEMBERED


def _publish(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    publication, study = call.publication_now(), call.study
    if _is_old(call):
        existing = _marked(client, study, call.key)
        if existing is not None:
            return _published(existing)
    design = design_of(study)
    assert publication.hit is not None  # every plan here has one
    question = _question_of(study, design, publication.hit)
    hit_type = _hit_type(client, call.platform, study, design)
    try:
        hit = client.create_hit(
            hit_type,
            places=publication.places,
            seconds=design.crowd.lifetime_hours * 3600,
            question=question,
            annotation=annotation_of(call.key, study),
            token=call.key,
        )
    except HitAlreadyExists as there:
        existing = client.hit(there.hit) if there.hit else _marked(client, study, call.key)
        if existing is None:
            raise TryLater(
                "Mechanical Turk says that the HIT is there already, and does not show it."
            ) from None
        hit = existing
    except NotAtTurk as problem:  # the HIT type was removed meanwhile
        _types.clear()
        _qualifications.clear()
        raise TryLater(str(problem), undone=True) from None
    return _published(hit)


def _marked(client: TurkClient, study: Study, token: str) -> TurkHIT | None:
    return next((hit for hit in client.hits() if _token_of(hit.annotation, study) == token), None)


def _published(hit: TurkHIT) -> dict[str, Any]:
    return {
        "external_id": hit.id,
        "group_id": hit.type_id,
        "expires_at": hit.expires_at.isoformat() if hit.expires_at else "",
    }


def _hit_type(client: TurkClient, platform: str, study: Study, design: StudyDesign) -> str:
    crowd = design.crowd
    more = [is_master(live=platform == LIVE)] if crowd.masters else []
    more += _has_or_lacks(client, design.workers, platform=platform)
    if is_tested_there(design):
        test = quiz_backend().qualification_test(design, title=title_of(design))
        more.append(score_at_least(_test(client, study, design), test.needed))
    properties: dict[str, Any] = {
        "Title": title_of(design),
        "Description": description_of(design),
        "Reward": dollars(crowd.reward_cents),
        "AssignmentDurationInSeconds": crowd.lease_minutes * 60,
        "AutoApprovalDelayInSeconds": int(auto_approval(design).total_seconds()),
        "QualificationRequirements": requirements_of(design.workers, more=more),
    }
    if crowd.keywords:
        properties["Keywords"] = crowd.keywords
    names = (*design.workers.requires, *design.workers.forbids)
    people = {name: ids_not_passed_on(platform, name) for name in names}
    key = (f"{platform} {settings.MTURK_ENDPOINT}", json.dumps([properties, people], sort_keys=True))
    if key not in _types:
        _pass_on(client, people)
        type_id = client.hit_type(properties)
        if settings.MTURK_SQS_QUEUE:
            client.tell_events(type_id, transport="SQS", destination=settings.MTURK_SQS_QUEUE)
        elif settings.MTURK_SNS_TOPIC:
            client.tell_events(type_id, transport="SNS", destination=settings.MTURK_SNS_TOPIC)
        _types[key] = type_id
    return _types[key]


def auto_approval(design: StudyDesign) -> timedelta:
    """Return the service's delay of approval, longer than ours, in case this server disappears."""
    hours = design.crowd.approve_after_hours
    return min(LONGEST_DELAY, timedelta(hours=hours) + NET) if hours else LONGEST_DELAY


def _extend(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    publication = call.publication_now()
    places = int(call.payload.get("places", 0))
    until = parse_datetime(call.payload.get("expires_at", "") or "")
    if places:
        done = _is_old(call) and client.hit(publication.external_id).places >= publication.places + places
        if not done:
            _once(lambda: client.add_places(publication.external_id, places=places, token=call.key))
    if until is not None:
        _set_expiration(client, publication.external_id, until)
    return {}


def _expire(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Close to new workers by a past time, a new one at each attempt, since an equal one is refused."""
    publication = call.publication_now()
    try:
        hit = client.hit(publication.external_id)
    except NotAtTurk:
        return {}  # it is gone, and so closed
    if hit.status == "Disposed" or (hit.expires_at is not None and hit.expires_at <= timezone.now()):
        return {}
    _set_expiration(client, publication.external_id, timezone.now() - timedelta(hours=1))
    return {}


def _delete(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Delete a HIT after checking that all of its work is decided and booked here."""
    publication = call.publication_now()
    if _is_gone(client, publication.external_id):
        return {}
    here = dict(publication.sessions.exclude(booked="").values_list("external_id", "status"))
    for work in client.assignments(publication.external_id):
        if here.get(work.external_id) != work.status:
            raise TryLater(
                f"HIT {publication.external_id} is not deleted: assignment {work.external_id} is "
                f"{work.status.title()} there, and {here.get(work.external_id, 'not decided')} here.",
                after=DECIDED_MEANWHILE,
                undone=True,
            )
    try:
        client.delete(publication.external_id)
    except WrongStateAtTurk:
        if not _is_gone(client, publication.external_id):
            raise
    return {}


def _is_gone(client: TurkClient, hit: str) -> bool:
    try:
        return client.hit(hit).status == "Disposed"
    except NotAtTurk:
        return True


def _set_expiration(client: TurkClient, hit: str, at: datetime) -> None:
    at = at.replace(microsecond=0)
    there = client.hit(hit).expires_at
    if there is not None and abs(there - at) < timedelta(seconds=1):
        return
    _once(lambda: client.set_expiration(hit, at))


def _approve(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    return _decide(
        client, call, client.approve, Status.APPROVED, overrides=bool(call.payload.get("override"))
    )


def _reject(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    return _decide(client, call, client.reject, Status.REJECTED)


def _decide(
    client: TurkClient, call: CrowdCall, order: Callable[..., None], decision: str, *, overrides: bool = False
) -> dict[str, Any]:
    """Read the state first: there is no token, and others decide too."""
    session = call.session_now()
    status = _status(client, session)
    options = {"override": True} if overrides and status == Status.REJECTED else {}
    if status == Status.SUBMITTED or options:
        try:
            order(session.external_id, feedback=call.why[:LONGEST_FEEDBACK], **options)
            status = decision
        except WrongStateAtTurk:  # somebody was faster
            status = _status(client, session)
            if status == Status.SUBMITTED:
                raise
    return {"status": str(status)}


def _status(client: TurkClient, session: CrowdSession) -> str:
    try:
        there = client.assignment(session.external_id)
    except (NotAtTurk, WrongStateAtTurk) as problem:
        if session.confirmed:  # it was there before
            raise Refused(f"{problem} It may have been deleted there.") from None
        raise TryLater(f"{problem} It may not be known there yet.", after=UNKNOWN_YET, undone=True) from None
    if there.worker != raw_id(session.worker):
        raise Refused(
            f"Assignment {session.external_id} at Mechanical Turk is another worker's by now; nothing was decided."
        )
    return there.status


def _send_bonus(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Pay a bonus; if its token may be forgotten, look at paid bonuses first."""
    session, cents = call.session_now(), int(call.payload["bonus_cents"])
    bonus = TurkBonus(raw_id(session.worker), session.external_id, cents, call.why)
    if _is_old(call) and _is_paid(client, call, bonus):
        return {"found": True}
    _once(partial(client.send_bonus, bonus, token=call.key))
    return {}


def _is_paid(client: TurkClient, call: CrowdCall, bonus: TurkBonus) -> bool:
    """Return whether more equal bonuses were paid than our books count as done."""
    done = CrowdCall.objects.filter(
        session=call.session, kind=Ability.BONUS, why=call.why, state=CrowdCall.State.DONE
    )
    booked = done.filter(payload__bonus_cents=bonus.cents).count()
    return list(client.bonuses(bonus.assignment)).count(bonus) > booked


def _block(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    client.block(_raw_id_of(call), reason=call.why or "Blocked.")
    return {}


def _unblock(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    client.unblock(_raw_id_of(call), reason=call.why or "Unblocked.")
    return {}


def _qualify(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    qualification = _qualification_id(client, call.payload["qualification"])
    value = int(call.payload.get("value", 1))
    if value:
        client.qualify(qualification, _raw_id_of(call), value)
    else:
        client.disqualify(qualification, _raw_id_of(call))
    return {"qualification": qualification}


def _has_or_lacks(client: TurkClient, workers: Workers, *, platform: str) -> list[Requirement]:
    """Return the requirements of our qualifications. Create a missing one that keeps people out."""
    requirements = []
    for name in (*workers.requires, *workers.forbids):
        wanted, known = name in workers.requires, _find_qualification(client, platform, name)
        if wanted and not known and not ids_not_passed_on(platform, name):
            raise Refused(
                f"Nothing was put up: workers.requires names {name!r}, which nobody has at Mechanical Turk; give the "
                "qualification to somebody first."
            )
        requirements.append(has(known or _qualification_id(client, name), wanted=wanted))
    return requirements


def _find_qualification(client: TurkClient, platform: str, name: str) -> str | None:
    key = (f"{platform} {settings.MTURK_ENDPOINT}", name)
    if key not in _qualifications:
        qualification = client.own_qualification(_qualification_name(name))
        if qualification is None:
            return None
        _qualifications[key] = qualification
    return _qualifications[key]


def _pass_on(client: TurkClient, people: Mapping[str, Collection[str]]) -> None:
    """Tell the service of people who got a qualification before any study of theirs was open."""
    for name, ids in people.items():
        for worker in ids:
            client.qualify(_qualification_id(client, name), worker, 1)


def _qualification_id(client: TurkClient, wanted: str) -> str:
    properties = {
        "Description": f"Given by the requester: {wanted}",
        "QualificationTypeStatus": "Active",
    }
    return _qualification(client, _qualification_name(wanted), properties)


def _qualification_name(wanted: str) -> str:
    return f"{wanted} ({installation_word()})"


def _send_message(client: TurkClient, call: CrowdCall) -> dict[str, Any]:
    """Message a worker at most once, as NotifyWorkers has no token."""
    if call.first_started_at != call.started_at:
        raise Refused(
            "The message may have been sent before, and is not sent twice; send a new one if it was not."
        )
    subject, text = call.payload["subject"], call.payload["text"]
    worker = _raw_id_of(call)
    failures = client.notify([worker], subject=subject, text=text)
    if worker in failures:
        raise Refused(f"Mechanical Turk did not deliver the message: {failures[worker]}")
    return {}


def _test(client: TurkClient, study: Study, design: StudyDesign) -> str:
    quiz = design.quiz
    test = quiz_backend().qualification_test(design, title=title_of(design))
    retry = {"RetryDelayInSeconds": RETRY_SECONDS} if quiz.attempts > 1 else {}
    return _qualification(
        client,
        f"Test for {quiz.qualification or study.slug} ({installation_word()})",
        {
            "Description": f"A short test before the work: {title_of(design)}",
            "QualificationTypeStatus": "Active",
            "Test": test.test,
            "AnswerKey": test.answer_key,
            "TestDurationInSeconds": TEST_SECONDS,
            **retry,
        },
    )


def _qualification(client: TurkClient, name: str, properties: dict[str, Any]) -> str:
    """Return the qualification of that name, unique in an account; create it if missing."""
    existing = client.own_qualification(name)
    if existing is not None:
        return existing
    try:
        return client.create_qualification({"Name": name, **properties})
    except TurkRefused as problem:
        if "AlreadyExists" not in problem.code:
            raise
        existing = client.own_qualification(name)
        if existing is None:
            raise TryLater(str(problem)) from None
        return existing


def _raw_id_of(call: CrowdCall) -> str:
    assert call.worker is not None  # set when the call was written
    return raw_id(call.worker)


def raw_id(worker: Worker) -> str:
    """Return a worker's WorkerId; raise Refused if it was deleted here."""
    row = RawId.objects.filter(worker=worker, session=None, name="WorkerId").first()
    if row is None:
        raise Refused(f"The WorkerId of {worker} was deleted here, so that nothing can be asked about them.")
    return row.value


def _once(order: Callable[[], None]) -> None:
    try:
        order()
    except AskedBefore:
        return  # done by an earlier attempt


ORDERS: dict[str, Callable[[TurkClient, CrowdCall], dict[str, Any]]] = {
    Ability.PUBLISH: _publish,
    Ability.EXTEND: _extend,
    Ability.EXPIRE: _expire,
    Ability.DELETE: _delete,
    Ability.APPROVE: _approve,
    Ability.REJECT: _reject,
    Ability.BONUS: _send_bonus,
    Ability.BLOCK: _block,
    Ability.UNBLOCK: _unblock,
    Ability.QUALIFY: _qualify,
    Ability.MESSAGE: _send_message,
}

# MTURK.md 2, Money
FEE, MANY_FEE, MASTERS_FEE = Decimal(20), Decimal(20), Decimal(5)
MANY = 10  # slots from which the fee is higher; a HIT with fewer can never reach it
LEAST_FEE = 1  # cents


class MTurkBackend(CrowdBackend):
    """The sandbox, unless both the setting ``MTURK_LIVE`` and the study say live."""

    name = "mturk"
    title = "Mechanical Turk"
    can = frozenset(Ability)
    person = "WorkerId"

    def platform(self, design: StudyDesign) -> str:
        return LIVE if design.crowd.live and settings.MTURK_LIVE else SANDBOX

    def describe_entrance(self, study: Study) -> str:
        platform = study.platform or self.platform(design_of(study))
        if not settings.MTURK_ENDPOINT:
            return _(
                "Amazon closed Mechanical Turk on 30 September 2026: set AWS_ENDPOINT_URL_MTURK to an emulator or "
                "another server with its API."
            )
        if platform == LIVE:
            sentence = _("Participants find it at %(site)s; what they do there costs real money.")
        else:
            sentence = _("Participants find it at %(site)s, the sandbox; no money is paid there.")
        return sentence % {"site": sites_of(platform)[0]}

    def price(self, design: StudyDesign, *, places: int) -> Price:
        """Add a fee of 20 %, 40 % from ten slots on, and 5 % for Masters; at least a cent, rounded half up."""
        percent = FEE + (MANY_FEE if places >= MANY else 0) + (MASTERS_FEE if design.crowd.masters else 0)
        reward = design.crowd.reward_cents
        return Price(reward_cents=reward, fee_cents=fee_of(reward, percent, least=LEAST_FEE))

    def bonus_fee(self, cents: int) -> int:
        return fee_of(cents, FEE, least=LEAST_FEE)

    def fetch_balance(self, platform: str) -> int | None:
        return client_of(platform).balance_cents()

    def publication_plans(self, study: Study) -> Iterable[Plan]:
        hits = HIT.objects.filter(study=study, open_slots__gt=0).order_by("position")
        return [Plan(hit=pk, places=places) for pk, places in hits.values_list("pk", "open_slots")]

    def refuse_places(self, publication: Publication, places: int) -> None:
        """Refuse to cross the fee step (InvalidMaximumAssignmentsIncrease)."""
        if publication.places < MANY <= publication.places + places:
            raise WrongState(
                _(
                    "Nothing was changed: a HIT that Mechanical Turk has with fewer than %(many)s "
                    "places (%(places)s) can never have %(many)s or more; open the study again to put "
                    "up another one."
                )
                % {"many": MANY, "places": publication.places}
            )

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Check everything before opening, so that no HIT is refused after others were published."""
        crowd = design.crowd
        if crowd.live and not settings.MTURK_LIVE and study.platform == LIVE:
            raise WrongState(
                _("Study %(slug)r is live, and the setting MTURK_LIVE is off; nothing was published.")
                % {"slug": study.slug}
            )
        if crowd.reward_cents < 1:
            raise WrongState(
                _("Study %(slug)r pays nothing; Mechanical Turk wants crowd.reward_cents of 1 or more.")
                % {"slug": study.slug}
            )
        if not crowd.budget_cents:
            raise WrongState(
                _("Study %(slug)r has no budget; set crowd.budget_cents, the most that all of it may cost.")
                % {"slug": study.slug}
            )
        if not title_of(design).strip() or not description_of(design).strip():
            raise WrongState(
                _(
                    "Study %(slug)r has no title or description for Mechanical Turk's list of work; "
                    "set crowd.title and crowd.description."
                )
                % {"slug": study.slug}
            )
        if crowd.question == "html" and design.quiz.items:
            raise WrongState(
                _(
                    "Study %(slug)r asks known items in its quiz (quiz.items), which pages of "
                    "Mechanical Turk's own cannot; expected 0, or crowd.question = 'external'."
                )
                % {"slug": study.slug}
            )
        try:
            requirements_of(design.workers, more=[])
            if is_tested_there(design):
                quiz_backend().qualification_test(design, title=title_of(design))
            for hit in HIT.objects.filter(study=study).order_by("position"):
                _question_of(study, design, hit)
                if crowd.question == "external":
                    break  # all HITs are alike in this
        except QuestionProblem as problem:
            raise WrongState(_("Nothing was published: %(problem)s") % {"problem": problem}) from None

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        return ORDERS[call.kind](client_of(call.platform), call)

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[SeenPublication]:
        """Yield HITs with this study's annotation from the list of all, then missing ones one by one."""
        client = client_of(study.platform)
        wanted = {publication.external_id: publication for publication in known if publication.external_id}
        seen: set[str] = set()
        for hit in client.hits():
            token = _token_of(hit.annotation, study)
            if hit.id in wanted or token:
                seen.add(hit.id)
                yield _read_publication(hit, token or wanted[hit.id].token)
        for external_id in wanted.keys() - seen:
            try:
                hit = client.hit(external_id)
            except NotAtTurk:
                continue
            yield _read_publication(hit, wanted[external_id].token)

    def fetch_work(self, publication: Publication) -> Iterator[SeenWork]:
        try:
            yield from client_of(publication.platform).assignments(publication.external_id)
        except (NotAtTurk, WrongStateAtTurk):  # deleted meanwhile
            return

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        """Ask for the assignment; an error of its own tells that it is in work, without naming the worker."""
        try:
            return client_of(publication.platform, hurried=True).assignment(work).worker == worker
        except WrongStateAtTurk:
            return True
        except TurkRefused:
            return False
        except TryLater:
            return None

    def fetch_answers(self, publication: Publication, work: SeenWork) -> HandedIn | None:
        design = design_of(publication.study)
        if design.crowd.question != "html" or publication.hit is None:
            return None
        units = units_of_hit(publication.hit.pk)
        return answers_of_page(work.receipt, design=design, hit=publication.hit, units=units)

    def ids_with_news(self, platform: str) -> Iterator[str]:
        """Yield HITs from the queue, if there is one. Read messages are deleted, as a sync finds out the same."""
        if not settings.MTURK_SQS_QUEUE:
            return
        for body in receive_messages(platform):
            try:
                yield from read_sqs(body)
            except NotificationProblem:  # another sender's; nothing is lost
                continue


def _read_publication(hit: TurkHIT, token: str) -> SeenPublication:
    return SeenPublication(
        external_id=hit.id,
        token=token,
        over=hit.over,
        places=hit.places,
        group_id=hit.type_id,
        reward_cents=hit.reward_cents,
        readable=hit.status != "Disposed",
        expires_at=hit.expires_at,
        facts={
            "status": hit.status,
            "places": hit.places,
            "pending": hit.pending,
            "available": hit.available,
            "completed": hit.completed,
            "group": hit.group_id,
        },
    )
