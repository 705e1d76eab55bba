"""Find designs by the name of a study, preset or file, and the earlier designs of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext

from common.errors import ObjectNotFound, did_you_mean
from common.rows.ids import is_row_id
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import KEYS_OF_ONE_STUDY, load_saved_presets
from judgments.design.study_design import StudyDesign
from judgments.models import Study, StudyEvent
from judgments.studies.designs import design_of

CHANGE_EVENT = "design-changed"
MAX_EARLIER_DESIGNS = 50


@dataclass(frozen=True, slots=True)
class NamedDesign:
    """A design and its title. A preset is not complete: its name, slug, dataset and seed are only placeholders."""

    title: str
    design: StudyDesign
    is_complete: bool = True

    def comparable_values(self, other: NamedDesign) -> dict[str, Any]:
        """Return the design's values, without those that presets lack if this or the other design is a preset."""
        values = self.design.model_dump(mode="json")
        if not (self.is_complete and other.is_complete):
            for key in KEYS_OF_ONE_STUDY:
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
    presets = {**load_saved_presets(), **PRESETS}
    bare_name = name.removeprefix("preset:")
    if bare_name in presets:
        design = make_design(
            {"name": "new", "slug": "new", "dataset": "new", "preset": bare_name}, saved_presets=presets
        )
        return NamedDesign(title=presets[bare_name].title, design=design, is_complete=False)
    if files and Path(name).suffix == ".toml":
        text = Path(name).read_text(encoding="utf-8-sig")
        return NamedDesign(title=name, design=read_toml(text, source=name, saved_presets=presets))
    sentence = gettext("There is no study and no preset %(words)r.")
    if files:
        sentence = gettext("There is no study and no preset %(words)r; a study file ends in .toml.")
    hint = did_you_mean(name, [*studies.values_list("slug", flat=True), *presets])
    raise ObjectNotFound(sentence % {"words": name} + hint)


def earlier_designs(study: Study) -> list[StudyEvent]:
    """Return the newest log entries about a change of the design, latest first; the details have the earlier design."""
    return list(_design_changes(study).select_related("by")[:MAX_EARLIER_DESIGNS])


def _design_changes(study: Study) -> QuerySet[StudyEvent]:
    return StudyEvent.objects.filter(study=study, what=CHANGE_EVENT, details__has_key="before")


def _earlier_design(study: Study, number: str) -> NamedDesign:
    event = _design_changes(study).filter(pk=number).first() if is_row_id(number) else None
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
