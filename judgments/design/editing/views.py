"""The design pages of a study: start, the form beside a preview, study file, reuse, saved presets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from unfold.decorators import display

from common.errors import DataConflict, DesignError, QuorumError
from common.incoming import load_json
from common.markup import render_inline, render_markdown
from judgments.access.roles import rights_of, visible_rows
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.crowds import (
    APPROVAL_RATE,
    APPROVED,
    DEVICES,
    HITS_AT_MOST,
    LANGUAGES,
    QUALIFIED,
    QUOTAS,
    RESIDENCE,
)
from judgments.design.editing.fitting import fit_to_dataset, holdings_of
from judgments.design.editing.form import (
    DESIGN_STEPS,
    IN_SIGHT,
    DesignForm,
    StudyFileForm,
    describe_value,
    field_of_key,
    html_name,
    in_labels,
    is_money,
    label_of,
    sections_for,
    starting_values,
    value_at,
    values_from_toml,
)
from judgments.design.reading import (
    PRESETS,
    Preset,
    compare_designs,
    dump_toml,
    make_design,
    read_toml,
    slugify_name,
    write_toml,
)
from judgments.design.requirements import requirements_not_stated, requirements_of
from judgments.design.saved_presets import (
    NamedDesign,
    delete_preset,
    earlier_designs,
    find_design,
    may_change_preset,
    newest_presets,
    rename_preset,
    saved_presets,
)
from judgments.design.study_design import PURPOSES, StudyDesign
from judgments.design.tables import Plan
from judgments.drawing.material import content_key
from judgments.kinds import KINDS
from judgments.kinds.base import with_wording
from judgments.models import Dataset, SavedPreset, Study
from judgments.operations import duplicate, generate, save_preset
from judgments.studies.generation import plan_study
from judgments.studies.studies import can_be_discarded, change_design, create_study, design_of, next_copy
from judgments.studies.study_page import (
    PAGES,
    PLAN_PARTS,
    START_PAGES,
    STEPS,
    Context,
    Group,
    add_operation,
    page_address,
    parts_of_plan,
    study_page,
    take_refusal,
)
from judgments.templatetags.judgments_tags import cents

ORDER_IN_SIGHT = {"judgments_per_unit": 1, "captions_per_image": 1, "crowd-budget_cents": 2}

LOOK = "look"  # in the address: count at once, and say at its field what is wrong

NO_SAVE = ("_look", "_apply", "_fit")  # buttons that show the form again

PREVIEWS = "quorum-looks"  # of the session: preview key -> design

ROWS = "quorum-look-rows"  # of designs whose dataset is not there yet: the row that is shown

MOST_PREVIEWS = 4  # two open forms, and what each showed before

LONGEST_TOML = 200_000

REQUIREMENT_FIELDS = {
    RESIDENCE: "workers.countries",
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


# a section's title, the labels and values of what is set in it, and the labels of what is not
Settings = tuple[str, list[tuple[str, str]], list[str]]


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
    settings: list[Settings] = field(default_factory=list)

    @property
    def context(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "editor": self,
            "base_json": json.dumps(self.base),
            "path": _steps_of(self.form),
            "problems": self.form.problems() if self.form.is_bound else [],
            "preview_address": preview_of(self.key),
            "numbers_address": numbers_of(self.key),
            "settings": self.settings,
            "can_rehearse": REHEARSE in STEPS,
            **self.numbers,
        }


def _steps_of(form: DesignForm) -> list[dict[str, Any]]:
    steps: dict[str, dict[str, Any]] = {
        step: {
            "title": step,
            "at": f"s-{step.lower()}",
            "words": text,
            "in_sight": [],
            "pairs": [],
            "groups": [],
        }
        for step, text in DESIGN_STEPS.items()
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
        editor.settings = _describe_design(sketch)
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
    context: dict[str, Any] = {
        "design": design,
        "counted": True,
        "notes": [],
        "settings": _describe_design(design),
    }
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
            "problem": in_labels(str(error), design),
            "misfit": error.field.startswith(("sampling", "controls", "filter")),
        }
        problems.append(error)
    except QuorumError as error:
        context["problem"] = in_labels(str(error), design)
    else:
        problems += _not_checkable(design)
        for part in PLAN_PARTS:
            if part.problems is not None:
                problems += part.problems(design, plan.hits, plan.units + plan.controls)
    context["notes"] = [
        {"field": field_of_key(problem.field, design), "words": in_labels(str(problem), design)}
        for problem in problems
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
    refused = requirements_not_stated(design.workers, design.crowd_name)
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


RENDERED: dict[str, Callable[[str], str]] = {
    "question": render_inline,
    "instructions": render_markdown,
    "consent": render_markdown,
    "template.html": lambda source: format_html("<pre>{}</pre>", source),
}

AFTER = {"launch": ("launch", "hits")}  # button -> the page, else the next best

REHEARSE = "rehearse"  # a step of a feature

MOST_DATASETS = 30  # on the page where a study begins, the newest; a dataset's own page leads there too

MOST_PLAIN = 4  # protocols in sight below an answer to what the researcher wants to know

MOST_OFFERED = 200  # studies, and saved presets, in the list to compare with; the address takes any


def dataset_names(request: HttpRequest) -> list[str]:
    return list(visible_rows(Dataset.objects.all(), request.user).values_list("name", flat=True))


def add_study(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    saved = saved_presets()
    base = _asked_start(request, saved)
    datasets = visible_rows(Dataset.objects.all(), request.user)
    chosen = _chosen_dataset(request, datasets)
    if base is None:
        return _show_start(admin, request, datasets, chosen, saved)
    cut: list[str] = []
    if request.method != "POST" and chosen is not None:
        base, cut = fit_to_dataset(base, chosen, maker=signed_in(request).pk, untouched=True)
        base["name"] = _free_name(f"{_title_of(base, saved).partition(':')[0]}, {chosen.name}")
    editor = open_editor(request, base=base, datasets=dataset_names(request), saved=saved, cut=cut)
    if wants_json(request):
        return answer_script(editor)
    if _is_save(request) and editor.form.is_valid():
        study = _stored(editor.form, lambda design: create_study(design=design, user=signed_in(request)))
        if study is not None:
            admin.log_addition(request, study, "designed")
            return _next_page(request, study)
    count_now(editor, request)
    context = _outside(admin, request) | _form_context(editor, saved) | {"subtitle": gettext("New study")}
    return TemplateResponse(request, "judgments/study/add.html", context)


def _chosen_dataset(request: HttpRequest, datasets: QuerySet[Dataset]) -> Dataset | None:
    """Return the dataset in the address, else the only one, else None."""
    requested = datasets.filter(name=request.GET.get("dataset", "")).first()
    if requested is not None:
        return requested
    some = list(datasets.order_by("pk")[:2])
    return some[0] if len(some) == 1 else None


def _show_start(
    admin: QuorumAdmin,
    request: HttpRequest,
    datasets: QuerySet[Dataset],
    chosen: Dataset | None,
    saved: dict[str, Preset],
) -> HttpResponse:
    newest = list(datasets.order_by("-pk")[:MOST_DATASETS])
    chosen = chosen or next(iter(newest), None)
    holdings = holdings_of(chosen, request.user) if chosen else None

    def cards(presets: dict[str, Preset]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "preset": preset,
                "thumbnail": f"judgments/thumbnails/{preset.values['protocol']}.html",
                "seconds": starting_values(preset=name, saved=saved)["seconds_per_unit"],
                "lacks": holdings.missing_for(preset) if holdings else "",
            }
            for name, preset in presets.items()
        ]

    published = cards(PRESETS)
    answers = []
    for purpose, about in PURPOSES.items():
        suiting = [card for card in published if purpose in card["preset"].suits]
        suiting.sort(key=lambda card: (bool(card["lacks"]), card["preset"].suits[purpose]))
        plainest = sum(not card["lacks"] for card in suiting[:MOST_PLAIN]) or 1
        parts = {"plain": suiting[:plainest], "more": suiting[plainest:]}
        answers.append({"name": purpose, "title": about.title, **parts})
    context = _outside(admin, request) | {
        "subtitle": gettext("New study"),
        "answers": answers,
        "published": published,
        "saved": cards(saved),
        "kinds": list(KINDS),
        "datasets": newest,
        "dataset": chosen,
        "holdings": holdings,
        "may_add_dataset": signed_in(request).has_perm("judgments.add_dataset"),
        "start_pages": list(START_PAGES.values()),
    }
    return TemplateResponse(request, "judgments/study/start.html", context)


def _title_of(base: dict[str, Any], saved: dict[str, Preset]) -> str:
    preset = {**saved, **PRESETS}.get(base["preset"])
    return preset.title if preset else KINDS[base["protocol"]].title


def _free_name(name: str) -> str:
    for number in count(1):
        tried = name[:180] if number == 1 else f"{name[:180]} ({number})"
        if not Study.objects.filter(slug=slugify_name(tried)).exists():
            return tried
    raise AssertionError("there are always more numbers")


def add_study_from_file(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    form = StudyFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            study = create_study(
                design=read_toml(form.cleaned_data["text"], saved=saved_presets()), user=signed_in(request)
            )
        except QuorumError as error:
            form.add_error("text", str(error))
        else:
            admin.log_addition(request, study, "designed by a study file")
            messages.success(request, gettext("“%(name)s” is a draft now.") % {"name": study.name})
            return redirect(page_address(study, "change"))
    context = _outside(admin, request) | {"subtitle": gettext("New study from a file"), "form": form}
    return TemplateResponse(request, "judgments/study/from_file.html", context)


def show_design(admin: QuorumAdmin, request: HttpRequest, study: Study) -> HttpResponse:
    context = admin.context(request, study, "change")
    context["toml"] = write_toml(design_of(study))
    if study.state != Study.State.DRAFT or not context["may_change"]:
        context["settings"] = _describe_design(design_of(study))
        context["can_go_back"] = context["may_change"] and can_be_discarded(study)
        return TemplateResponse(request, "judgments/study/design_read.html", context)
    saved = saved_presets()
    base = study.design
    cut: list[str] = []
    if (start := _asked_start(request, saved, current=study.design)) is not None:
        base, cut = fit_to_dataset(start, study.dataset, maker=study.created_by_id)
    editor = open_editor(request, base=base, datasets=dataset_names(request), saved=saved, cut=cut)
    if wants_json(request):
        return answer_script(editor)
    if _is_save(request) and editor.form.is_valid():
        # the form may be older than the last change by hand
        changed = _stored(
            editor.form,
            lambda design: change_design(
                study=study, design=design.model_copy(update={"by_hand": ()}), user=signed_in(request)
            ),
        )
        if changed is not None:
            admin.log_change(request, study, "design")
            return _next_page(request, study)
    count_now(editor, request)
    if "problem" in editor.numbers:
        context["step_waits"] = generate.name
    return TemplateResponse(request, "judgments/study/design.html", context | _form_context(editor, saved))


def _is_save(request: HttpRequest) -> bool:
    return request.method == "POST" and not (set(NO_SAVE) & request.POST.keys())


@study_page("study-file", order=11)
def show_file(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    return HttpResponse(
        write_toml(design_of(study)),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.slug}.toml"'},
    )


def _outside(admin: QuorumAdmin, request: HttpRequest) -> dict[str, Any]:
    return {**admin.admin_site.each_context(request), "title": gettext("New study")}


def _asked_start(
    request: HttpRequest, saved: dict[str, Preset], current: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the values that the address names, with names and seed of ``current``."""
    preset, protocol = request.GET.get("preset", ""), request.GET.get("protocol", "")
    if preset not in {**saved, **PRESETS}:
        preset = ""
    if not preset and protocol not in KINDS:
        return None
    base = starting_values(preset=preset, protocol=protocol, saved=saved)
    if request.GET.get("purpose") in PURPOSES:
        base["purpose"] = request.GET["purpose"]
    if current is not None:
        base |= {
            key: current[key]
            for key in ("name", "slug", "dataset", "seed", "translations", "registration")
            if key in current
        }
    return base


def _form_context(editor: EditorPage, saved: dict[str, Preset]) -> dict[str, Any]:
    return editor.context | {
        "form_kind": with_wording(KINDS[editor.base["protocol"]], editor.base["judged"], ()),
        "preset": {**saved, **PRESETS}.get(editor.base.get("preset", "")),
        "preset_ships": editor.base.get("preset", "") in PRESETS,
        "presets": PRESETS,
        "saved": saved,
    }


def _stored(form: DesignForm, store: Callable[[StudyDesign], Study]) -> Study | None:
    """Add a refusal to its field and return None."""
    try:
        return store(form.design)
    except DesignError as error:
        name = html_name(error.field)
        form.add_error(name if name in form.fields else None, in_labels(str(error), form.values))
    except DataConflict as error:
        form.add_error("slug", str(error))
    except QuorumError as error:
        form.add_error(None, in_labels(str(error), form.values))
    return None


def _next_page(request: HttpRequest, study: Study) -> HttpResponse:
    messages.success(request, gettext("The design of “%(name)s” is saved.") % {"name": study.name})
    wanted = request.POST.get("_to", "")
    if wanted == REHEARSE and REHEARSE in STEPS:
        return _rehearse(request, study)
    if wanted in AFTER:
        return redirect(page_address(study, next(name for name in AFTER[wanted] if name in PAGES)))
    at = f"#{wanted}" if re.fullmatch(r"s-[a-z]+|panes", wanted) else ""
    return redirect(page_address(study, "change") + at)


def _rehearse(request: HttpRequest, study: Study) -> HttpResponse:
    """Use the usual crowd and the design's seed; the checklist says what comes of it."""
    step = STEPS[REHEARSE]
    if step.permission in rights_of(request.user, study) and signed_in(request).has_perm(step.also):
        try:
            step.run(request, study)
        except QuorumError as error:
            messages.error(request, str(error))
            return redirect(page_address(study, "rehearsal"))
    return redirect(page_address(study, "launch"))


def _describe_design(design: StudyDesign) -> list[Settings]:
    values = design.model_dump(mode="json")
    shown = []
    for section in sections_for(KINDS[design.protocol], values):
        if section.crowd not in ("", design.crowd.backend):
            continue
        rows: list[tuple[str, str]] = []
        unset: list[str] = []
        for key, schema in section.fields.items():
            label, value = label_of(key, schema, values), value_at(values, key)
            if value is None or (not value and key not in ("seed", "scale.low") and not is_money(key)):
                unset.append(label)
            else:
                rows.append((label, _as_read(key, value, design)))
        shown.append((gettext(section.title), rows, unset))
    if design.registration is not None:
        plan = _describe_plan(design.registration)
        rows = [(label, value) for label, value in plan if value]
        shown.append((gettext("Plan"), rows, [label for label, value in plan if not value]))
    return shown


def _as_read(key: str, value: Any, design: StudyDesign) -> str:
    if key in RENDERED:
        kind, preset = KINDS[design.protocol], PRESETS.get(design.preset)
        usual = kind.question_for({"judged": design.judged, "question": kind.defaults.get("question")})
        built_in = value in (usual, preset and preset.values.get(key))
        markup = '<div class="q-words" lang="{}" dir="auto">{}</div>'
        return format_html(markup, "en" if built_in else "", RENDERED[key](value))
    return cents(value, design.currency) if is_money(key) else describe_value(key, value)


def _describe_plan(plan: Plan) -> list[tuple[str, str]]:
    hypotheses = [
        f"{hypothesis.text} ({hypothesis.claim})" if hypothesis.claim else hypothesis.text
        for hypothesis in plan.hypotheses
    ]
    return [
        (gettext("Hypotheses"), "\n".join(hypotheses)),
        (gettext("Exclusions"), plan.exclusions),
        (gettext("Detectors that may exclude"), ", ".join(plan.exclude_by)),
        (gettext("Stopping"), plan.stopping),
        (gettext("Analyses"), "\n".join(plan.analyses)),
        (gettext("Metrics"), ", ".join(plan.metrics) or gettext("any")),
        (gettext("Level"), f"{plan.level:g}"),
    ]


@study_page("change", "Settings", order=10, group=Group.DESIGN)
def _to_the_change_page(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    return redirect(page_address(study, "change"))


@study_page("reuse", "Use again", order=95, group=Group.SHARE)
def show_reuse(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    refusal = take_refusal(request, study)
    number = next_copy(study)
    others = Study.objects.visible_to(signed_in(request)).exclude(pk=study.pk)
    context |= {
        "copy_name": f"{study.name[:190]} ({number})",
        "copy_slug": f"{study.slug[:75]}-{number}",
        "others": others.values_list("slug", "name")[:MOST_OFFERED],
        "shipped": PRESETS,
        "saved": newest_presets(MOST_OFFERED),
        "earlier": earlier_designs(study),
        "is_designed": study.source == Study.Source.DESIGNED,  # published judgments have no design
    }
    if refusal is not None:
        context[f"sent_{refusal.step.replace('-', '_')}"] = refusal
    return TemplateResponse(request, "judgments/study/reuse.html", context)


def show_comparison(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    context: Context = {
        **admin.admin_site.each_context(request),
        "title": gettext("Compare designs"),
        "subtitle": gettext("Compare designs"),
    }
    studies = Study.objects.visible_to(signed_in(request))
    names = request.GET.get("this", ""), request.GET.get("that", "")
    context |= {"this": names[0], "that": names[1]}
    try:
        this, that = (find_design(name, studies=studies) for name in names)
    except QuorumError as error:
        context["problem"] = str(error)
        return TemplateResponse(request, "judgments/study/compare.html", context, status=error.status)
    comparison = compare_designs(this.values_beside(that), that.values_beside(this), names=names)
    context |= {
        "this_title": gettext(this.title),
        "that_title": gettext(that.title),
        "found": comparison,
        "groups": _grouped(comparison.tables, this, that),
        "turned": f"{reverse('admin:judgments_study_compare')}?{urlencode({'this': names[1], 'that': names[0]})}",
    }
    return TemplateResponse(request, "judgments/study/compare.html", context)


def _grouped(tables: dict[str, list[Any]], this: NamedDesign, that: NamedDesign) -> list[dict[str, Any]]:
    titles = {
        key: (gettext(section.title), gettext(field.title or ""))
        for design in (that.design, this.design)
        for section in sections_for(KINDS[design.protocol])
        for key, field in section.fields.items()
    }
    groups: dict[str, list[dict[str, Any]]] = {}
    for rows in tables.values():
        for row in rows:
            title, label = titles.get(row.key, (gettext("Other keys"), ""))
            groups.setdefault(title, []).append({"label": label, "row": row})
    return [{"title": title, "rows": rows} for title, rows in groups.items()]


add_operation(duplicate, label="Duplicate", also="judgments.add_study", leads_away="change")

add_operation(save_preset, label="Save as a preset", leads_to=lambda study: "reuse")


@admin.register(SavedPreset)
class SavedPresetAdmin(QuorumAdmin):
    """Presets are made on a study's page “Use again”, not here."""

    empty_words = "A study's page “Use again” saves its design as a preset."
    list_display = ("title", "slug", "description", "made_by", "made_at", "used")
    list_select_related = ("made_by",)
    search_fields = ("title", "slug", "description")
    fields = ("slug", "title", "description", "made_by", "made_at")
    readonly_fields = ("slug", "made_by", "made_at")
    actions = None

    @display(description="")
    def used(self, preset: SavedPreset) -> SafeString:
        address = f"{reverse('admin:judgments_study_add')}?preset={preset.slug}"
        return format_html('<a class="q-name" href="{}">{}</a>', address, gettext("New study from it"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[SavedPreset]:
        return SavedPreset.objects.all()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("judgments.add_study") or request.user.has_perm("judgments.view_study")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request) and (
            obj is None or may_change_preset(obj, signed_in(request))
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_change_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: SavedPreset, form: forms.ModelForm[Any], change: bool
    ) -> None:
        rename_preset(slug=obj.slug, title=obj.title, description=obj.description, by=signed_in(request))

    def delete_model(self, request: HttpRequest, obj: SavedPreset) -> None:
        delete_preset(slug=obj.slug, by=signed_in(request))
