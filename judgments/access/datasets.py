"""Roles in a dataset, its readers, and publishing systems.

The permission to change datasets counts for every dataset, a role for its own one.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.errors import DesignError, NotThere, WrongState
from judgments.models import Dataset, DatasetRole, System
from judgments.models.datasets import Person, is_staff, sees_all_datasets

Role = DatasetRole.Role
ROLES = [
    ("viewer", "looks at images, captions and published systems, and designs studies of them"),
    ("editor", "also adds systems, rankings, judgments and pictures"),
    ("owner", "also gives roles and decides who else may read the dataset"),
]


def has_role(user: Person, dataset: Dataset, least: str) -> bool:
    """Return whether a person has this role, or a higher one."""
    if sees_all_datasets(user):
        return True
    if not is_staff(user):
        return False
    order = list(Role.values)
    enough = order[order.index(least) :]
    return DatasetRole.objects.filter(dataset=dataset, user=user, role__in=enough).exists()


def require_editor(user: User | None, dataset: Dataset) -> User:
    """Return the account of a job or page that adds to a dataset. Raise WrongState if it may not, or is gone."""
    if user is None:
        raise WrongState(gettext("Nothing was added: the account that asked for it is there no longer."))
    if not has_role(user, dataset, Role.EDITOR):
        raise WrongState(
            gettext("Nothing was added: %(name)s is no editor of dataset %(name2)r.")
            % {"name": user.get_username(), "name2": dataset.name}
        )
    return user


@transaction.atomic
def give_dataset_role(*, dataset: Dataset, user: User, role: str, by: User | None = None) -> DatasetRole:
    """Give a person a role in a dataset, replacing any other.

    Raises:
        DesignError: an unknown role. WrongState: an account that cannot sign in, or the last owner.
    """
    if role not in Role.values:
        raise DesignError(
            gettext("There is no role %(role)r; expected one of %(listed)s.")
            % {"role": role, "listed": ", ".join(Role.values)},
            field="role",
        )
    if not (user.is_active and user.is_staff):
        raise WrongState(
            gettext("Nothing was changed: %(name)s cannot sign in to these pages.")
            % {"name": user.get_username()}
        )
    if role != Role.OWNER:
        _keep_an_owner(dataset, user)
    given, _ = DatasetRole.objects.update_or_create(
        dataset=dataset, user=user, defaults={"role": role, "given_by": by}
    )
    return given


@transaction.atomic
def take_dataset_role(*, dataset: Dataset, user: User) -> None:
    """Raise WrongState if the dataset would lose its last owner."""
    _keep_an_owner(dataset, user)
    DatasetRole.objects.filter(dataset=dataset, user=user).delete()


def _keep_an_owner(dataset: Dataset, user: User) -> None:
    """Lock the dataset, so that the last two owners cannot leave at once."""
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    owners = set(
        DatasetRole.objects.filter(dataset=dataset, role=Role.OWNER).values_list("user_id", flat=True)
    )
    if owners == {user.pk}:
        raise WrongState(
            gettext("%(name)s is the only owner of dataset %(name2)r; make somebody else an owner first.")
            % {"name": user.get_username(), "name2": dataset.name}
        )


def refuse_other_readers(dataset: Dataset) -> None:
    """Lock a dataset, and raise WrongState as long as a challenge hides its references."""
    locked = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    challenge = locked.challenges.exclude(closes_at__lte=timezone.now()).first()
    if challenge is not None:
        raise WrongState(
            gettext("Dataset %(name)r is read by its members alone until challenge %(slug)r is over.")
            % {"name": dataset.name, "slug": challenge.slug}
        )


@transaction.atomic
def share_dataset(*, dataset: Dataset, sharing: str) -> None:
    """Raise WrongState if others would read the references of an open challenge."""
    if sharing != Dataset.Sharing.MEMBERS:
        refuse_other_readers(dataset)
    Dataset.objects.filter(pk=dataset.pk).update(sharing=sharing)
    dataset.sharing = sharing


def publish_system(*, dataset: Dataset, name: str, by: User | None = None) -> System:
    """Show a system's outputs to all who may read the dataset; ``by`` None is a command.

    This is final: studies that draw from the system could not be drawn or exported alike without it.

    Raises:
        NotThere: ``by`` sees no such system. WrongState: it has another owner, or none.
    """
    systems = System.objects.filter(dataset=dataset)
    system = (systems if by is None else systems.visible_to(by)).filter(name=name).first()
    if system is None:
        raise NotThere(
            gettext("There is no system %(name)r in dataset %(name2)r.")
            % {"name": name, "name2": dataset.name}
        )
    if by is not None and system.owner_id != by.pk and not sees_all_datasets(by):
        raise WrongState(gettext("Nothing was changed: system %(name)r is somebody else's.") % {"name": name})
    system.private = False
    system.save(update_fields=["private"])
    return system
