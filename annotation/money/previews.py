"""Previews of operations that move money.

A preview has the cost of an operation, and a digest ``confirm`` of its content. To carry out the operation, a client
sends the digest back. If the preview has changed in the meantime, the digest differs, and the operation is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.crowds import Ability, backend_of
from annotation.models import Budget, CrowdCall, CrowdSession, at_crowd
from annotation.money.wages import Overclaim, Pay, overclaims_of, pay_of_sessions
from annotation.work.joining import find_worker
from common.amounts import spell_cents
from common.errors import QuorumError, WrongState
from judgments.drawing.keys import content_key
from judgments.models import Study
from judgments.studies.designs import design_of


class NotConfirmed(QuorumError):
    """Raised if the digest that was sent is not that of the current preview; nothing was done."""

    status = 409
    title = "Not what was confirmed"


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of an operation that moves money.

    Attributes:
        step: the name of the operation.
        total_cents: the cost with fees.
        left_cents: the part of the budget that is neither spent nor reserved now.
        facts: further members of the preview's JSON form, such as ``{"worker": "p-3f2a", "bonus_cents": 50}``.
    """

    study: Study
    step: str
    total_cents: int
    left_cents: int
    facts: Mapping[str, Any]

    @property
    def confirm(self) -> str:
        """The digest with which a client confirms this preview. It does not depend on ``left_cents``."""
        return content_key("money", self.study.slug, self.step, self.total_cents, dict(self.facts))

    def as_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "total_cents": self.total_cents,
            "currency": currency_of(self.study),
            "left_cents": self.left_cents,
            "enough": self.total_cents <= self.left_cents,
            **self.facts,
            "confirm": self.confirm,
        }


def preview_bonus(*, study: Study, worker: str, cents: int) -> Preview:
    session = approved_session(study, worker)
    _require_bonuses(study)
    fee_cents = backend_of(study).bonus_fee(cents)
    facts = {
        "worker": worker,
        "session": session.pk,
        "bonus_cents": cents,
        "fee_cents": fee_cents,
        "bonuses_before": CrowdCall.objects.filter(session=session, kind=Ability.BONUS).count(),
    }
    return Preview(study, "bonus", cents + fee_cents, left_cents(study), facts)


def approved_session(study: Study, name: str) -> CrowdSession:
    """Return the newest approved session of the worker with this name. Raise WrongState if there is none."""
    worker = find_worker(study, name)
    session = (
        CrowdSession.objects.filter(study=study, worker=worker, status="approved").order_by("-pk").first()
    )
    if session is None:
        raise WrongState(
            _(
                "Nothing was paid: no work of %(worker)s was approved. Bonuses are paid only for approved work."
            )
            % {"worker": worker}
        )
    return session


def _require_bonuses(study: Study) -> None:
    """Raise WrongState if the study's crowd pays no bonuses."""
    backend = backend_of(study)
    if Ability.BONUS not in backend.can:
        raise WrongState(
            _("Nothing was paid: the crowd %(title)s pays no bonuses.") % {"title": backend.title}
        )


def preview_top_ups(*, study: Study, worker: str = "") -> Preview:
    """Preview the top-ups of approved sessions below the wage floor, for all people or for one (``worker``)."""
    _require_bonuses(study)
    if worker:
        find_worker(study, worker)
    return preview_of_top_ups(study, pay_of_sessions(study), overclaims_of(study), worker)


def preview_of_top_ups(
    study: Study, pays: Iterable[Pay], overclaims: Iterable[Overclaim], worker: str = ""
) -> Preview:
    """Return the preview of ``preview_top_ups`` from wages, and sessions that claim more time than was observed."""
    backend = backend_of(study)
    # (session, cents) of each top-up
    top_ups = sorted(
        (pay.session, pay.top_up_cents)
        for pay in pays
        if pay.top_up_cents and pay.approved and (not worker or pay.worker == worker)
    )
    bonus_cents = sum(cents for _session, cents in top_ups)
    fee_cents = sum(backend.bonus_fee(cents) for _session, cents in top_ups)
    facts = {
        "payments": len(top_ups),
        "bonus_cents": bonus_cents,
        "fee_cents": fee_cents,
        "claims_not_paid": sum(not worker or claim.worker == worker for claim in overclaims),
        "worker": worker,
        "of": content_key("top-ups", top_ups),  # so that ``confirm`` depends on who gets how much
    }
    return Preview(study, "top-up", bonus_cents + fee_cents, left_cents(study), facts)


def preview_budget(*, study: Study, cents: int) -> Preview:
    """Preview a new budget. ``total_cents`` is the increase."""
    if not study.platform:
        raise WrongState(
            _("Nothing was changed: this study was never opened. To change its budget, edit the design.")
        )
    budget = at_crowd(Budget, study).first()
    old_cents = budget.budget_cents if budget else 0
    facts = {"place": study.platform, "budget_cents": cents, "budget_cents_before": old_cents}
    return Preview(study, "budget", max(0, cents - old_cents), left_cents(study), facts)


def preview_call(*, call: CrowdCall, step: str) -> Preview:
    """Preview the resolution of a failed call.

    A call that the crowd refused can only be retried. A call whose outcome is unknown can only be marked as done or not
    done. Only a publish call can be retried instead of marked as done, as a retry finds the publication if it exists.

    Args:
        step: "retry", "was-done" or "was-not-done".
    """
    if call.state != CrowdCall.State.FAILED:
        raise WrongState(_("Nothing was changed: only failed requests to the crowd can be resolved."))
    if not call.has_unknown_outcome:
        possible_steps = ["retry"]
    elif call.kind == Ability.PUBLISH:
        possible_steps = ["retry", "was-not-done"]
    else:
        possible_steps = ["was-done", "was-not-done"]
    if step not in possible_steps:
        raise WrongState(
            _("Nothing was changed: the only way to resolve this request is %(fitting)s.")
            % {"fitting": " or ".join(possible_steps)}
        )
    cents = int(call.payload.get("cents", 0))
    # a refused call released its money, and a retry reserves it again; with an unknown outcome, it stays reserved
    new_cents = 0 if call.reserved_cents or step == "was-done" else cents
    facts = {"call": call.pk, "kind": call.kind, "cents": cents, "attempts": call.attempts}
    return Preview(call.study, step, new_cents, left_cents(call.study), facts)


def currency_of(study: Study) -> str:
    """Return the currency of the study's budget or, before there is one, of its design."""
    budget = at_crowd(Budget, study).first()
    return budget.currency if budget else design_of(study).currency


def left_cents(study: Study) -> int:
    """Return the cents of the study's budget that are neither spent nor reserved; 0 if it has no budget."""
    budget = at_crowd(Budget, study).first()
    return budget.left_cents if budget else 0


def check_confirmed(preview: Preview, confirm: str | None) -> None:
    """Raise NotConfirmed if ``confirm`` is not the digest of this preview.

    Some forms of the admin send no digest, so None is not checked.
    """
    if confirm is not None and confirm != preview.confirm:
        total = spell_cents(preview.total_cents, currency_of(preview.study))
        raise NotConfirmed(
            f"Nothing was done: this is not what was confirmed; it would now cost {total}. Look "
            "at the preview again, and send its confirm."
        )


def figures_after_operation(preview: Preview, calls: list[CrowdCall]) -> dict[str, Any]:
    """Return the body of the HTTP response after the operation."""
    return {
        "step": preview.step,
        "total_cents": preview.total_cents,
        "currency": currency_of(preview.study),
        "left_cents": left_cents(preview.study),
        "calls": [call.pk for call in calls],
    }
