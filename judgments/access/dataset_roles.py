"""Give, take and check the roles of people in a dataset, and decide who else may read the dataset."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from common.errors import ObjectNotFound, WrongState, did_you_mean
from judgments.access.rights import Person
from judgments.models import Dataset, DatasetRole, System
from judgments.models.datasets import is_staff, pre_share, sees_all_datasets

# roles in a dataset, from the least to the most powerful, with what each may do
DATASET_ROLES = [
    ("viewer", "can view images, captions and published systems, and design studies with them"),
    ("editor", "can also add systems, rankings, judgments and pictures"),
    ("owner", "can also give roles and decide who else can read the dataset"),
]


def has_role(user: Person, dataset: Dataset, min_role: str) -> bool:
    """Return whether a person has the role ``min_role``, or a higher role, in a dataset."""
    if sees_all_datasets(user):
        return True
    if not is_staff(user):
        return False
    roles = list(DatasetRole.Role.values)  # from the least to the most powerful
    sufficient_roles = roles[roles.index(min_role) :]
    return DatasetRole.objects.filter(dataset=dataset, user=user, role__in=sufficient_roles).exists()


def require_editor(user: User | None, dataset: Dataset) -> User:
    """Return the account for which a job or page adds to a dataset.

    Raise WrongState if it is no editor of the dataset, or no longer exists.
    """
    if user is None:
        raise WrongState(
            gettext("Nothing was added, because the account that started the job no longer exists.")
        )
    if not has_role(user, dataset, DatasetRole.Role.EDITOR):
        raise WrongState(
            gettext("Nothing was added: %(name)s is not an editor of dataset %(name2)r.")
            % {"name": user.get_username(), "name2": dataset.name}
        )
    return user


@transaction.atomic
def give_dataset_role(*, dataset: Dataset, user: User, role: str, by: User | None = None) -> DatasetRole:
    """Give a person a role in a dataset, replacing any other.

    Raise WrongState if the account cannot sign in, or if the dataset would lose its last owner.
    """
    if not (user.is_active and user.is_staff):
        raise WrongState(
            gettext(
                "Nothing was changed, because the account %(name)s cannot sign in to these pages. Choose an "
                "active staff account."
            )
            % {"name": user.get_username()}
        )
    if role != DatasetRole.Role.OWNER:
        _refuse_to_lose_owner(dataset, user)
    dataset_role, _ = DatasetRole.objects.update_or_create(
        dataset=dataset, user=user, defaults={"role": role, "given_by": by}
    )
    return dataset_role


@transaction.atomic
def revoke_dataset_role(*, dataset: Dataset, user: User) -> None:
    """Take a person's role in a dataset. Raise WrongState if the dataset would lose its last owner."""
    _refuse_to_lose_owner(dataset, user)
    DatasetRole.objects.filter(dataset=dataset, user=user).delete()


def _refuse_to_lose_owner(dataset: Dataset, user: User) -> None:
    """Raise WrongState if the person is the dataset's only owner.

    The dataset is locked, so that the last two owners cannot leave at the same time. Its key is not, so that rows that
    refer to the dataset can still be added.
    """
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    owners = DatasetRole.objects.filter(dataset=dataset, role=DatasetRole.Role.OWNER)
    if set(owners.values_list("user_id", flat=True)) == {user.pk}:
        raise WrongState(
            gettext("%(name)s is the only owner of dataset %(name2)r; make somebody else an owner first.")
            % {"name": user.get_username(), "name2": dataset.name}
        )


def refuse_other_readers(dataset: Dataset) -> None:
    """Raise WrongState if only members may read a dataset.

    A receiver of the signal ``pre_share`` raises it. The dataset stays locked until the transaction ends, so that what
    the receivers found remains true.
    """
    locked_dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    pre_share.send(sender=Dataset, dataset=locked_dataset)


@transaction.atomic
def share_dataset(*, dataset: Dataset, sharing: str) -> None:
    """Set who may read a dataset. Raise WrongState if only its members may read it."""
    if sharing != Dataset.Sharing.MEMBERS:
        refuse_other_readers(dataset)
    Dataset.objects.filter(pk=dataset.pk).update(sharing=sharing)
    dataset.sharing = sharing


def publish_system(*, dataset: Dataset, name: str, by: User | None = None) -> System:
    """Show a system's outputs permanently to everybody who may read the dataset.

    This cannot be undone: studies that draw from the system could otherwise not be drawn or exported again. ``by`` is
    the person who asks, or None for a command.

    Raises:
        ObjectNotFound: the dataset has no such system that ``by`` may see.
        WrongState: the system belongs to somebody else, or to nobody.
    """
    systems = System.objects.filter(dataset=dataset)
    visible_systems = systems if by is None else systems.visible_to(by)
    system = visible_systems.filter(name=name).first()
    if system is None:
        names = visible_systems.values_list("name", flat=True)
        raise ObjectNotFound(
            gettext("There is no system %(name)r in dataset %(name2)r.")
            % {"name": name, "name2": dataset.name}
            + did_you_mean(name, names)
        )
    if by is not None and system.owner_id != by.pk and not sees_all_datasets(by):
        raise WrongState(
            gettext("Nothing was changed, because system %(name)r belongs to another account.")
            % {"name": name}
        )
    system.private = False
    system.save(update_fields=["private"])
    return system
