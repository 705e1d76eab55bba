"""The Mechanical Turk backend. Each HIT is published there as one HIT with a place for each worker.

The study's setting ``crowd.question`` says where workers answer: on Quorum's own pages ("external"), or on a page that
is stored at Mechanical Turk ("html"). See docs/crowds/mturk.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.crowds.base import (
    Ability,
    CrowdBackend,
    CrowdPublication,
    CrowdWork,
    HITPlan,
    Price,
    RetryLater,
    SubmittedAnswers,
    fee_of,
)
from annotation.crowds.mturk.calls import HANDLERS
from annotation.crowds.mturk.client import LIVE, SANDBOX, TurkHIT, client_of, receive_messages
from annotation.crowds.mturk.errors import NotFoundAtTurk, TurkRefusal, WrongStateAtTurk
from annotation.crowds.mturk.frames import sites_of
from annotation.crowds.mturk.listings import (
    description_of,
    has_qualification_test,
    question_of_hit,
    title_of,
    token_in_annotation,
)
from annotation.crowds.mturk.notifications.messages import NotificationProblem, read_sqs
from annotation.crowds.mturk.pages import answers_of_page
from annotation.crowds.mturk.questions import QuestionProblem
from annotation.crowds.mturk.requirements import qualification_requirements
from annotation.models import CrowdCall, Publication
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.units import units_of_hit
from common.errors import WrongState
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

# fees in percent of the reward, by the price list of Mechanical Turk
BASE_FEE = Decimal(20)
MANY_PLACES_FEE = Decimal(20)  # added if a HIT has at least MANY_PLACES places
MASTERS_FEE = Decimal(5)  # added if only Masters, Mechanical Turk's elite workers, may do the HIT
MANY_PLACES = 10  # a HIT with fewer places cannot be extended to as many
MIN_FEE_CENTS = 1


class MTurkBackend(CrowdBackend):
    """The backend of Mechanical Turk: its live site, or its sandbox.

    It uses the live site only if both the setting ``MTURK_LIVE`` and the study ask for it.
    """

    name = "mturk"
    title = "Mechanical Turk"
    can = frozenset(Ability)
    person = "WorkerId"  # the service's name for the id of a person

    def platform(self, design: StudyDesign) -> str:
        return LIVE if design.crowd.live and settings.MTURK_LIVE else SANDBOX

    def describe_entrance(self, study: Study) -> str:
        platform = study.platform or self.platform(design_of(study))
        if not settings.MTURK_ENDPOINT:
            return _(
                "Amazon closed Mechanical Turk on 30 September 2026. To use this crowd, set "
                "AWS_ENDPOINT_URL_MTURK to the address of an emulator or of another server with the same API."
            )
        if platform == LIVE:
            sentence = _("Participants find the study at %(site)s. Their work there costs real money.")
        else:
            sentence = _(
                "Participants find the study at %(site)s. This is the sandbox, where no money is paid."
            )
        return sentence % {"site": sites_of(platform)[0]}

    def price(self, design: StudyDesign, *, places: int) -> Price:  # of one of the HIT's places
        percent = BASE_FEE + (MANY_PLACES_FEE if places >= MANY_PLACES else 0)
        percent += MASTERS_FEE if design.crowd.masters else 0
        cents = design.crowd.reward_cents
        return Price(reward_cents=cents, fee_cents=fee_of(cents, percent, min_cents=MIN_FEE_CENTS))

    def bonus_fee(self, cents: int) -> int:
        return fee_of(cents, BASE_FEE, min_cents=MIN_FEE_CENTS)

    def fetch_balance(self, platform: str) -> int | None:
        return client_of(platform).fetch_balance_cents()

    def publication_plans(self, study: Study) -> Iterable[HITPlan]:
        hits = HIT.objects.filter(study=study, open_slots__gt=0).order_by("position")
        return [HITPlan(hit=pk, places=places) for pk, places in hits.values_list("pk", "open_slots")]

    def refuse_places(self, publication: Publication, places: int) -> None:
        """Raise WrongState if the added places would change the fee rate (InvalidMaximumAssignmentsIncrease)."""
        if publication.places < MANY_PLACES <= publication.places + places:
            raise WrongState(
                _(
                    "Nothing was changed: Mechanical Turk cannot extend a HIT from fewer places than %(many)s (here: "
                    "%(places)s) to %(many)s or more. To publish another HIT, open the study again."
                )
                % {"many": MANY_PLACES, "places": publication.places}
            )

    def refuse(self, study: Study, design: StudyDesign) -> None:
        """Raise WrongState if the study or one of its HITs cannot be published.

        All HITs are checked before opening, so that none is refused after others were published.
        """
        crowd = design.crowd
        # the study was opened at the live site before, and the setting was turned off since
        if crowd.live and not settings.MTURK_LIVE and study.platform == LIVE:
            raise WrongState(
                _(
                    "Nothing was published: study %(slug)r is for the live site of Mechanical Turk, "
                    "but the setting MTURK_LIVE is off."
                )
                % {"slug": study.slug}
            )
        if crowd.reward_cents < 1:
            raise WrongState(
                _("Study %(slug)r pays nothing. Mechanical Turk requires a crowd.reward_cents of at least 1.")
                % {"slug": study.slug}
            )
        if not crowd.budget_cents:
            raise WrongState(
                _("Study %(slug)r has no budget. Set crowd.budget_cents, the maximum cost of the study.")
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
                    "The quiz of study %(slug)r contains items (quiz.items), which pages stored at "
                    "Mechanical Turk cannot show. Set quiz.items = 0 or crowd.question = 'external'."
                )
                % {"slug": study.slug}
            )
        try:
            qualification_requirements(design.workers)
            if has_qualification_test(design):
                quiz_backend().qualification_test(design, title=title_of(design))
            for hit in HIT.objects.filter(study=study).order_by("position"):
                question_of_hit(study, design, hit)
                if crowd.question == "external":
                    break  # all HITs have the same requirements, so one is enough
        except QuestionProblem as problem:
            raise WrongState(_("Nothing was published: %(problem)s") % {"problem": problem}) from None

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        return HANDLERS[call.kind](client_of(call.platform), call)

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[CrowdPublication]:
        """Yield the account's HITs that are marked as this study's, and those of ``known`` that the list lacks."""
        client = client_of(study.platform)
        publications_by_id = {
            publication.external_id: publication for publication in known if publication.external_id
        }
        yielded_ids: set[str] = set()
        for hit in client.list_hits():
            token = token_in_annotation(hit.annotation, study)
            if hit.id in publications_by_id or token:
                yielded_ids.add(hit.id)
                yield _crowd_publication_of(hit, token or publications_by_id[hit.id].token)
        for external_id in publications_by_id.keys() - yielded_ids:
            try:
                hit = client.get_hit(external_id)
            except NotFoundAtTurk:
                continue
            yield _crowd_publication_of(hit, publications_by_id[external_id].token)

    def fetch_work(self, publication: Publication) -> Iterator[CrowdWork]:
        try:
            yield from client_of(publication.platform).list_assignments(publication.external_id)
        except (NotFoundAtTurk, WrongStateAtTurk):  # the HIT was deleted meanwhile
            return

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        """Return whether the crowd confirms the work; None if it does not respond.

        The service returns an assignment only after its submission. While somebody works on it, the service responds
        with a specific error, which does not name the worker; this counts as a confirmation. ``at_work`` is ignored.
        """
        try:
            return client_of(publication.platform, visitor_waits=True).get_assignment(work).worker == worker
        except WrongStateAtTurk:  # somebody works on it
            return True
        except TurkRefusal:
            return False
        except RetryLater:
            return None

    def fetch_answers(self, publication: Publication, work: CrowdWork) -> SubmittedAnswers | None:
        design = design_of(publication.study)
        if design.crowd.question != "html" or publication.hit is None:
            return None
        units = units_of_hit(publication.hit.pk)
        return answers_of_page(work.receipt, design=design, hit=publication.hit, units=units)

    def ids_with_news(self, platform: str) -> Iterator[str]:
        """Yield the ids of HITs named in the messages of the SQS queue, if there is one. Read messages are deleted."""
        if not settings.MTURK_SQS_QUEUE:
            return
        for body in receive_messages(platform):
            try:
                yield from read_sqs(body)
            except NotificationProblem:  # a message of another sender, which may be deleted
                continue


def _crowd_publication_of(hit: TurkHIT, token: str) -> CrowdPublication:
    return CrowdPublication(
        external_id=hit.id,
        token=token,
        is_over=hit.is_over,
        places=hit.places,
        group_id=hit.type_id,  # ``Publication.group_id`` is the id of the HIT type
        reward_cents=hit.reward_cents,
        readable=hit.status != "Disposed",
        expires_at=hit.expires_at,
        facts={
            "status": hit.status,
            "places": hit.places,
            "pending": hit.pending_count,
            "available": hit.available_count,
            "completed": hit.completed_count,
            "group": hit.group_id,
        },
    )
