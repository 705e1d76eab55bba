"""The form of a design with its preview, as a page and as a part that the page's script requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from common.errors import DesignError
from common.incoming.json_documents import load_json
from judgments.access.visible_rows import visible_rows
from judgments.design.editing.fitting import ChecksQuestion, FittedDesign, fit_to_dataset
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.fields import html_name
from judgments.design.editing.form.sections import DESIGN_STEPS, UNFOLDED_FIELDS
from judgments.design.editing.form.values import values_from_toml
from judgments.design.editing.preset_titles import preset_titles
from judgments.design.editing.previews import find_preview, store_preview
from judgments.design.editing.views.description import SectionSettings, describe_design
from judgments.design.editing.views.numbers import numbers_address, numbers_context
from judgments.design.editing.views.saving import PREVIEW_BUTTONS, is_save, show_next, store_design
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.reading.study_files import dump_toml
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.kinds.base import with_wording
from judgments.models import Dataset, Study

# Positions of visible fields in their step, by HTML name. Fields without an entry come first.
UNFOLDED_ORDER = {"judgments_per_unit": 1, "captions_per_image": 1, "crowd-budget_cents": 2}
# the parameter that asks to count the numbers at once, and to show problems at their fields
COUNT_PARAMETER = "look"
MAX_TOML_LENGTH = 200_000  # characters; the rest is cut off


@dataclass(slots=True)
class EditorPage:
    """The page on which a design is edited.

    Attributes:
        base: the complete values from which the form starts. The page posts them back, since some have no field.
        toml: the study file of the form, or the invalid study file that the person typed.
        preview_key: the key by which preview and numbers find the design; "" if the design is invalid.
        is_preview: whether the person requested a preview; the numbers are then counted at once.
        can_be_saved: whether the form is valid, apart from problems that only counting finds.
        adjustments: sentences about how the design was fitted to the dataset.
        question: a question about the fitting that the person must answer; None if there is none.
        numbers: the context of the numbers (``numbers_context``), if they are counted at once.
    """

    form: DesignForm
    base: dict[str, Any]
    toml: str
    toml_problem: str = ""
    preview_key: str = ""
    is_preview: bool = False
    can_be_saved: bool = False
    adjustments: list[str] = field(default_factory=list)
    question: ChecksQuestion | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    settings: list[SectionSettings] = field(default_factory=list)

    @property
    def context(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "editor": self,
            "base_json": json.dumps(self.base),
            "design_steps": _steps_of(self.form),
            "problems": self.form.problems() if self.form.is_bound else [],
            "preview_address": preview_address(self.preview_key),
            "numbers_address": numbers_address(self.preview_key),
            "settings": self.settings,
            **self.numbers,
        }


def _steps_of(form: DesignForm) -> list[dict[str, Any]]:
    """Return the steps of the form for the template.

    The fields of a step are visible fields, fields for numbers of pairs of each kind, and groups of folded fields.
    """
    steps: dict[str, dict[str, Any]] = {
        step: {
            "title": step,
            "anchor": f"s-{step.lower()}",
            "description": text,
            "visible_fields": [],
            "pair_fields": [],
            "folded_groups": [],
        }
        for step, text in DESIGN_STEPS.items()
    }
    pair_names = {html_name(key) for key in form.visible_pair_keys()}
    unfolded_names = {html_name(key) for key in UNFOLDED_FIELDS} | pair_names
    for section, fields in form.fields_by_section():
        step = steps[section.step]
        step["visible_fields"] += [
            field for field in fields if field.name in unfolded_names and field.name not in pair_names
        ]
        step["pair_fields"] += [field for field in fields if field.name in pair_names]
        folded_fields = [field for field in fields if field.name not in unfolded_names]
        if folded_fields:
            step["folded_groups"].append({"section": section, "fields": folded_fields})
    # "panes", the anchor of the preview and the numbers, follows the last step
    next_anchors = [*(step["anchor"] for step in list(steps.values())[1:]), "panes"]
    for step, next_anchor in zip(steps.values(), next_anchors, strict=True):
        step["visible_fields"].sort(key=lambda field: UNFOLDED_ORDER.get(field.name, 0))
        folded_fields = list(chain.from_iterable(group["fields"] for group in step["folded_groups"]))
        step["has_folded_errors"] = any(field.errors for field in folded_fields)
        all_fields = [*step["visible_fields"], *step["pair_fields"], *folded_fields]
        step["has_errors"] = any(field.errors for field in all_fields)
        step["folded_values"] = form.folded_values(group["section"] for group in step["folded_groups"])
        step["next_anchor"] = next_anchor
    return list(steps.values())


def edit_design(
    request: HttpRequest,
    store: Callable[[StudyDesign], Study],
    *,
    base: dict[str, Any],
    saved_presets: dict[str, Preset],
    fitted_design: FittedDesign | None,
) -> EditorPage | HttpResponse:
    """Return the page on which a design is edited, or a response.

    After ``store`` has saved the design, it is a redirect. For the page's script, which posts ``_look``, it is JSON.
    """
    editor = _open_editor(request, base, saved_presets, fitted_design)
    if "_look" in request.POST and request.headers.get("Accept", "") == "application/json":
        return _answer_script(editor)
    if is_save(request) and editor.form.is_valid():
        study = store_design(editor.form, store)
        if study is not None:
            return show_next(request, study)
    _add_numbers(editor, request)
    return editor


def _open_editor(
    request: HttpRequest,
    base: dict[str, Any],
    saved_presets: dict[str, Preset],
    fitted_design: FittedDesign | None,
) -> EditorPage:
    """Return the page of a design, from ``base`` or the posted form. Store only the design's preview."""
    base = _posted_base(request) or base
    datasets = list(visible_rows(Dataset.objects.all(), request.user).values_list("name", flat=True))
    if request.method == "POST":
        editor = _editor_from_form(request, base, datasets, saved_presets)
    else:
        is_preview = COUNT_PARAMETER in request.GET
        make_form = filled_form if is_preview else DesignForm
        form = make_form(base=base, datasets=datasets)
        editor = EditorPage(form=form, base=base, toml=dump_toml(base), is_preview=is_preview)
        if fitted_design is not None:
            editor.adjustments, editor.question = fitted_design.sentences, fitted_design.question
    design = editor.form.design_to_preview()
    if design is not None:
        editor.preview_key = store_preview(request.session, design)
        editor.settings = describe_design(design)
    return editor


def filled_form(*, base: dict[str, Any], datasets: list[str]) -> DesignForm:
    """Return the form as if a browser had posted it unchanged. It is thus validated."""
    unchanged_form = DesignForm(base=base, datasets=datasets)
    return DesignForm(unchanged_form.as_posted(), base=base, datasets=datasets)


def _answer_script(editor: EditorPage) -> JsonResponse:
    return JsonResponse(
        {
            "problems": [
                {
                    "field": bound_field.name if bound_field else "",
                    "id": bound_field.id_for_label if bound_field else "",
                    "label": str(bound_field.label) if bound_field else "",
                    "words": sentences,
                }
                for bound_field, sentences in editor.form.problems()
            ],
            "toml": editor.toml,
            "currency": editor.form.currency,
            "preview": preview_address(editor.preview_key),
            "numbers": numbers_address(editor.preview_key),
        }
    )


def _add_numbers(editor: EditorPage, request: HttpRequest) -> None:
    """Add the design's numbers to the page if the person requested a preview, for browsers without scripts."""
    design = find_preview(request.session, editor.preview_key) if editor.preview_key else None
    if design is None or not editor.is_preview:
        return
    # check this before notes are added, since notes do not prevent saving a draft
    editor.can_be_saved = editor.form.is_valid()
    editor.numbers = numbers_context(request, design)
    for note in editor.numbers["notes"]:
        if note["field"] in editor.form.fields:
            editor.form.add_error(note["field"], note["words"])


def preview_address(key: str) -> str:
    return reverse("annotation:look", args=[key]) if key else ""


def _editor_from_form(
    request: HttpRequest, base: dict[str, Any], datasets: list[str], saved_presets: dict[str, Preset]
) -> EditorPage:
    """Return the page with the posted form, with the study file that the person typed, or fitted to its dataset."""
    text, problem = request.POST.get("toml", "")[:MAX_TOML_LENGTH], ""
    form = DesignForm(request.POST, base=base, datasets=datasets)
    adjustments: list[str] = []
    if "_apply" in request.POST:
        try:
            base = values_from_toml(text, saved_presets=saved_presets)
            form = filled_form(base=base, datasets=datasets)
        except DesignError as error:
            problem = str(error)
    if form.is_valid() and "_fit" in request.POST:
        dataset = visible_rows(Dataset.objects.all(), request.user).get(name=form.design.dataset)
        base, adjustments, _ = fit_to_dataset(
            form.design.model_dump(mode="json"), dataset, maker=request.user.pk
        )
        form = filled_form(base=base, datasets=datasets)
        form.is_valid()  # sets ``form.values``
    return EditorPage(
        form=form,
        base=base,
        adjustments=adjustments,
        toml=text if problem else dump_toml(form.values),
        toml_problem=problem,
        is_preview=bool(set(PREVIEW_BUTTONS) & request.POST.keys()),
    )


def _posted_base(request: HttpRequest) -> dict[str, Any] | None:
    """Return the posted base, whose names may be empty; None if it is not a valid design."""
    try:
        posted_values = load_json(request.POST.get("_base", "null"))
    except ValueError:
        return None
    if not isinstance(posted_values, dict):
        return None
    open_keys = [key for key in ("name", "slug", "dataset") if not posted_values.get(key)]
    try:
        design = make_design(posted_values | dict.fromkeys(open_keys, "new"))
    except DesignError:
        return None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def form_context(editor: EditorPage, saved_presets: dict[str, Preset]) -> dict[str, Any]:
    """Return the context of the templates that include design_desk.html."""
    return editor.context | {
        "form_kind": with_wording(KINDS[editor.base["protocol"]], editor.base["judged"], labels=()),
        "preset": {**saved_presets, **PRESETS}.get(editor.base.get("preset", "")),
        "is_built_in_preset": editor.base.get("preset", "") in PRESETS,
        "preset_titles": preset_titles(editor.base["judged"]),
        "saved_presets": saved_presets,
    }
