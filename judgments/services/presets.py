"""Designs kept as presets: saved, renamed, deleted by their maker, and offered beside those that ship."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from judgments.design import StudyDesign, make_design
from judgments.errors import DataConflict, DesignError, NotThere, WrongState
from judgments.models import SavedPreset
from judgments.presets import PRESETS, Preset

# what belongs to one study and never to the next: its names, its draw, its plan, its secrets, its real money
OWN_KEYS = ("name", "slug", "dataset", "seed", "preset", "registration")


def saved_presets() -> dict[str, Preset]:
    """Those of this installation, as ``make_design`` takes them; one query."""
    return {
        one.slug: Preset(
            title=one.title,
            source=one.description or "saved here",
            values={**one.values, "preset": one.slug},
        )
        for one in SavedPreset.objects.all()
        if one.slug not in PRESETS  # a later version may ship the name
    }


def newest_presets(most: int) -> list[SavedPreset]:
    """Those that were saved last, ``most`` at most, by their titles; what they hold is not read."""
    rows = SavedPreset.objects.exclude(slug__in=PRESETS).defer("values").order_by("-made_at", "-pk")[:most]
    return sorted(rows, key=lambda one: (one.title, one.slug))


def preset_values(design: StudyDesign) -> dict[str, Any]:
    """What of a design is worth beginning another one with."""
    values = design.model_dump(mode="json")
    for key in OWN_KEYS:
        values.pop(key, None)
    if design.access.join == "code":
        del values["access"]  # each study has a code of its own
    values["panel"] = {
        key: value for key, value in values["panel"].items() if key not in ("codes", "addresses")
    }
    del values["crowd"]["live"]  # nobody spends money by choosing a preset
    return values


@transaction.atomic
def save_preset(
    *, design: StudyDesign, slug: str, title: str, description: str = "", by: User | None = None
) -> SavedPreset:
    """Keep a design to start others from.

    Raises:
        DesignError: no title, or no usable slug.
        DataConflict: a preset of that name ships with the platform, or was saved already.
    """
    _check_title(title, description)
    checked = make_design({"name": title, "slug": slug or " ", "dataset": "any", "protocol": design.protocol})
    if checked.slug in PRESETS:
        raise DataConflict(f"A preset {slug!r} ships with the platform; choose another short name.")
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
        raise DataConflict(f"There is a preset {slug!r} already; choose another short name.") from None


@transaction.atomic
def rename_preset(*, slug: str, title: str, description: str, by: User) -> SavedPreset:
    """Another title and description. The slug stays: study files name it.

    Raises:
        NotThere, WrongState: there is none of this name, or somebody else made it.
        DesignError: no title.
    """
    _check_title(title, description)
    preset = _own(slug, by)
    preset.title, preset.description = title.strip(), description.strip()
    preset.save(update_fields=["title", "description"])
    return preset


@transaction.atomic
def delete_preset(*, slug: str, by: User) -> None:
    """Offer it no more. Studies made from it keep their designs.

    Raises:
        NotThere, WrongState: as for ``rename_preset``.
    """
    _own(slug, by).delete()


def may_change_preset(preset: SavedPreset, user: User) -> bool:
    """Its maker, and whoever may delete any study."""
    return preset.made_by_id == user.pk or user.has_perm("judgments.delete_study")


def _own(slug: str, by: User) -> SavedPreset:
    preset = SavedPreset.objects.select_for_update().filter(slug=slug).first()
    if preset is None:
        raise NotThere(f"There is no saved preset {slug!r}.")
    if not may_change_preset(preset, by):
        raise WrongState(f"Preset {slug!r} was made by somebody else; only its maker changes it.")
    return preset


def _check_title(title: str, description: str) -> None:
    if not 1 <= len(title.strip()) <= 200:
        raise DesignError("A preset's title has 1 to 200 characters.", field="title")
    if len(description) > 1000:
        raise DesignError("A preset's description has 1,000 characters at most.", field="description")
