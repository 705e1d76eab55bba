"""The operations on a dataset: share it, give and take roles, and publish systems."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import translation
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from common.parameters import Parameters
from judgments.access.dataset_roles import (
    give_dataset_role,
    publish_system,
    revoke_dataset_role,
    share_dataset,
)
from judgments.access.roles import find_person
from judgments.jobs.queues import enqueue
from judgments.models import Dataset, DatasetRole
from judgments.studies.operations import PersonRequest

log = logging.getLogger(__name__)
Sharing = Dataset.Sharing


@dataclass(frozen=True, slots=True)
class DatasetOperation:
    """An operation on a dataset.

    Attributes:
        role: the role that a person needs in the dataset; "" if ``function`` checks the person's rights.
        function: the function that carries out the operation. It returns a sentence for the page and the command. The
            sentence is a lazy translation, since the log stores it in English.
    """

    name: str
    summary: str
    parameters: type[Parameters]
    role: str
    function: Callable[..., Promise]

    @property
    def description(self) -> str:
        return inspect.getdoc(self.function) or ""

    @transaction.atomic
    def carry_out(self, *, dataset: Dataset, by: User | None, **values: Any) -> str:
        """Carry out the operation, and log it: in the admin's history or, for a command, in the server's log."""
        sentence = self.function(dataset=dataset, by=by, **values)
        with translation.override("en"):
            english_sentence = str(sentence)
        if by is None:
            log.info("A command: %s", english_sentence)
        else:
            LogEntry.objects.log_actions(by.pk, [dataset], CHANGE, english_sentence, single_object=True)
        return str(sentence)


class ShareRequest(Parameters):
    """The people who may read a dataset besides its members."""

    sharing = serializers.ChoiceField(choices=Sharing.choices, label="Who may read it")


def _share(*, dataset: Dataset, by: User | None, sharing: str) -> Promise:
    """Let only its members, all researchers, or everybody read a dataset. Roles in its studies do not change."""
    share_dataset(dataset=dataset, sharing=sharing)
    readers = gettext_lazy(Sharing(sharing).label)
    return format_lazy(
        gettext_lazy("Dataset {dataset} can now be read by {whom}."), dataset=dataset.name, whom=readers
    )


class DatasetRoleRequest(PersonRequest):
    """A person, and the role to give."""

    role = serializers.ChoiceField(choices=DatasetRole.Role.values)


def _give_role(*, dataset: Dataset, by: User | None, role: str, user: int = 0, username: str = "") -> Promise:
    """Give a person a role in a dataset. It replaces the person's previous role."""
    membership = give_dataset_role(dataset=dataset, user=find_person(user, username), role=role, by=by)
    sentence = gettext_lazy("{person} is now {role} of dataset {dataset}.")
    return format_lazy(
        sentence,
        person=membership.user.get_username(),
        role=gettext_lazy(membership.role),
        dataset=dataset.name,
    )


def _take_role(*, dataset: Dataset, by: User | None, user: int = 0, username: str = "") -> Promise:
    """Remove a person's role in a dataset. The last owner cannot be removed."""
    person = find_person(user, username)
    revoke_dataset_role(dataset=dataset, user=person)
    sentence = gettext_lazy("{person} no longer has a role in dataset {dataset}.")
    return format_lazy(sentence, person=person.get_username(), dataset=dataset.name)


class PublishRequest(Parameters):
    """The name of a system."""

    system = serializers.CharField(max_length=80)


def _publish_outputs(*, dataset: Dataset, by: User | None, system: str) -> Promise:
    """Show a system's outputs permanently to everybody who may read the dataset. The system's owner decides."""
    publish_system(dataset=dataset, name=system, by=by)
    return format_lazy(gettext_lazy("System {system} was published."), system=system)


def _scale(*, dataset: Dataset, by: User | None) -> Promise:
    """Start a job that scales the pictures that are not scaled yet. The originals stay unchanged."""
    enqueue(kind="scale_pictures", args={"dataset": dataset.name}, user=by, once=True)
    return format_lazy(
        gettext_lazy("The pictures of {dataset} are now being scaled in the background."),
        dataset=dataset.name,
    )


OPERATIONS = {
    operation.name: operation
    for operation in (
        DatasetOperation("share", "Who may read a dataset", ShareRequest, "owner", _share),
        DatasetOperation("give-role", "Give a role in a dataset", DatasetRoleRequest, "owner", _give_role),
        DatasetOperation("take-role", "Take a role in a dataset away", PersonRequest, "owner", _take_role),
        DatasetOperation("publish", "Publish a system", PublishRequest, "", _publish_outputs),
        DatasetOperation("scale-pictures", "Scale a dataset's pictures", Parameters, "editor", _scale),
    )
}
