"""A design by the name that a person gives it: a study, one of its earlier designs, a preset, or a study file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from judgments.design import StudyDesign, make_design, read_toml
from judgments.errors import NotThere
from judgments.models import Study, StudyEvent
from judgments.presets import PRESETS
from judgments.services.presets import saved_presets
from judgments.services.studies import design_of

CHANGED = "design-changed"


@dataclass(frozen=True, slots=True)
class NamedDesign:
    """A design and how it is spoken of.

    Attributes:
        title: for people.
        whole: whether it has a name, slug, dataset and seed of its own; a preset has none.
    """

    title: str
    design: StudyDesign
    whole: bool = True

    def values_beside(self, other: NamedDesign) -> dict[str, Any]:
        """What can be compared with ``other``: without a study's own names where one of the two is a preset."""
        values = self.design.model_dump(mode="json")
        if not (self.whole and other.whole):
            for key in ("name", "slug", "dataset", "seed"):
                del values[key]
        return values


def find_design(words: str, *, studies: QuerySet[Study], files: bool = False) -> NamedDesign:
    """What ``words`` name: ``SLUG``, ``SLUG@NUMBER`` (the design before that entry of the study's log),
    ``preset:NAME``, a preset's bare name where no study has it, or with ``files`` the path of a study file.

    Args:
        studies: those that the asking person may see.

    Raises:
        NotThere: nothing of that name is there, or not for this person.
        DesignError: the file is no study file.
    """
    slug, _, number = words.partition("@")
    study = studies.filter(slug=slug).first()
    if study is not None and number:
        return _earlier(study, number)
    if study is not None:
        return NamedDesign(title=study.name, design=design_of(study))
    presets = {**saved_presets(), **PRESETS}
    name = words.removeprefix("preset:")
    if name in presets:
        design = make_design({"name": "new", "slug": "new", "dataset": "new", "preset": name}, saved=presets)
        return NamedDesign(title=presets[name].title, design=design, whole=False)
    if files and Path(words).suffix == ".toml":
        text = Path(words).read_text(encoding="utf-8-sig")
        return NamedDesign(title=words, design=read_toml(text, source=words, saved=presets))
    raise NotThere(
        f"There is no study and no preset {words!r}{'; a study file ends in .toml' if files else ''}."
    )


def earlier_designs(study: Study) -> list[StudyEvent]:
    """The entries of the log that hold what the design was before, the latest first."""
    events = StudyEvent.objects.filter(study=study, what=CHANGED, details__has_key="before")
    return list(events.select_related("by")[:50])


def _earlier(study: Study, number: str) -> NamedDesign:
    events = StudyEvent.objects.filter(study=study, what=CHANGED, details__has_key="before")
    event = events.filter(pk=number).first() if number.isdecimal() and len(number) < 19 else None
    if event is None:
        raise NotThere(f"Study {study.slug!r} has no earlier design {number!r}.")
    return NamedDesign(
        title=f"{study.name}, before {event.at:%Y-%m-%d %H:%M} UTC",
        design=make_design(event.details["before"]),
    )
