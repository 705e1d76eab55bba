"""The page "New study": presets and datasets to start from, and the form of a new design."""

from __future__ import annotations

from itertools import count
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from judgments.access.visible_rows import visible_rows
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.editing.dataset_counts import count_contents
from judgments.design.editing.fitting import fit_to_dataset
from judgments.design.editing.form.values import starting_values
from judgments.design.editing.preset_titles import preset_title
from judgments.design.editing.text_types import can_ask_about_texts, judged_text_type
from judgments.design.editing.views.editor import EditorPage, edit_design, form_context
from judgments.design.reading.completing import slugify_name
from judgments.design.reading.presets import PRESETS, Preset
from judgments.design.saved_presets import load_saved_presets
from judgments.design.study_design import PURPOSES, StudyDesign
from judgments.design.wordings import CAPTION
from judgments.kinds import KINDS
from judgments.models import Dataset, Study
from judgments.studies.studies import create_study
from judgments.studies.study_page import START_PAGES

MAX_DATASETS = 30  # newest datasets on the page "New study"; the pages of other datasets have a link to it

MAX_PROTOCOLS_SHOWN = 4  # protocols that are visible below each purpose; the others are folded


def add_study(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    """Show the page "New study" or, if the address names a preset or protocol, the form of a new design."""
    saved_presets = load_saved_presets()
    base = values_of_address(request, saved_presets)
    datasets = visible_rows(Dataset.objects.all(), request.user)
    dataset = _requested_dataset(request, datasets)
    if base is None:
        return _show_start(admin, request, datasets, dataset, saved_presets)
    fitted_design = None
    if request.method != "POST" and dataset is not None:
        fitted_design = fit_to_dataset(
            base,
            dataset,
            maker=signed_in(request).pk,
            is_unchanged_preset=True,
            checks_answer=request.GET.get("checks", ""),  # reserve, repeat or omit items for check questions
        )
        base = fitted_design.values
        short_title = _title_of(base, saved_presets).partition(":")[0]
        base["name"] = _free_name(f"{short_title}, {dataset.name}")

    def store(design: StudyDesign) -> Study:
        study = create_study(design=design, user=signed_in(request))
        admin.log_addition(request, study, "designed")
        return study

    editor = edit_design(request, store, base=base, saved_presets=saved_presets, fitted_design=fitted_design)
    if not isinstance(editor, EditorPage):
        return editor
    context = (
        page_context(admin, request)
        | form_context(editor, saved_presets)
        | {"subtitle": gettext("New study")}
    )
    return TemplateResponse(request, "judgments/study/add.html", context)


def _requested_dataset(request: HttpRequest, datasets: QuerySet[Dataset]) -> Dataset | None:
    """Return the dataset that the address names, or else the only dataset; None if there are several or none."""
    requested_dataset = datasets.filter(name=request.GET.get("dataset", "")).first()
    if requested_dataset is not None:
        return requested_dataset
    first_two = list(datasets.order_by("pk")[:2])
    return first_two[0] if len(first_two) == 1 else None


def _show_start(
    admin: QuorumAdmin,
    request: HttpRequest,
    datasets: QuerySet[Dataset],
    dataset: Dataset | None,
    saved_presets: dict[str, Preset],
) -> HttpResponse:
    """Show the presets for a dataset, grouped by the aims of studies."""
    newest_datasets = list(datasets.order_by("-pk")[:MAX_DATASETS])
    dataset = dataset or next(iter(newest_datasets), None)
    counts = count_contents(dataset, request.user) if dataset else None
    has_only_texts = counts is not None and counts.has_only_texts
    text_type = judged_text_type(dataset) if dataset and has_only_texts else CAPTION
    kind_names = {name for name, kind in KINDS.items() if not has_only_texts or can_ask_about_texts(kind)}

    def make_cards(presets: dict[str, Preset]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "preset": preset,
                "title": preset_title(preset, text_type),
                "thumbnail": f"judgments/thumbnails/{preset.values['protocol']}.html",
                "seconds": starting_values(preset=name, saved_presets=saved_presets)["seconds_per_unit"],
                "missing": counts.missing_for(preset) if counts else "",
                "other_type": preset.values.get("judged", CAPTION) not in (CAPTION, text_type),
            }
            for name, preset in presets.items()
            if preset.values["protocol"] in kind_names
        ]

    published_cards = make_cards(PRESETS)
    aims = []
    for purpose, description in PURPOSES.items():
        suitable_cards = [card for card in published_cards if purpose in card["preset"].suits]
        # first the presets for which the dataset lacks nothing, then those for its type of text, then the simplest
        suitable_cards.sort(
            key=lambda card: (bool(card["missing"]), card["other_type"], card["preset"].suits[purpose])
        )
        usable_count = sum(not card["missing"] for card in suitable_cards[:MAX_PROTOCOLS_SHOWN])
        shown_count = max(1, usable_count)  # show one even if the dataset lacks something for each
        cards = {"shown_cards": suitable_cards[:shown_count], "folded_cards": suitable_cards[shown_count:]}
        aims.append({"name": purpose, "title": description.title, **cards})
    context = page_context(admin, request) | {
        "subtitle": gettext("New study"),
        "aims": aims,
        "published_cards": published_cards,
        "saved_cards": make_cards(saved_presets),
        "kind_names": [name for name in KINDS if name in kind_names],
        "of_texts": has_only_texts,  # the templates of thumbnails read it, too
        "datasets": newest_datasets,
        "dataset": dataset,
        "counts": counts,
        "may_add_dataset": signed_in(request).has_perm("judgments.add_dataset"),
        "start_pages": list(START_PAGES.values()),
    }
    return TemplateResponse(request, "judgments/study/start.html", context)


def _title_of(base: dict[str, Any], saved_presets: dict[str, Preset]) -> str:
    """Return the title of the design's preset or, without a preset, of its protocol."""
    preset = {**saved_presets, **PRESETS}.get(base["preset"])
    return preset.title if preset else KINDS[base["protocol"]].title


def _free_name(name: str) -> str:
    """Return the name or, if a study has its slug already, the name with a number, such as "Triplets (2)"."""
    free_name = name[:180]
    for number in count(2):
        if not Study.objects.filter(slug=slugify_name(free_name)).exists():
            break
        free_name = f"{name[:180]} ({number})"
    return free_name


def page_context(admin: QuorumAdmin, request: HttpRequest) -> dict[str, Any]:
    """Return the context that the pages "New study" and "New study from a file" share."""
    return {**admin.admin_site.each_context(request), "title": gettext("New study")}


def values_of_address(
    request: HttpRequest, saved_presets: dict[str, Preset], current: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the values of a new design by the preset or protocol in the address; None if it names neither.

    Args:
        current: the design of a study, whose names, seed, translations and registration are kept; None for a new study.
    """
    preset, protocol = request.GET.get("preset", ""), request.GET.get("protocol", "")
    if preset not in {**saved_presets, **PRESETS}:
        preset = ""
    if not preset and protocol not in KINDS:
        return None
    base = starting_values(preset=preset, protocol=protocol, saved_presets=saved_presets)
    if request.GET.get("purpose") in PURPOSES:
        base["purpose"] = request.GET["purpose"]
    if current is not None:
        base |= {
            key: current[key]
            for key in ("name", "slug", "dataset", "seed", "translations", "registration")
            if key in current
        }
    return base
