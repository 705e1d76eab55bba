"""A study's life: created, opened, closed; duplicated, and deleted while a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from judgments.design import StudyDesign, make_design
from judgments.errors import DataConflict, DesignError, NotThere, WrongState
from judgments.models import Dataset, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def design_of(study: Study) -> StudyDesign:
    """The study's design; what is stored was checked when it was stored."""
    return StudyDesign.model_validate(study.design)


def find_study(slug: str) -> Study:
    """The study of this slug.

    Raises:
        NotThere: there is none.
    """
    study = Study.objects.select_related("dataset").filter(slug=slug).first()
    if study is None:
        raise NotThere(f"There is no study {slug!r}.")
    return study


def find_dataset(name: str) -> Dataset:
    """The dataset of this name.

    Raises:
        NotThere: there is none; the message names those that are there.
    """
    dataset = Dataset.objects.filter(name=name).first()
    if dataset is None:
        known = ", ".join(Dataset.objects.values_list("name", flat=True)) or "none yet"
        raise NotThere(f"There is no dataset {name!r}; there are: {known}.")
    return dataset


@transaction.atomic
def create_study(*, design: StudyDesign, user: User | None = None) -> Study:
    """Store a design as a draft.

    Raises:
        DesignError: the dataset is not there.
        DataConflict: the slug is taken.
    """
    try:
        dataset = find_dataset(design.dataset)
    except NotThere as error:
        raise DesignError(str(error), field="dataset") from None
    try:
        with transaction.atomic():
            return Study.objects.create(
                slug=design.slug,
                name=design.name,
                dataset=dataset,
                protocol=design.protocol,
                design=design.model_dump(mode="json"),
                created_by=user,
            )
    except IntegrityError:
        raise DataConflict(f"There is a study {design.slug!r} already; choose another slug.") from None


@transaction.atomic
def change_design(*, study: Study, design: StudyDesign) -> Study:
    """Replace the design of a draft.

    Raises:
        WrongState: HITs were generated from it; the design is frozen.
        DesignError, DataConflict: as for ``create_study``.
    """
    _require(study, Study.State.DRAFT, "its design is frozen")
    try:
        dataset = find_dataset(design.dataset)
    except NotThere as error:
        raise DesignError(str(error), field="dataset") from None
    if Study.objects.filter(slug=design.slug).exclude(pk=study.pk).exists():
        raise DataConflict(f"There is a study {design.slug!r} already; choose another slug.")
    study.slug, study.name, study.dataset = design.slug, design.name, dataset
    study.protocol, study.design = design.protocol, design.model_dump(mode="json")
    study.save()
    return study


@transaction.atomic
def duplicate_study(*, study: Study, user: User | None = None) -> Study:
    """A new draft with the same design under the next free slug."""
    number = 2
    while Study.objects.filter(slug=f"{study.slug[:75]}-{number}").exists():
        number += 1
    values = study.design | {"slug": f"{study.slug[:75]}-{number}", "name": f"{study.name[:190]} ({number})"}
    return create_study(design=make_design(values), user=user)


@transaction.atomic
def delete_study(*, study: Study) -> None:
    """Delete a draft, or a generated study that was never opened.

    Raises:
        WrongState: workers were let in; what they answered is never deleted.
    """
    _lock(study)
    if study.state not in (Study.State.DRAFT, Study.State.GENERATED) or study.assignments.exists():
        raise WrongState(
            f"Study {study.slug!r} is {study.state}; only a study that was never opened can be deleted."
        )
    try:
        study.delete()
    except ProtectedError:
        raise WrongState(f"Study {study.slug!r} holds answers and cannot be deleted.") from None


@transaction.atomic
def mark_open(*, study: Study) -> Study:
    """generated or closed -> open; the crowd's own part is annotation.services.crowd."""
    _lock(study)
    if study.state == Study.State.OPEN:
        return study
    if study.state == Study.State.DRAFT:
        raise WrongState(
            f"Study {study.slug!r} is a draft; generate its HITs first (generate_hits {study.slug})."
        )
    if study.source == Study.Source.IMPORTED:
        raise WrongState(f"Study {study.slug!r} holds imported judgments; it has no HITs to open.")
    study.state = Study.State.OPEN
    study.opened_at = study.opened_at or timezone.now()
    study.save(update_fields=["state", "opened_at"])
    return study


@transaction.atomic
def mark_closed(*, study: Study) -> Study:
    """open -> closed. Workers who hold a HIT may still submit it within their lease."""
    _lock(study)
    if study.state == Study.State.CLOSED:
        return study
    _require(study, Study.State.OPEN, "it cannot be closed")
    study.state, study.closed_at = Study.State.CLOSED, timezone.now()
    study.save(update_fields=["state", "closed_at"])
    return study


def _lock(study: Study) -> None:
    """Bring ``study`` up to date and hold its row against others until the transaction ends."""
    fresh = Study.objects.select_for_update().filter(pk=study.pk).first()
    if fresh is None:
        raise NotThere(f"There is no study {study.slug!r} any more.")
    study.refresh_from_db()


def _require(study: Study, state: Study.State, otherwise: str) -> None:
    _lock(study)
    if study.state != state:
        raise WrongState(f"Study {study.slug!r} is {study.state}; {otherwise}.")
