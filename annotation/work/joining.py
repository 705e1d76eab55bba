"""Let people join a study by a name, and check the study's requirements.

A worker gets two secrets, of which only hashes are stored. The token is in a cookie and identifies the worker in each
request. The resume code, with the name, gives a new token in another browser. Depending on the design, joining also
needs the study's code, an invitation, or consent. Workers declare their country. Approved work is counted on this
installation.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import CharField, Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.people import uses_public_link
from annotation.errors import (
    CountryProblem,
    JoinRefused,
    NameProblem,
    NameTaken,
    NotJoined,
    RequirementNotMet,
)
from annotation.models import Assignment, Invitation, Participation, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.models.people import NAME_LENGTH, NAME_MARK
from annotation.privacy.consent import record_agreement, store_first_version
from annotation.work.quiz import quiz_backend
from common import rate_limits
from common.amounts import spell_number
from common.audit import log_about
from common.errors import ObjectNotFound, WrongState
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.access.study_log import note_event
from judgments.design.countries import COUNTRIES, country_name
from judgments.design.quiz import asks_anything
from judgments.design.requirements import Workers, approval_is_enough
from judgments.design.study_design import StudyDesign
from judgments.drawing.keys import content_key
from judgments.models import Study
from judgments.studies.codes import CAPITALS, LETTERS, random_code
from judgments.studies.designs import design_of

# states of assignments that count towards workers.hits_at_most
COUNTED_STATES = (*LIVE_STATES, "invalidated")
INVITATION_LENGTH = 12  # 59 bits cannot be guessed
MAX_INVITATIONS = 500  # invitations made at a time
TOKEN_BYTES = 32  # random bytes
RESUME_CODE_BYTES = 12


def hash_secret(secret: str) -> str:
    """Return the hash of a token or a resume code. A fast hash suffices, since these have many random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_requirements(*, requirements: Workers, worker: Worker | None, country: str = "") -> None:
    """Check that a worker meets the requirements.

    Args:
        worker: None for a new worker.
        country: the code of the country that the worker declares now; "" if they declare none.

    Raises:
        CountryProblem: the worker declared another country before.
        RequirementNotMet: a requirement is not met.
    """
    known_country = worker.country if worker is not None else ""
    if known_country and country not in ("", known_country):
        raise CountryProblem(
            _(
                "You told us earlier that you live in %(country)s. If this has changed, write to the researchers."
            )
            % {"country": country_name(known_country)}
        )
    if requirements.countries:
        country = known_country or country
        if not country:
            raise RequirementNotMet(_("Please say in which country you live; this study asks for it."))
        if country not in requirements.countries:
            raise RequirementNotMet(
                _("This study is for people who do not live in %(country)s.")
                % {"country": country_name(country)}
            )
    _check_qualifications(requirements, worker)
    if not requirements.approval_above and not requirements.approved_at_least:
        return
    approved, rejected = _count_reviews(worker) if worker is not None else (0, 0)
    if approved < requirements.approved_at_least:
        raise RequirementNotMet(
            _(
                "This study is for people whose work on this site was approved before. Approved pages of work: you "
                "need at least %(wanted)s and have %(approved)s."
            )
            % {"wanted": requirements.approved_at_least, "approved": approved}
        )
    if requirements.approval_above and not approval_is_enough(
        approved, rejected, requirements.approval_above
    ):
        raise RequirementNotMet(
            _(
                "You can join this study only if more than %(share)s %% of your work on this site was approved."
            )
            % {"share": spell_number(requirements.approval_above * 100)}
        )


def _check_qualifications(requirements: Workers, worker: Worker | None) -> None:
    if not requirements.requires and not requirements.forbids:
        return
    own_names = set(worker.qualifications.values_list("name", flat=True)) if worker is not None else set()
    if not own_names.issuperset(requirements.requires):
        raise RequirementNotMet(_("This study is only for people whom the researchers have selected."))
    if own_names.intersection(requirements.forbids):
        raise RequirementNotMet(_("This study is only for people who did not take part in an earlier study."))


def _count_reviews(worker: Worker) -> tuple[int, int]:
    """Return the numbers of the worker's approved and of their rejected assignments."""
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=Q(state=Assignment.State.APPROVED)),
        rejected=Count("pk", filter=Q(state=Assignment.State.REJECTED)),
    )
    return counts["approved"], counts["rejected"]


def check_may_work(*, study: Study, design: StudyDesign, worker: Worker) -> None:
    """Check that a worker may take a HIT. Simulated workers and models always may.

    Raises:
        RequirementNotMet: the person does not meet a requirement of the study.
        NotAdmitted: the person has not passed the quiz.
    """
    if not worker.is_person:
        return
    check_requirements(requirements=design.requirements_checked_here, worker=worker)
    if asks_anything(design.quiz):
        quiz_backend().check_passed(study=study, design=design, worker=worker)


def has_reached_limit(*, study: Study, design: StudyDesign, worker: Worker) -> bool:
    """Return whether a person has taken as many HITs as the design allows (``workers.hits_at_most``)."""
    limit = design.workers.hits_at_most
    if not limit or not worker.is_person:
        return False
    return Assignment.objects.filter(study=study, worker=worker, state__in=COUNTED_STATES).count() >= limit


def checked_country(code: str) -> str:
    """Return the code of a country in capitals; "" stays "". Raise CountryProblem if there is no such country."""
    code = code.strip().upper()
    if code and code not in COUNTRIES:
        raise CountryProblem(
            _("%(code)r is not a country code; expected two letters of ISO 3166-1, such as US.")
            % {"code": code}
        )
    return code


def instructions_version(design: StudyDesign) -> str:
    """Return a hash of the question, the instructions and the worked examples."""
    examples = [example.model_dump(mode="json") for example in design.examples]
    return content_key(design.question, design.instructions, examples)[:16]


@transaction.atomic
def create_invitations(*, study: Study, count: int, note: str = "") -> list[Invitation]:
    """Create ``count`` invitations with new codes. Raise WrongState unless the study is for invited people."""
    if design_of(study).access.join != "invited":
        raise WrongState(f"Study {study.slug!r} asks nobody for an invitation; its design says who may join.")
    invitations = Invitation.objects.bulk_create(
        Invitation(study=study, code=random_code(LETTERS, INVITATION_LENGTH), note=note) for _ in range(count)
    )
    sentence = "One invitation was made." if count == 1 else f"{count} invitations were made."
    note_event(study=study, what="invited", sentence=sentence, note=note)
    return invitations


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The result of joining.

    Attributes:
        token: the worker's token, for the cookie.
        resume: the resume code of a new worker; None for others, since only its hash is stored.
    """

    worker: Worker
    participation: Participation
    token: str
    resume: str | None


def suggest_name() -> str:
    return "w-" + random_code(LETTERS, 8)


_WORKER_FOR_TOKEN = PreparedQuery(
    lambda: Worker.objects.filter(token_hash=query_parameter("token_hash", CharField()))
)


def worker_for_token(token: str) -> Worker | None:
    """Return the worker with this token, which is set as ``worker.token``; None if nobody has it."""
    worker = _WORKER_FOR_TOKEN.first(token_hash=hash_secret(token)) if token else None
    if worker is not None:
        worker.token = token
        log_about(worker=worker.pk)
    return worker


@transaction.atomic
def join_study(
    *,
    study: Study,
    name: str,
    code: str = "",
    consent: bool = False,
    country: str = "",
    known_worker: Worker | None = None,
) -> JoinResult:
    """Let a worker join an open study.

    A name that is in use in the study is refused unless it is the name of ``known_worker``. If the name is in use
    only in other studies, it is stored with a mark.

    Args:
        code: the study's code, or the code of an invitation.
        known_worker: the worker whose token came with the request. Another name makes another worker.

    Raises:
        NameProblem, NameTaken: the name is invalid or in use.
        JoinRefused: the study admits nobody, or not with this code or without consent.
        CountryProblem, RequirementNotMet: see ``check_requirements``.
    """
    name, code, country = checked_name(name), _clean_code(code), checked_country(country)
    if known_worker and not (known_worker.is_called(name) and known_worker.source == Worker.Source.LOCAL):
        known_worker = None
    old_participation = _find_participation(study, known_worker)
    if old_participation is None:
        _check_may_join(study, design_of(study), code, consent)
        check_requirements(requirements=design_of(study).workers, worker=known_worker, country=country)
    if known_worker is None:
        rate_limits.count_use("join", study.slug)
    worker, token, resume = _find_or_create_worker(study, name, known_worker, country)
    log_about(worker=worker.pk)
    participation = old_participation or _find_or_create_participation(
        study, worker, code, consent, is_new_worker=resume is not None
    )
    return JoinResult(worker=worker, participation=participation, token=token, resume=resume)


@transaction.atomic
def resume_worker(
    *, study: Study, name: str, resume: str, code: str = "", consent: bool = False, country: str = ""
) -> JoinResult:
    """Give the worker with this name and resume code a new token. The old token becomes invalid.

    If the worker has not joined the study yet, they join it. The other parameters and the errors are those of
    ``join_study``.

    Args:
        resume: the resume code.
    """
    code, country = _clean_code(code), checked_country(country)
    worker = _worker_of_resume_code(name, resume)
    participation = _find_participation(study, worker)
    if participation is None:
        _check_may_join(study, design_of(study), code, consent)
        check_requirements(requirements=design_of(study).workers, worker=worker, country=country)
        _store_country(worker, country)
        participation = _find_or_create_participation(study, worker, code, consent, is_new_worker=False)
    return JoinResult(worker=worker, participation=participation, token=_renew_token(worker), resume=None)


@transaction.atomic
def renew_token(*, name: str, resume: str) -> tuple[Worker, str]:
    """Give the worker with this name and resume code a new token; return both. The old token becomes invalid."""
    worker = _worker_of_resume_code(name, resume)
    return worker, _renew_token(worker)


@transaction.atomic
def renew_resume_code(*, worker: Worker) -> str:
    """Give the worker a new resume code, and return it. The old code becomes invalid."""
    resume = secrets.token_urlsafe(RESUME_CODE_BYTES)
    worker.resume_hash = hash_secret(resume)
    worker.save(update_fields=["resume_hash"])
    return resume


def require_participation(*, study: Study, worker: Worker) -> Participation:
    """Return the worker's participation in the study. Raise NotJoined if there is none."""
    participation = _find_participation(study, worker)
    if participation is None:
        raise NotJoined(_("You have not joined this study."))
    return participation


def checked_name(name: str) -> str:
    """Return a name in its stored form: Unicode-composed (NFC), with single spaces. Raise NameProblem if invalid."""
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
        raise NameProblem(_("A name has 1 to %(most)d visible characters.") % {"most": NAME_LENGTH})
    if re.fullmatch(r"anon-\d+", name):
        raise NameProblem(_("The name %(name)r is reserved. Please choose another name.") % {"name": name})
    return name


def _clean_code(code: str) -> str:
    """Return a code without surrounding spaces; "" if it has unprintable characters, which no code has."""
    code = code.strip()
    return code if code.isprintable() else ""


def _worker_of_resume_code(name: str, resume: str) -> Worker:
    """Return the worker with this name and resume code. Raise NameTaken, and count the attempt, if there is none."""
    name, resume_hash = checked_name(name), hash_secret(_clean_code(resume))
    worker = Worker.objects.filter(source=Worker.Source.LOCAL, resume_hash=resume_hash).first()
    if worker is None or not worker.is_called(name):
        rate_limits.count_use("resume")
        raise NameTaken(_("The name and the resume code do not match."))
    return worker


def _store_country(worker: Worker, country: str) -> None:
    """Store the country that a worker declares, unless one is known."""
    if country and not worker.country:
        worker.country = country
        worker.save(update_fields=["country"])


def _find_participation(study: Study, worker: Worker | None) -> Participation | None:
    return Participation.objects.filter(study=study, worker=worker).first() if worker is not None else None


def _check_may_join(study: Study, design: StudyDesign, code: str, consent: bool) -> None:
    """Raise JoinRefused if a person cannot join the study by its public link, with this code and consent."""
    if study.state != Study.State.OPEN:
        raise JoinRefused(_("This study is not open for answers."))
    if study.simulated:
        raise JoinRefused(_("This study is a rehearsal with simulated answers; nobody can join it."))
    if not uses_public_link(study.platform):
        raise JoinRefused(_("This study is for people who come from a panel. Please open it from the panel."))
    access = design.access
    required_code = access.code.strip()
    if access.join == "code" and not (
        required_code and secrets.compare_digest(code.encode(), required_code.encode())
    ):
        rate_limits.count_use("code", study.slug)
        raise JoinRefused(_("This is not the code of this study."))
    if access.join == "invited":
        invitation = Invitation.objects.filter(study=study, code=code).first() if code else None
        if invitation is None or invitation.used_at is not None:
            rate_limits.count_use("code", study.slug)
            raise JoinRefused(
                _(
                    "This study is only for invited people. The invitation code is unknown or was already used."
                )
            )
    if design.consent and not consent:
        raise JoinRefused(_("Please read the consent text and agree to it before you join."))


def _find_or_create_worker(
    study: Study, name: str, known_worker: Worker | None, country: str
) -> tuple[Worker, str, str | None]:
    """Return the worker, their token and, for a new worker, the resume code (else None).

    Raises:
        NameProblem: the name ends like a name with a mark.
        NameTaken: the name is in use in the study.
    """
    if known_worker is not None:
        _store_country(known_worker, country)
        # keep a token that came with the request, since it may be in use in another window
        return known_worker, known_worker.token or _renew_token(known_worker), None
    token, resume = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_urlsafe(RESUME_CODE_BYTES)
    if NAME_MARK.search(name):
        raise NameProblem(
            _("A name cannot end with # and eight letters or digits; please choose another one.")
        )
    # with a mark, a name can be in use in several studies
    for stored_name in (name, f"{name} #{secrets.token_hex(4)}"):
        with suppress(IntegrityError), transaction.atomic():
            worker = Worker.objects.create(
                name=stored_name,
                token_hash=hash_secret(token),
                resume_hash=hash_secret(resume),
                country=country,
            )
            return worker, token, resume
        # if two people join with the same name at once, the second waits here until the first has joined
        Worker.objects.select_for_update().filter(source=Worker.Source.LOCAL, name=name).first()
        namesakes = Worker.objects.filter(
            source=Worker.Source.LOCAL, name__startswith=name, participations__study=study
        )
        if any(worker.is_called(name) for worker in namesakes):
            break
    raise NameTaken(
        _(
            "The name %(name)r is taken. Please choose another name. If the name is yours, enter your "
            "resume code, too."
        )
        % {"name": name}
    )


def _renew_token(worker: Worker) -> str:
    """Give the worker a new token, and return it."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    worker.token_hash = hash_secret(token)
    worker.save(update_fields=["token_hash"])
    return token


@transaction.atomic
def join_from_crowd(*, study: Study, worker: Worker, consent: bool) -> Participation:
    """Let a worker sent by a crowd join a study, or consent to its changed consent text. Return the participation.

    The study's own admission rules do not apply, since the crowd admitted the worker.

    Raises:
        JoinRefused: the study asks for consent.
    """
    participation = _find_participation(study, worker)
    if participation is not None:
        if consent:  # the consent text may have changed since the first time
            record_agreement(study=study, worker=worker)
        return participation
    if design_of(study).consent and not consent:
        raise JoinRefused(_("Please read the consent text and agree to it before you join."))
    return _find_or_create_participation(study, worker, "", consent, is_new_worker=False)


def _find_or_create_participation(
    study: Study, worker: Worker, code: str, consent: bool, *, is_new_worker: bool
) -> Participation:
    """Return the worker's participation in the study. A new one uses up the invitation with this code."""
    design = design_of(study)
    consent_version = store_first_version(study)
    values = {
        "consent_version": consent_version,
        "consented_at": timezone.now() if consent_version and consent else None,
        "completion_code": random_code(CAPITALS, 8),
    }
    if is_new_worker:
        participation, is_new = Participation.objects.create(study=study, worker=worker, **values), True
    else:  # another window may join at the same moment
        participation, is_new = Participation.objects.get_or_create(
            study=study, worker=worker, defaults=values
        )
    if is_new and design.access.join == "invited" and worker.source == Worker.Source.LOCAL:
        _use_invitation(study, worker, code)
    return participation


def _use_invitation(study: Study, worker: Worker, code: str) -> None:
    """Use up an invitation. One guarded update does it, so that two people cannot use the same invitation."""
    unused_invitation = Invitation.objects.filter(study=study, code=code, used_at=None)
    if not unused_invitation.update(used_at=timezone.now(), worker=worker):
        raise JoinRefused(_("Somebody else has already used this invitation."))


def find_worker(study: Study, name: str) -> Worker:
    """Return the study's participant with this name. Raise ObjectNotFound if there is none."""
    worker = Worker.objects.filter(participations__study=study, name=name.strip()).first()
    if worker is None:
        raise ObjectNotFound(
            f"Nothing was changed: no participant {name[:80]!r} took part in study {study.slug!r}."
        )
    return worker
