"""Let people join a study by a name.

A worker gets two secrets, of which only hashes are stored. The token is in a cookie and identifies the worker in each
request. The resume code, with the name, gives a new token in another browser. Depending on the design, joining also
needs the study's code, an invitation, or consent.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import CharField
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.people import uses_public_link
from annotation.errors import JoinRefused, NameProblem, NameTaken, NotJoined
from annotation.models import Invitation, Participation, Worker
from annotation.models.people import NAME_LENGTH, NAME_MARK
from annotation.privacy.consent import record_agreement, store_first_version
from annotation.work.requirements import check_requirements, checked_country
from common import rate_limits
from common.audit import log_about
from common.errors import ObjectNotFound, WrongState
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.access.study_log import note_event
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.codes import CAPITALS, LETTERS, random_code
from judgments.studies.designs import design_of

INVITATION_LENGTH = 12  # characters; they have 59 random bits, too many to be guessed
MAX_INVITATIONS = 500  # invitations made at a time
TOKEN_BYTES = 32  # random bytes
RESUME_CODE_BYTES = 12  # random bytes


def hash_secret(secret: str) -> str:
    """Return the hash of a token or a resume code. A fast hash suffices, since these have many random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


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
        resume: the resume code of a new worker; None for others, whose code is stored only as a hash.
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
    only in other studies, it is stored with a mark, such as "Anna #1a2b3c4d".

    Args:
        code: the study's code, or the code of an invitation.
        known_worker: the worker of the request's token. A new worker joins if it is from a crowd, or has another name.

    Raises:
        NameProblem, NameTaken: the name is invalid or in use.
        JoinRefused: the study admits nobody, or not with this code or without consent.
        CountryProblem, RequirementNotMet: see ``check_requirements``.
    """
    name = checked_name(name)
    code = _clean_code(code)
    country = checked_country(country)
    if known_worker and (known_worker.source != Worker.Source.LOCAL or not known_worker.is_called(name)):
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
    """
    code = _clean_code(code)
    country = checked_country(country)
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
    if re.fullmatch(r"anon-\d+", name):  # as imports name the unknown workers of published totals
        raise NameProblem(_("The name %(name)r is reserved. Please choose another name.") % {"name": name})
    return name


def _clean_code(code: str) -> str:
    """Return a code without surrounding spaces; "" if it has unprintable characters, which no code has."""
    code = code.strip()
    return code if code.isprintable() else ""


def _worker_of_resume_code(name: str, resume: str) -> Worker:
    """Return the worker with this name and resume code. Raise NameTaken, and count the attempt, if there is none."""
    name = checked_name(name)
    resume_hash = hash_secret(_clean_code(resume))
    worker = Worker.objects.filter(source=Worker.Source.LOCAL, resume_hash=resume_hash).first()
    if worker is None or not worker.is_called(name):
        rate_limits.count_use("resume")
        raise NameTaken(_("The name and the resume code do not match."))
    return worker


def _store_country(worker: Worker, country: str) -> None:
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
    required_code = access.code.strip()  # if it is empty, no code is right
    is_right = bool(required_code) and secrets.compare_digest(code.encode(), required_code.encode())
    if access.join == "code" and not is_right:
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
    """Return the worker, their token and the resume code. The code is None for ``known_worker``, who has one already.

    Raises:
        NameProblem: the name ends like a stored name with a mark.
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
    # stored names are unique; with a mark, people in several studies can have the same name
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
    """Return the worker's participation in the study. Create it if there is none, and use the invitation ``code``."""
    design = design_of(study)
    consent_version = store_first_version(study)  # "" without a consent text
    values = {
        "consent_version": consent_version,
        "consented_at": timezone.now() if consent_version and consent else None,
        "completion_code": random_code(CAPITALS, 8),
    }
    if is_new_worker:  # nobody else knows the worker yet, so no query needs to look for a participation
        participation = Participation.objects.create(study=study, worker=worker, **values)
        is_new = True
    else:  # the same worker may join in another window at the same moment
        participation, is_new = Participation.objects.get_or_create(
            study=study, worker=worker, defaults=values
        )
    if is_new and design.access.join == "invited" and worker.source == Worker.Source.LOCAL:
        _use_invitation(study, worker, code)
    return participation


def _use_invitation(study: Study, worker: Worker, code: str) -> None:
    """Mark an invitation as used. A single update checks and marks it, so that two people cannot both use it."""
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
