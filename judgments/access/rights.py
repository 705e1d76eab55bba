"""The rights of a person in a study, which a Django permission or a role grants.

A permission counts for every study, a role only for one study.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User

from judgments.models import Study, StudyRole

Role = StudyRole.Role
Person = AbstractBaseUser | AnonymousUser


class Right(StrEnum):
    """A right in a study, from the least to the most powerful."""

    VIEW = "view"  # its pages, results, files
    REVIEW = "review"  # approve, reject, exclude, adjudicate, answer appeals
    CHANGE = "change"  # design, generate, open, pause, close, spend
    OWN = "own"  # roles, deletion, releases


RIGHTS_BY_ROLE: dict[str, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.REVIEWER: frozenset({Right.VIEW, Right.REVIEW}),
    Role.DESIGNER: frozenset({Right.VIEW, Right.REVIEW, Right.CHANGE}),
    Role.OWNER: frozenset(Right),
}

# the Django permission that grants a right in every study
PERMISSIONS = {
    Right.VIEW: "judgments.view_study",
    Right.REVIEW: "judgments.change_study",
    Right.CHANGE: "judgments.change_study",
    Right.OWN: "judgments.delete_study",
}


def rights_of(user: Person, study: Study) -> frozenset[Right]:
    return rights_in(user, [study])[study.pk]


def rights_in(user: Person, studies: Collection[Study]) -> dict[int, frozenset[Right]]:
    """Return the user's rights in each study, by the study's row id. One query reads the roles in all studies."""
    if not isinstance(user, User) or not user.is_active:
        return dict.fromkeys((study.pk for study in studies), frozenset())
    # the rights in every study
    general_rights = frozenset(
        right for right, permission in PERMISSIONS.items() if user.has_perm(permission)
    )
    if general_rights:  # the permission to change all studies includes viewing, as in the admin
        general_rights |= {Right.VIEW}
    if general_rights == frozenset(Right):
        return dict.fromkeys((study.pk for study in studies), general_rights)
    roles = dict(StudyRole.objects.filter(study__in=studies, user=user).values_list("study", "role"))
    rights: dict[int, frozenset[Right]] = {}
    for study in studies:
        role = roles.get(study.pk, "")
        rights[study.pk] = general_rights | RIGHTS_BY_ROLE.get(role, frozenset())
    return rights


def has_right(user: Person, right: Right, study: Study) -> bool:
    return right in rights_of(user, study)
