"""Open a file of judgments with the dataset's items and texts, and with its scale."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.functional import SimpleLazyObject
from pydantic import ValidationError

from annotation.crowds.people import worker_name
from common.errors import DataConflict
from judgments.datasets.importing.candidates import names_by_text
from judgments.design.numbers import number_text
from judgments.design.reading.checking import make_design
from judgments.design.scale import Scale, scale_from_text
from judgments.design.study_design import StudyDesign
from judgments.importers import (
    JUDGMENT_FORMATS,
    TABLE_FORMATS,
    ColumnMapping,
    JudgmentSource,
    checked_path,
    fill_layout,
    open_judgments,
    read_layouts,
)
from judgments.importers.mapped.mapped_judgments import MappedJudgments
from judgments.importers.mapped.mapped_records import read_criteria
from judgments.kinds import KINDS
from judgments.models import Caption, Dataset, Output


def open_judgments_of(
    dataset: Dataset,
    *,
    format: str,
    path: Path,
    protocol: str | None,
    encoding: str | None,
    mapping: ColumnMapping | None,
    scale: str,
    design_keys: Mapping[str, Any],
    uses_former_ids: bool = False,
) -> JudgmentSource:
    """Open a file of judgments about a dataset.

    Args:
        scale: the scale of the answers, LOW:HIGH[:STEP]; "" if the file states it or it is inferred.
        design_keys: keys of a study file.
        uses_former_ids: whether to derive ids as earlier releases of Quorum did, which may have imported the same file.
    """
    # No kind is called "None", which stands here for a design without a protocol.
    kind = KINDS.get(protocol or str(design_keys.get("protocol")))
    protocol = kind.name if kind is not None else protocol
    custom_kind = None  # a kind whose page the design defines, such as a HIT template
    if design_keys and kind is not None and kind.page.custom:
        custom_kind = kind.for_design(imported_design(path.stem, dataset.name, kind.name, design_keys))
    source = open_judgments(
        format,
        path,
        protocol=protocol,
        encoding=encoding,
        mapping=mapping,
        custom_kind=custom_kind,
        scale=scale,
        worker_name=worker_name,  # replaces an Amazon id or an e-mail address by a pseudonym
    )
    if isinstance(source, MappedJudgments):
        item_names = SimpleLazyObject(lambda: names_by_text(dataset))  # read when first needed

        @cache
        def texts_by_item(system: str) -> dict[str, str]:
            return _texts_by_item(dataset, system)

        # How rows without an image are assigned by their source text, and rows without a text by their system.
        source.items_of = lambda text: item_names.get(text, ())
        source.text_of = lambda system, image: texts_by_item(system).get(image)
        source.uses_former_ids = uses_former_ids
    return source


def _texts_by_item(dataset: Dataset, system: str) -> dict[str, str]:
    """Return a system's first text for each item, by the item's name. Results of image search are left out."""
    rows = Output.objects.annotations().filter(system__dataset=dataset, system__name=system)
    # of an item's texts, the one with rank 1 comes last, and so replaces the others
    return dict(rows.order_by("-rank").values_list("item__name", "caption__text"))


def captions_of_dataset(dataset: Dataset) -> Any:
    """Return the texts of captions by ``Caption.key``, as a dict that is read when it is first needed.

    Most files contain the texts, so that it is not needed.
    """
    rows = Caption.objects.filter(dataset=dataset)
    return SimpleLazyObject(lambda: dict(rows.values_list("key", "text")))


def imported_design(
    name: str, dataset: str, protocol: str, design_keys: Mapping[str, Any], **required_keys: str
) -> StudyDesign:
    """Return the design of a study with imported judgments. By default, control items exclude nobody.

    Args:
        design_keys: keys of a study file. They cannot replace the dataset, the protocol and ``required_keys``.
        required_keys: further keys, such as ``slug``.
    """
    fixed_keys = {"dataset": dataset, "protocol": protocol, **required_keys}
    return make_design({"name": name, "controls": {"threshold": 0.0}, **design_keys, **fixed_keys})


def scale_of_design(design_keys: Mapping[str, Any]) -> str:
    """Return the scale in the keys of a study file, as LOW:HIGH:STEP; "" if they have no scale or an invalid one.

    An invalid scale is reported when the study is created.
    """
    try:
        scale = Scale.model_validate(design_keys["scale"]) if "scale" in design_keys else None
        return "" if scale is None else ":".join(map(number_text, (scale.low, scale.high, scale.step)))
    except ValidationError:
        return ""


def stated_scale(scale: str, design_keys: Mapping[str, Any]) -> str:
    """Return the scale that an option or a study file states. Raise DataConflict if they differ."""
    design_scale = scale_of_design(design_keys)
    if scale and design_scale and not scale_from_text(scale).has_same_points(scale_from_text(design_scale)):
        raise DataConflict(
            f"The scale is stated as {scale}, and as {design_scale} in the design; expected one of them."
        )
    return scale or design_scale


def describe_scale(source: JudgmentSource) -> str:
    """Return a sentence about the scale to which answers were assigned; "" if the answers have no scale."""
    kind = KINDS.get(source.protocol or "")
    scale = None if kind is None else kind.with_setting(source.setting).scale
    if scale is None:
        return ""
    reason = (
        "as stated" if source.states_scale else "by their values; --scale LOW:HIGH:STEP states another one"
    )
    return f"The answers are taken for points of the scale {scale.in_words}, {reason}."


def mappings_by_criterion(
    format: str, path: Path | str, *, encoding: str | None, mapping: ColumnMapping | None
) -> dict[str, ColumnMapping | None]:
    """Return the mapping that reads the judgments of each criterion of a table, by name of the criterion.

    Return ``{"": mapping}`` if there are no criteria, in rows (``criterion``) or in own columns (``criteria``).
    """
    path = checked_path(format, (*JUDGMENT_FORMATS, *TABLE_FORMATS, *read_layouts()), path)
    if mapping is None or not (mapping.criterion or mapping.criteria):
        return {"": mapping}
    layout, reader = fill_layout(format, path, mapping)
    return {name: mapping.for_criterion(name) for name in read_criteria(layout, reader, path, encoding)}
