"""What each role of a study may do. A permission of Django's counts for every study of the installation, a role for
its own."""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User

from judgments.models import Study, StudyRole

Role = StudyRole.Role
Person = AbstractBaseUser | AnonymousUser


class Right(StrEnum):
    """What may be done with a study, from the least to the most."""

    VIEW = "view"  # its pages, results, files
    REVIEW = "review"  # approve, reject, exclude, adjudicate, answer appeals
    CHANGE = "change"  # design, generate, open, pause, close, spend
    OWN = "own"  # roles, deletion, releases


RIGHTS: dict[str, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.REVIEWER: frozenset({Right.VIEW, Right.REVIEW}),
    Role.DESIGNER: frozenset({Right.VIEW, Right.REVIEW, Right.CHANGE}),
    Role.OWNER: frozenset(Right),
}
PERMISSIONS = {
    Right.VIEW: "judgments.view_study",
    Right.REVIEW: "judgments.change_study",
    Right.CHANGE: "judgments.change_study",
    Right.OWN: "judgments.delete_study",
}


def rights_of(user: Person, study: Study) -> frozenset[Right]:
    """All that a person may do with a study, by their role in it or by a permission for all studies."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    given = frozenset(right for right, permission in PERMISSIONS.items() if user.has_perm(permission))
    if given:
        given |= {Right.VIEW}  # who changes all studies looks at them too, as everywhere in the admin
    if given == frozenset(Right):
        return given
    role = StudyRole.objects.filter(study=study, user=user).values_list("role", flat=True).first()
    return given | RIGHTS[role] if role is not None else given


def may(user: Person, right: Right, study: Study) -> bool:
    """Whether a person may do this with a study."""
    return right in rights_of(user, study)
