"""The design editor: the form beside a preview of the unsaved design."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify

from common.errors import DesignError, QuorumError
from judgments.access.roles import visible_rows
from judgments.design.editing.form import DesignForm, html_name, values_from_toml
from judgments.design.presets import Preset
from judgments.design.reading import dump_toml, make_design
from judgments.design.requirements import (
    APPROVAL_RATE,
    APPROVED,
    COUNTRIES,
    DEVICES,
    HITS_AT_MOST,
    LANGUAGES,
    QUALIFIED,
    QUOTAS,
    not_stated,
    requirements_of,
)
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import content_key
from judgments.models import Dataset, Study
from judgments.studies.generation import plan_study
from judgments.studies.hits_page import parts_of_plan
from judgments.studies.study_page import PLAN_PARTS

SHELF = "quorum-looks"  # of the session: preview key -> design
ROWS = "quorum-look-rows"  # of designs whose dataset is not there yet: the row that is shown
KEPT = 4  # two open forms, and what each showed before
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
    shelf: dict[str, Any] = session.get(SHELF, {})
    if list(shelf)[-1:] != [key]:
        kept = [(name, one) for name, one in shelf.items() if name != key][-KEPT + 1 :]
        session[SHELF] = dict([*kept, (key, values)])
    return key


def keep_row(session: MutableMapping[str, Any], key: str, cells: Mapping[str, str]) -> None:
    """Let the preview of that design show this row of inputs instead of its dataset."""
    session[ROWS] = {key: dict(cells)}


def find_row(session: MutableMapping[str, Any], key: str) -> dict[str, str] | None:
    row: dict[str, str] | None = session.get(ROWS, {}).get(key)
    return row


def find_preview(session: MutableMapping[str, Any], key: str) -> StudyDesign | None:
    values = session.get(SHELF, {}).get(key)
    return StudyDesign.model_validate(values) if values is not None else None


@dataclass(slots=True)
class EditorPage:
    """The page of a design.

    Attributes:
        base: values of what the form does not ask.
        toml: the study file of the form, or refused text that was typed in its place.
        key: of the design that preview and numbers show; '' without one.
        asked: whether the person asked for a preview: then the numbers are counted at once.
    """

    form: DesignForm
    base: dict[str, Any]
    toml: str
    toml_problem: str = ""
    key: str = ""
    asked: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def context(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "desk": self,
            "base_json": json.dumps(self.base),
            "sections": [
                {
                    "at": f"s-{slugify(section.title)}",
                    "section": section,
                    "fields": fields,
                    "wrong": any(one.errors for one in fields),
                }
                for section, fields in self.form.groups()
            ],
            "problems": self.form.problems() if self.form.is_bound else [],
            "preview_address": preview_of(self.key),
            "numbers_address": numbers_of(self.key),
            **self.numbers,
        }


def open_editor(
    request: HttpRequest, *, base: dict[str, Any], datasets: list[str], saved: dict[str, Preset]
) -> EditorPage:
    """Return the form as requested or posted; save nothing but its preview."""
    base = _base_sent(request) or base
    if request.method != "POST":
        desk = _unbound(base, datasets, asked=request.GET.get("dataset", ""))
    else:
        desk = _bound(request, base, datasets, saved)
    sketch = desk.form.sketch()
    if sketch is not None:
        desk.key = store_preview(request.session, sketch)
    return desk


def answer_script(desk: EditorPage) -> JsonResponse:
    return JsonResponse(
        {
            "problems": [
                {
                    "field": bound.name if bound else "",
                    "id": bound.id_for_label if bound else "",
                    "label": str(bound.label) if bound else "",
                    "words": words,
                }
                for bound, words in desk.form.problems()
            ],
            "toml": desk.toml,
            "preview": preview_of(desk.key),
            "numbers": numbers_of(desk.key),
        }
    )


def wants_json(request: HttpRequest) -> bool:
    return "_look" in request.POST and request.headers.get("Accept", "") == "application/json"


def count_now(desk: EditorPage, request: HttpRequest) -> None:
    """Add the numbers to the page, and their problems to the fields, for browsers without scripts."""
    design = find_preview(request.session, desk.key) if desk.key else None
    if design is None or not desk.asked:
        return
    desk.numbers = numbers_context(request, design)
    for note in desk.numbers["notes"]:
        if note["field"] in desk.form.fields:
            desk.form.add_error(note["field"], note["words"])


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
            raise DesignError(f"There is no dataset {design.dataset!r}.", field="dataset")
        edited = Study.objects.visible_to(request.user).filter(slug=design.slug).first()
        maker = request.user.pk if edited is None else edited.created_by_id
        plan = plan_study(design, dataset, maker=maker)
        context |= {"plan": plan, "plan_parts": parts_of_plan(design, plan)}
    except DesignError as error:
        context["problem"] = str(error)
        problems.append(error)
    except QuorumError as error:
        context["problem"] = str(error)
    else:
        problems += _not_checkable(design)
        for part in PLAN_PARTS:
            if part.problems is not None:
                problems += part.problems(design, plan.hits, plan.units + plan.controls)
    context["notes"] = [{"field": _nearest_field(one.field), "words": str(one)} for one in problems]
    return context


def preview_of(key: str) -> str:
    return reverse("annotation:look", args=[key]) if key else ""


def numbers_of(key: str) -> str:
    return reverse("admin:judgments_study_numbers", args=[key]) if key else ""


def _unbound(base: dict[str, Any], datasets: list[str], *, asked: str) -> EditorPage:
    form = DesignForm(base=base, datasets=datasets)
    if not base["dataset"] and (asked in datasets or len(datasets) == 1):
        form.fields["dataset"].initial = asked or datasets[0]
    values = base | {"dataset": form.fields["dataset"].initial or base["dataset"]}
    return EditorPage(form=form, base=base, toml=dump_toml(values))


def _bound(
    request: HttpRequest, base: dict[str, Any], datasets: list[str], saved: dict[str, Preset]
) -> EditorPage:
    """Return the form with what was posted, or with what a study file typed in its place says."""
    text, problem = request.POST.get("toml", "")[:LONGEST_TOML], ""
    data: Any = request.POST
    if "_apply" in request.POST:
        try:
            base = values_from_toml(text, saved=saved)
            data = _as_posted(base, datasets)
        except DesignError as error:
            problem = str(error)
    form = DesignForm(data, base=base, datasets=datasets)
    form.is_valid()
    return EditorPage(
        form=form,
        base=base,
        toml=text if problem else dump_toml(form.values),
        toml_problem=problem,
        asked=bool({"_look", "_apply"} & request.POST.keys()),
    )


def _base_sent(request: HttpRequest) -> dict[str, Any] | None:
    """Return the values that travelled with the form; None if no design could have them."""
    try:
        sent = json.loads(request.POST.get("_base", "null"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(sent, dict):
        return None
    open_keys = [key for key in ("name", "slug", "dataset") if not sent.get(key)]
    try:
        design = make_design(sent | dict.fromkeys(open_keys, "new"))
    except DesignError:
        return None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def _as_posted(base: dict[str, Any], datasets: list[str]) -> dict[str, Any]:
    form = DesignForm(base=base, datasets=datasets)
    values = {name: form.get_initial_for_field(one, name) for name, one in form.fields.items()}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _not_checkable(design: StudyDesign) -> list[DesignError]:
    refused = not_stated(design.workers, design.crowd.backend, api=design.panel.api)
    return [
        DesignError(
            f"The crowd {design.crowd.backend!r} cannot state or check “{words}”: the study cannot be opened with it. "
            "Take that off here, or choose another crowd.",
            field=REQUIREMENT_FIELDS[name],
        )
        for name, words in requirements_of(design.workers).items()
        if words in refused
    ]


def _nearest_field(key: str) -> str:
    return html_name("sampling.pairs.HC" if key == "sampling.pairs" else key)
