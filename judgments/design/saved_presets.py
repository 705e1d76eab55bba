"""Save presets, and change and delete them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from common.errors import DataConflict, ObjectNotFound, WrongState
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.study_design import StudyDesign
from judgments.models import SavedPreset

# keys that no preset has, since their values differ for each study
KEYS_OF_ONE_STUDY = ("name", "slug", "dataset", "seed")
# keys that a saved preset does not copy, such as the registered plan, chosen items and changes by hand of its study
UNSAVED_KEYS = (*KEYS_OF_ONE_STUDY, "preset", "registration", "chosen", "by_hand")


def load_saved_presets() -> dict[str, Preset]:
    """Return the saved presets by name, in the form of built-in presets."""
    return {
        preset.slug: Preset(
            title=preset.title,
            source=preset.description or "saved here",
            values={**preset.values, "preset": preset.slug},
        )
        for preset in SavedPreset.objects.all()
        if preset.slug not in PRESETS  # a later version may ship a preset with this name
    }


def newest_presets(limit: int) -> list[SavedPreset]:
    """Return at most ``limit`` of the newest presets, sorted by title."""
    rows = SavedPreset.objects.exclude(slug__in=PRESETS).defer("values").order_by("-made_at", "-pk")[:limit]
    return sorted(rows, key=lambda preset: (preset.title, preset.slug))


def preset_values(design: StudyDesign) -> dict[str, Any]:
    """Return the values of a design that a preset stores for other studies."""
    values = design.model_dump(mode="json")
    for key in UNSAVED_KEYS:
        values.pop(key, None)
    if design.access.join == "code":
        del values["access"]  # each study has its own code
    # codes and return addresses, too, are those of one study at its panel
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
    # check the slug as that of a design
    named_design = make_design({"name": title, "slug": slug, "dataset": "any", "protocol": design.protocol})
    if named_design.slug in PRESETS:
        raise DataConflict(
            gettext("Quorum has a built-in preset %(slug)r; choose another short name.") % {"slug": slug}
        )
    try:
        with transaction.atomic():
            return SavedPreset.objects.create(
                slug=named_design.slug,
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
    preset = _lock_changeable_preset(slug, by)
    preset.title, preset.description = title.strip(), description.strip()
    preset.save(update_fields=["title", "description"])
    return preset


@transaction.atomic
def delete_preset(*, slug: str, by: User) -> None:
    """Delete a saved preset. Studies that were made from the preset keep their designs."""
    _lock_changeable_preset(slug, by).delete()


def may_change_preset(preset: SavedPreset, user: User) -> bool:
    """Return whether the account saved the preset, or may delete studies."""
    return preset.made_by_id == user.pk or user.has_perm("judgments.delete_study")


def _lock_changeable_preset(slug: str, by: User) -> SavedPreset:
    """Lock and return a saved preset. Raise the errors of `rename_preset`."""
    preset = SavedPreset.objects.select_for_update().filter(slug=slug).first()
    if preset is None:
        raise ObjectNotFound(gettext("There is no saved preset %(slug)r.") % {"slug": slug})
    if not may_change_preset(preset, by):
        raise WrongState(
            gettext("Another person saved the preset %(slug)r; only this person can change it.")
            % {"slug": slug}
        )
    return preset
