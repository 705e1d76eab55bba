"""The backend for Prolific by its API. People enter a study by a link, as from any panel.

The calls to Prolific are messages in an outbox. The modules of ``outbox`` carry them out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import pgettext

from annotation.crowds.base import (
    Ability,
    CrowdPublication,
    CrowdRefusal,
    CrowdWork,
    OutOfFunds,
    Price,
    RetryLater,
)
from annotation.crowds.panel.backend import ExternalBackend
from annotation.crowds.people import session_pseudonym
from annotation.models import CrowdCall, CrowdSession, Publication, at_crowd
from common.errors import WrongState
from common.features import feature_settings
from contrib.prolific.client import open_client
from contrib.prolific.outbox.deciding import SESSION_STATUS, decide_submission, send_bonus
from contrib.prolific.outbox.filters import needs_filter_list, requirement_filters
from contrib.prolific.outbox.people import blocked_group_name, change_group, send_message
from contrib.prolific.outbox.publishing import (
    OPEN_STATES,
    WORKING_STATES,
    expire_panel_study,
    extend_panel_study,
    publish,
    read_publication,
    refuse_other_currency,
)
from judgments.design.study_design import StudyDesign
from judgments.models import Study

Status = CrowdSession.Status
DECIDED_STATUSES = (Status.APPROVED, Status.REJECTED)
FINISHED_STATUSES = (Status.SUBMITTED, *DECIDED_STATUSES)
VISITOR_SECONDS = 3.0  # time limit of a call during the request of a person who enters a study


class ProlificBackend(ExternalBackend):
    """The backend for Prolific by its API. Each publication is a study at Prolific that this server manages."""

    name = "prolific"
    title = "Prolific"
    can = frozenset(Ability) - {Ability.DELETE}

    def refuse(self, study: Study, design: StudyDesign) -> None:
        super().refuse(study, design)
        public_url = urlsplit(settings.PUBLIC_URL)
        # An emulator of Prolific on this machine, as for tests, needs no https address.
        is_emulated = urlsplit(feature_settings.PROLIFIC_API_URL).hostname in ("localhost", "127.0.0.1")
        workers = design.workers
        uses_groups = workers.requires or workers.forbids or workers.grants
        problem = ""
        if not feature_settings.PROLIFIC_TOKEN:
            problem = pgettext("staff", "Study %(slug)r was not opened: the setting PROLIFIC_TOKEN is empty.")
        elif public_url.scheme != "https" and not is_emulated:
            problem = pgettext(
                "staff",
                "Study %(slug)r was not opened: PUBLIC_URL is %(public_url)r; expected the "
                "https address at which participants from Prolific reach this server.",
            )
        elif uses_groups and not feature_settings.PROLIFIC_WORKSPACE:
            problem = pgettext(
                "staff",
                "Study %(slug)r was not opened: its qualifications need a workspace at "
                "Prolific; set PROLIFIC_WORKSPACE.",
            )
        elif not design.crowd.reward_cents:
            problem = pgettext(
                "staff",
                "Study %(slug)r was not opened: crowd.reward_cents is 0, but participants "
                "from Prolific must be paid.",
            )
        if problem:
            raise WrongState(problem % {"slug": study.slug, "public_url": settings.PUBLIC_URL})

    def check_at_crowd(self, design: StudyDesign) -> None:
        # The currency is that of a workspace, and only some requirements need Prolific's list of filters.
        has_workspace = bool(feature_settings.PROLIFIC_WORKSPACE)
        has_something_to_check = has_workspace or needs_filter_list(design.workers)
        if not (feature_settings.PROLIFIC_TOKEN and has_something_to_check):
            return
        with open_client() as client:
            refuse_other_currency(client, design)
            requirement_filters(client, design.workers, workspace=feature_settings.PROLIFIC_WORKSPACE)

    def describe_entrance(self, study: Study) -> str:
        return pgettext(
            "staff", "Participants come from a study at Prolific. That study links to %(address)s."
        ) % {"address": f"{settings.PUBLIC_URL}/s/{study.slug}/panel/"}

    def fee(self, design: StudyDesign, cents: int) -> int:
        """Return the fee by PROLIFIC_FEE_PERCENT, rounded up. Before a purchase, Prolific's own price is compared."""
        return self.bonus_fee(cents)  # Prolific charges the same rate

    def bonus_fee(self, cents: int) -> int:
        percent: Decimal = feature_settings.PROLIFIC_FEE_PERCENT
        return math.ceil(Decimal(cents) * percent / 100)

    def screen_out_price(self, design: StudyDesign) -> Price:
        cents = design.crowd.screen_out_cents
        return Price(reward_cents=cents, fee_cents=self.fee(design, cents))

    def fetch_balance(self, platform: str) -> int | None:
        if not feature_settings.PROLIFIC_WORKSPACE:
            return None
        try:
            with open_client() as client:
                return client.fetch_balance_cents(feature_settings.PROLIFIC_WORKSPACE)
        except CrowdRefusal as problem:  # final until the setting names a workspace of this account
            raise RetryLater(f"{problem} Check PROLIFIC_WORKSPACE.", final=True) from problem

    def carry_out(self, call: CrowdCall) -> dict[str, Any]:
        with open_client() as client:
            match call.kind:
                case Ability.PUBLISH:
                    return publish(client, call)
                case Ability.EXTEND:
                    return extend_panel_study(client, call)
                case Ability.EXPIRE:
                    return expire_panel_study(client, call)
                case Ability.APPROVE | Ability.REJECT:
                    return decide_submission(client, call)
                case Ability.BONUS:
                    return send_bonus(client, call)
                case Ability.BLOCK | Ability.UNBLOCK:
                    return change_group(
                        client, call, name=blocked_group_name(), add=call.kind == Ability.BLOCK
                    )
                case Ability.QUALIFY:
                    # a qualification with the value 0 is taken away
                    name, add = str(call.payload.get("qualification", "")), bool(call.payload.get("value", 1))
                    return change_group(client, call, name=name, add=add)
                case Ability.MESSAGE:
                    return send_message(client, call)
        raise CrowdRefusal(f"Prolific cannot be asked to {call.kind}.")

    def fetch_publications(self, study: Study, *, known: Iterable[Publication]) -> Iterator[CrowdPublication]:
        tokens_by_id = {
            publication.external_id: publication.token for publication in known if publication.external_id
        }
        # A publication has no id if the response to the call that published it was lost.
        publications_without_id = at_crowd(Publication, study).filter(external_id="")
        unanswered_tokens = set(publications_without_id.values_list("token", flat=True))
        with open_client() as client:
            for external_id, token in tokens_by_id.items():
                yield read_publication(client, client.get_study(external_id), token)
            if unanswered_tokens:
                # the internal name of a study at Prolific is the publication's token
                for panel_study in client.list_studies(project=feature_settings.PROLIFIC_PROJECT):
                    if panel_study.internal_name in unanswered_tokens and panel_study.state in OPEN_STATES:
                        yield read_publication(client, panel_study, panel_study.internal_name)

    def session_id(self, platform: str, raw: str) -> str:
        return session_pseudonym(platform, raw)

    def knows_work(
        self, publication: Publication, *, worker: str, work: str, at_work: bool = True
    ) -> bool | None:
        """Return whether Prolific has a submission with this id of this person; None if it does not say.

        With ``at_work``, the submission must also be in progress.
        """
        try:
            with open_client(timeout=VISITOR_SECONDS) as client:
                submission = client.get_submission(work)
        except (RetryLater, OutOfFunds):
            return None
        except CrowdRefusal:
            return False
        is_same_work = (submission.participant, submission.study) == (worker, publication.external_id)
        return is_same_work and (submission.state in WORKING_STATES or not at_work)

    def fetch_work_ids(self, publication: Publication) -> frozenset[str] | None:
        try:
            with open_client(timeout=VISITOR_SECONDS) as client:
                submissions = client.list_submissions(publication.external_id)
        except (RetryLater, OutOfFunds, CrowdRefusal):
            return None
        return frozenset(self.session_id(publication.platform, submission.id) for submission in submissions)

    def fetch_work(self, publication: Publication) -> Iterator[CrowdWork]:
        """Yield the submissions of people with a session, and of others who were paid or rejected at Prolific.

        At Prolific, everybody who returns with a completion code waits for review, even if the code was copied.
        Therefore, work counts as submitted only if its session is finished here. Otherwise it counts as running.
        """
        stored_statuses = dict(
            CrowdSession.objects.filter(publication=publication).values_list("external_id", "status")
        )
        with open_client() as client:
            for submission in client.list_submissions(publication.external_id):
                status = SESSION_STATUS[submission.state]
                stored_status = stored_statuses.get(self.session_id(publication.platform, submission.id))
                is_paid_screen_out = status == Status.SCREENED_OUT and publication.screen_out_cents
                is_decided = status in DECIDED_STATUSES or is_paid_screen_out
                if stored_status is None and not is_decided:
                    continue
                if status == Status.SUBMITTED and stored_status not in FINISHED_STATUSES:
                    status = Status.WORKING
                yield CrowdWork(
                    external_id=submission.id,
                    worker=submission.participant,
                    status=str(status),
                    accepted_at=submission.started_at,
                    submitted_at=submission.completed_at,
                    receipt=submission.code,
                )
