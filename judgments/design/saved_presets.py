"""Save presets, and find designs by the name of a study, preset or file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext

from common.errors import DataConflict, ObjectNotFound, WrongState, did_you_mean
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.reading.study_files import read_toml
from judgments.design.study_design import StudyDesign
from judgments.models import SavedPreset, Study, StudyEvent
from judgments.studies.designs import design_of

# Keys that are specific to one study and not part of a preset.
OWN_KEYS = ("name", "slug", "dataset", "seed", "preset", "registration", "chosen", "by_hand")
CHANGE_EVENT = "design-changed"


def saved_presets() -> dict[str, Preset]:
    return {
        preset.slug: Preset(
            title=preset.title,
            source=preset.description or "saved here",
            values={**preset.values, "preset": preset.slug},
        )
        for preset in SavedPreset.objects.all()
        if preset.slug not in PRESETS  # a later version may ship a preset with this name
    }


def newest_presets(most: int) -> list[SavedPreset]:
    rows = SavedPreset.objects.exclude(slug__in=PRESETS).defer("values").order_by("-made_at", "-pk")[:most]
    return sorted(rows, key=lambda preset: (preset.title, preset.slug))


def preset_values(design: StudyDesign) -> dict[str, Any]:
    values = design.model_dump(mode="json")
    for key in OWN_KEYS:
        values.pop(key, None)
    if design.access.join == "code":
        del values["access"]  # each study has its own code
    values["panel"] = {
        key: value for key, value in values["panel"].items() if key not in ("codes", "addresses")
    }
    del values["crowd"]["live"]  # choosing a preset must not spend money
    return values


@transaction.atomic
def store_preset(
    *, design: StudyDesign, slug: str, title: str, description: str = "", by: User | None = None
) -> SavedPreset:
    """Save a design as a preset.

    Raises:
        DesignError: the slug is invalid.
        DataConflict: a preset with this slug exists.
    """
    checked = make_design({"name": title, "slug": slug or " ", "dataset": "any", "protocol": design.protocol})
    if checked.slug in PRESETS:
        raise DataConflict(
            gettext("Quorum has a built-in preset %(slug)r; choose another short name.") % {"slug": slug}
        )
    try:
        with transaction.atomic():
            return SavedPreset.objects.create(
                slug=checked.slug,
                title=title.strip(),
                description=description.strip(),
                values=preset_values(design),
                made_by=by,
            )
    except IntegrityError:
        raise DataConflict(
            gettext("There is already a preset %(slug)r; choose another short name.") % {"slug": slug}
        ) from None


@transaction.atomic
def rename_preset(*, slug: str, title: str, description: str, by: User) -> SavedPreset:
    """Change a preset's title and description. The slug stays the same, since study files refer to it.

    Raises:
        ObjectNotFound: there is no such preset.
        WrongState: the preset belongs to another person.
    """
    preset = _own_preset(slug, by)
    preset.title, preset.description = title.strip(), description.strip()
    preset.save(update_fields=["title", "description"])
    return preset


@transaction.atomic
def delete_preset(*, slug: str, by: User) -> None:
    """Delete a saved preset. Studies that were made from the preset keep their designs."""
    _own_preset(slug, by).delete()


def may_change_preset(preset: SavedPreset, user: User) -> bool:
    return preset.made_by_id == user.pk or user.has_perm("judgments.delete_study")


def _own_preset(slug: str, by: User) -> SavedPreset:
    preset = SavedPreset.objects.select_for_update().filter(slug=slug).first()
    if preset is None:
        raise ObjectNotFound(gettext("There is no saved preset %(slug)r.") % {"slug": slug})
    if not may_change_preset(preset, by):
        raise WrongState(
            gettext("Another person saved the preset %(slug)r; only this person can change it.")
            % {"slug": slug}
        )
    return preset


@dataclass(frozen=True, slots=True)
class NamedDesign:
    """A design and its title. ``is_complete`` is false for a preset, which lacks name, slug, dataset and seed."""

    title: str
    design: StudyDesign
    is_complete: bool = True

    def comparable_values(self, other: NamedDesign) -> dict[str, Any]:
        values = self.design.model_dump(mode="json")
        if not (self.is_complete and other.is_complete):
            for key in ("name", "slug", "dataset", "seed"):
                del values[key]
        return values


def find_design(name: str, *, studies: QuerySet[Study], files: bool = False) -> NamedDesign:
    """Return the design of a study, of a preset or, if ``files`` is set, of a study file.

    Args:
        name: ``SLUG``, ``SLUG@NUMBER`` (the design before the log entry with this number), ``preset:NAME``, a
            preset's name without "preset:", or the path of a study file.
        studies: the studies that the person may see.
    """
    slug, _, number = name.partition("@")
    study = studies.filter(slug=slug).first()
    if study is not None and number:
        return _earlier_design(study, number)
    if study is not None:
        return NamedDesign(title=study.name, design=design_of(study))
    presets = {**saved_presets(), **PRESETS}
    bare_name = name.removeprefix("preset:")
    if bare_name in presets:
        design = make_design(
            {"name": "new", "slug": "new", "dataset": "new", "preset": bare_name}, saved=presets
        )
        return NamedDesign(title=presets[bare_name].title, design=design, is_complete=False)
    if files and Path(name).suffix == ".toml":
        text = Path(name).read_text(encoding="utf-8-sig")
        return NamedDesign(title=name, design=read_toml(text, source=name, saved=presets))
    raise ObjectNotFound(
        (
            gettext("There is no study and no preset %(words)r; a study file ends in .toml.")
            if files
            else gettext("There is no study and no preset %(words)r.")
        )
        % {"words": name}
        + did_you_mean(name, [*studies.values_list("slug", flat=True), *presets])
    )


def earlier_designs(study: Study) -> list[StudyEvent]:
    return list(_changes(study).select_related("by")[:50])


def _changes(study: Study) -> QuerySet[StudyEvent]:
    return StudyEvent.objects.filter(study=study, what=CHANGE_EVENT, details__has_key="before")


def _earlier_design(study: Study, number: str) -> NamedDesign:
    event = _changes(study).filter(pk=number).first() if number.isdecimal() and len(number) < 19 else None
    if event is None:
        raise ObjectNotFound(
            gettext("Study %(slug)r has no earlier design %(number)r.")
            % {"slug": study.slug, "number": number}
        )
    return NamedDesign(
        title=gettext("%(study)s, design before the change at %(time)s")
        % {"study": study.name, "time": date_format(localtime(event.at), "DATETIME_FORMAT")},
        design=make_design(event.details["before"]),
    )
