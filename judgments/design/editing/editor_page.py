"""The design editor: the form beside a preview of the unsaved design."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from common.errors import DesignError, QuorumError
from common.incoming import load_json
from judgments.access.roles import visible_rows
from judgments.design.editing.fitting import fit_to_dataset
from judgments.design.editing.form import (
    IN_SIGHT,
    STEPS,
    DesignForm,
    field_of_key,
    html_name,
    values_from_toml,
)
from judgments.design.reading import Preset, dump_toml, make_design
from judgments.design.requirements import (
    APPROVAL_RATE,
    APPROVED,
    COUNTRIES,
    DEVICES,
    HITS_AT_MOST,
    LANGUAGES,
    QUALIFIED,
    QUOTAS,
    requirements_not_stated,
    requirements_of,
)
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import content_key
from judgments.models import Dataset, Study
from judgments.studies.generation import plan_study
from judgments.studies.study_page import PLAN_PARTS, parts_of_plan

ORDER_IN_SIGHT = {"judgments_per_unit": 1, "captions_per_image": 1, "crowd-budget_cents": 2}
LOOK = "look"  # in the address: count at once, and say at its field what is wrong
NO_SAVE = ("_look", "_apply", "_fit")  # buttons that show the form again
PREVIEWS = "quorum-looks"  # of the session: preview key -> design
ROWS = "quorum-look-rows"  # of designs whose dataset is not there yet: the row that is shown
MOST_PREVIEWS = 4  # two open forms, and what each showed before
LONGEST_TOML = 200_000
REQUIREMENT_FIELDS = {
    COUNTRIES: "workers.countries",
    APPROVAL_RATE: "workers.approval_above",
    APPROVED: "workers.approved_at_least",
    HITS_AT_MOST: "workers.hits_at_most",
    LANGUAGES: "workers.languages",
    DEVICES: "workers.devices",
    QUALIFIED: "workers.requires",
    QUOTAS: "workers.quotas",
}


def store_preview(session: MutableMapping[str, Any], design: StudyDesign) -> str:
    values = design.model_dump(mode="json")
    key = content_key("look", design.model_dump_json())[:32]
    shelf: dict[str, Any] = session.get(PREVIEWS, {})
    if list(shelf)[-1:] != [key]:
        others = [(name, design_values) for name, design_values in shelf.items() if name != key][
            -MOST_PREVIEWS + 1 :
        ]
        session[PREVIEWS] = dict([*others, (key, values)])
    return key


def keep_row(session: MutableMapping[str, Any], key: str, cells: Mapping[str, str]) -> None:
    """Let the preview of a design show this row instead of its dataset."""
    session[ROWS] = {key: dict(cells)}


def find_row(session: MutableMapping[str, Any], key: str) -> dict[str, str] | None:
    row: dict[str, str] | None = session.get(ROWS, {}).get(key)
    return row


def find_preview(session: MutableMapping[str, Any], key: str) -> StudyDesign | None:
    values = session.get(PREVIEWS, {}).get(key)
    return StudyDesign.model_validate(values) if values is not None else None


@dataclass(slots=True)
class EditorPage:
    """The page of a design.

    Attributes:
        base: values that the form does not ask for.
        toml: the study file of the form, or refused text typed in its place.
        key: of the design that preview and numbers show; '' without one.
        counts_now: whether the person asked for a preview; the numbers are then counted at once.
        can_be_saved: whether all that is wrong was found by counting.
        cut: sentences about what was cut to fit the dataset.
    """

    form: DesignForm
    base: dict[str, Any]
    toml: str
    toml_problem: str = ""
    key: str = ""
    counts_now: bool = False
    can_be_saved: bool = False
    cut: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def context(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "editor": self,
            "base_json": json.dumps(self.base),
            "path": steps_of(self.form),
            "problems": self.form.problems() if self.form.is_bound else [],
            "preview_address": preview_of(self.key),
            "numbers_address": numbers_of(self.key),
            **self.numbers,
        }


def steps_of(form: DesignForm) -> list[dict[str, Any]]:
    steps: dict[str, dict[str, Any]] = {
        step: {
            "title": step,
            "at": f"s-{step.lower()}",
            "words": text,
            "in_sight": [],
            "pairs": [],
            "groups": [],
        }
        for step, text in STEPS.items()
    }
    pairs = {html_name(key) for key in form.pair_keys_in_sight()}
    seen = {html_name(key) for key in IN_SIGHT} | pairs
    for section, fields in form.groups():
        step = steps[section.step]
        step["in_sight"] += [field for field in fields if field.name in seen and field.name not in pairs]
        step["pairs"] += [field for field in fields if field.name in pairs]
        folded = [field for field in fields if field.name not in seen]
        if folded:
            step["groups"].append({"section": section, "fields": folded})
    for step, following in zip(steps.values(), [*list(steps)[1:], None], strict=True):
        step["in_sight"].sort(key=lambda field: ORDER_IN_SIGHT.get(field.name, 0))
        folded = [field for group in step["groups"] for field in group["fields"]]
        step["wrong_folded"] = any(field.errors for field in folded)
        step["wrong"] = any(field.errors for field in [*step["in_sight"], *step["pairs"], *folded])
        step["said"] = form.folded_values(group["section"] for group in step["groups"])
        step["next"] = f"s-{following.lower()}" if following else "panes"
    return list(steps.values())


def open_editor(
    request: HttpRequest,
    *,
    base: dict[str, Any],
    datasets: list[str],
    saved: dict[str, Preset],
    cut: list[str],
) -> EditorPage:
    """Store nothing but the preview."""
    base = _posted_base(request) or base
    if request.method != "POST" and LOOK in request.GET:
        form = DesignForm(DesignForm(base=base, datasets=datasets).as_posted(), base=base, datasets=datasets)
        editor = EditorPage(form=form, base=base, toml=dump_toml(base), cut=cut, counts_now=True)
    elif request.method != "POST":
        editor = EditorPage(
            form=DesignForm(base=base, datasets=datasets), base=base, toml=dump_toml(base), cut=cut
        )
    else:
        editor = _editor_from_form(request, base, datasets, saved)
    sketch = editor.form.sketch()
    if sketch is not None:
        editor.key = store_preview(request.session, sketch)
    return editor


def answer_script(editor: EditorPage) -> JsonResponse:
    return JsonResponse(
        {
            "problems": [
                {
                    "field": bound.name if bound else "",
                    "id": bound.id_for_label if bound else "",
                    "label": str(bound.label) if bound else "",
                    "words": sentences,
                }
                for bound, sentences in editor.form.problems()
            ],
            "toml": editor.toml,
            "currency": editor.form.currency,
            "preview": preview_of(editor.key),
            "numbers": numbers_of(editor.key),
        }
    )


def wants_json(request: HttpRequest) -> bool:
    return "_look" in request.POST and request.headers.get("Accept", "") == "application/json"


def count_now(editor: EditorPage, request: HttpRequest) -> None:
    """Count for browsers without scripts."""
    design = find_preview(request.session, editor.key) if editor.key else None
    if design is None or not editor.counts_now:
        return
    editor.can_be_saved = editor.form.is_valid()  # before the notes, which are no reason to refuse a draft
    editor.numbers = numbers_context(request, design)
    for note in editor.numbers["notes"]:
        if note["field"] in editor.form.fields:
            editor.form.add_error(note["field"], note["words"])


def show_numbers(request: HttpRequest, key: str) -> HttpResponse:
    design = find_preview(request.session, key)
    if design is None:
        raise Http404("This design is not looked at any more.")
    return TemplateResponse(request, "judgments/parts/numbers.html", numbers_context(request, design))


def numbers_context(request: HttpRequest, design: StudyDesign) -> dict[str, Any]:
    context: dict[str, Any] = {"design": design, "counted": True, "notes": []}
    problems: list[DesignError] = []
    dataset = visible_rows(Dataset.objects.filter(name=design.dataset), request.user).first()
    try:
        if dataset is None:
            raise DesignError(
                gettext("There is no dataset %(dataset)r.") % {"dataset": design.dataset}, field="dataset"
            )
        edited = Study.objects.visible_to(request.user).filter(slug=design.slug).first()
        maker = request.user.pk if edited is None else edited.created_by_id
        plan = plan_study(design, dataset, maker=maker)
        context |= {"plan": plan, "plan_parts": parts_of_plan(design, plan)}
    except DesignError as error:
        context |= {
            "problem": str(error),
            "misfit": error.field.startswith(("sampling", "controls", "filter")),
        }
        problems.append(error)
    except QuorumError as error:
        context["problem"] = str(error)
    else:
        problems += _not_checkable(design)
        for part in PLAN_PARTS:
            if part.problems is not None:
                problems += part.problems(design, plan.hits, plan.units + plan.controls)
    context["notes"] = [
        {"field": field_of_key(problem.field, design), "words": str(problem)} for problem in problems
    ]
    return context


def preview_of(key: str) -> str:
    return reverse("annotation:look", args=[key]) if key else ""


def numbers_of(key: str) -> str:
    return reverse("admin:judgments_study_numbers", args=[key]) if key else ""


def _editor_from_form(
    request: HttpRequest, base: dict[str, Any], datasets: list[str], saved: dict[str, Preset]
) -> EditorPage:
    """Return the form as posted, or of a study file typed in its place."""
    text, problem = request.POST.get("toml", "")[:LONGEST_TOML], ""
    data: Any = request.POST
    cut: list[str] = []
    if "_apply" in request.POST:
        try:
            base = values_from_toml(text, saved=saved)
            data = DesignForm(base=base, datasets=datasets).as_posted()
        except DesignError as error:
            problem = str(error)
    form = DesignForm(data, base=base, datasets=datasets)
    if form.is_valid() and "_fit" in request.POST:
        dataset = visible_rows(Dataset.objects.all(), request.user).get(name=form.design.dataset)
        base, cut = fit_to_dataset(form.design.model_dump(mode="json"), dataset, maker=request.user.pk)
        form = DesignForm(DesignForm(base=base, datasets=datasets).as_posted(), base=base, datasets=datasets)
        form.is_valid()
    return EditorPage(
        form=form,
        base=base,
        cut=cut,
        toml=text if problem else dump_toml(form.values),
        toml_problem=problem,
        counts_now=bool(set(NO_SAVE) & request.POST.keys()),
    )


def _posted_base(request: HttpRequest) -> dict[str, Any] | None:
    """Return the posted base; None if it is no design."""
    try:
        sent = load_json(request.POST.get("_base", "null"))
    except ValueError:
        return None
    if not isinstance(sent, dict):
        return None
    open_keys = [key for key in ("name", "slug", "dataset") if not sent.get(key)]
    try:
        design = make_design(sent | dict.fromkeys(open_keys, "new"))
    except DesignError:
        return None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def _not_checkable(design: StudyDesign) -> list[DesignError]:
    refused = requirements_not_stated(design.workers, design.crowd.backend, api=design.panel.api)
    return [
        DesignError(
            gettext(
                "The crowd %(backend)r cannot state or check “%(words)s”: the study cannot be opened "
                "with it. Take that off here, or choose another crowd."
            )
            % {"backend": design.crowd.backend, "words": sentence},
            field=REQUIREMENT_FIELDS[name],
        )
        for name, sentence in requirements_of(design.workers).items()
        if sentence in refused
    ]
