"""Giving people a part in a study, and taking it back."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from judgments.errors import DesignError, WrongState
from judgments.models import Study, StudyRole
from judgments.services.events import note_event

Role = StudyRole.Role


@transaction.atomic
def give_role(*, study: Study, user: User, role: str, by: User | None = None) -> StudyRole:
    """Give a person a role in a study, in place of the one they had.

    Raises:
        DesignError: there is no such role, or the account cannot sign in.
        WrongState: the study would be left without an owner.
    """
    if role not in Role.values:
        raise DesignError(
            f"There is no role {role!r}; expected one of {', '.join(Role.values)}.", field="role"
        )
    if not user.is_active:
        raise DesignError(f"The account {user.get_username()!r} is not active.", field="user")
    had = _held(study, user)
    if had == role:
        return StudyRole.objects.get(study=study, user=user)
    if had == Role.OWNER:
        _keep_an_owner(study, user)
    given, _ = StudyRole.objects.update_or_create(
        study=study, user=user, defaults={"role": role, "given_by": by}
    )
    note_event(
        study=study,
        what="role-given",
        words=f"{user.get_username()} is {role} now{f', and was {had}' if had else ''}.",
        by=by,
        user=user.pk,
        role=role,
        before=had,
    )
    return given


@transaction.atomic
def take_role(*, study: Study, user: User, by: User | None = None) -> None:
    """Take a person's role in a study away; nothing happens where they have none.

    Raises:
        WrongState: the study would be left without an owner.
    """
    had = _held(study, user)
    if had is None:
        return
    if had == Role.OWNER:
        _keep_an_owner(study, user)
    StudyRole.objects.filter(study=study, user=user).delete()
    note_event(
        study=study,
        what="role-taken",
        words=f"{user.get_username()} is {had} no longer.",
        by=by,
        user=user.pk,
        before=had,
    )


def _held(study: Study, user: User) -> str | None:
    """The person's role; the study's row is held until the transaction ends, so that two owners who leave at once
    do not leave it alone."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()


def _keep_an_owner(study: Study, user: User) -> None:
    if not StudyRole.objects.filter(study=study, role=Role.OWNER).exclude(user=user).exists():
        raise WrongState(
            f"{user.get_username()} is the only owner of study {study.slug!r}; make somebody else an owner first."
        )
