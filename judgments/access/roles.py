"""Give and take the roles of people in a study (viewer, reviewer, designer and owner)."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from common.errors import WrongState
from judgments.access.rights import Role
from judgments.access.study_log import note_event
from judgments.models import Study, StudyRole


@transaction.atomic
def give_role(*, study: Study, user: User, role: str, by: User | None = None) -> StudyRole:
    """Give a person a role in a study, replacing any other. Raise WrongState if the study would lose its last owner."""
    old_role = _lock_and_find_role(study, user)
    if old_role == role:
        return StudyRole.objects.get(study=study, user=user)
    if old_role == Role.OWNER:
        _refuse_to_lose_owner(study, user)
    study_role, _ = StudyRole.objects.update_or_create(
        study=study, user=user, defaults={"role": role, "given_by": by}
    )
    note_event(
        study=study,
        what="role-given",
        sentence=f"{user.get_username()} is {role} now{f', and was {old_role}' if old_role else ''}.",
        by=by,
        user=user.pk,
        role=role,
        before=old_role,
    )
    return study_role


@transaction.atomic
def revoke_role(*, study: Study, user: User, by: User | None = None) -> None:
    """Take a person's role in a study, and log it. Raise WrongState if the study would lose its last owner."""
    old_role = _lock_and_find_role(study, user)
    if old_role is None:
        return
    if old_role == Role.OWNER:
        _refuse_to_lose_owner(study, user)
    StudyRole.objects.filter(study=study, user=user).delete()
    note_event(
        study=study,
        what="role-taken",
        sentence=f"{user.get_username()} is {old_role} no longer.",
        by=by,
        user=user.pk,
        before=old_role,
    )


def find_person(pk: int, username: str) -> User:
    """Return the staff account with this username or, without a username, the account with this key.

    The key may be that of an account that has left the staff, to revoke its role. Raise WrongState if there is none.
    """
    if username:
        person = User.objects.filter(is_active=True, is_staff=True, username=username).first()
        if person is None:
            raise WrongState(
                gettext("Nothing was changed, because there is no staff account named %(username)r.")
                % {"username": username}
            )
        return person
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise WrongState(gettext("Nothing was changed: choose an account first."))
    return person


def _lock_and_find_role(study: Study, user: User) -> str | None:
    """Lock the study, and return the person's role in it, or None.

    Because of the lock, the last two owners cannot leave at the same time. It leaves the study's key unlocked, so that
    rows that refer to the study can still be added.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()


def _refuse_to_lose_owner(study: Study, user: User) -> None:
    """Raise WrongState if the user is the study's only owner."""
    if not StudyRole.objects.filter(study=study, role=Role.OWNER).exclude(user=user).exists():
        raise WrongState(
            gettext("%(name)s is the only owner of study %(slug)r; make somebody else an owner first.")
            % {"name": user.get_username(), "slug": study.slug}
        )
