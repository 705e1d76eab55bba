"""A page of work: its layout, texts, pictures and worked examples; its steps, form and answers.

The catalogues translate built-in texts, also when a design repeats them word for word.
"""

from __future__ import annotations

import math
import mimetypes
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import http_date, quote_etag
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext as _

from annotation.errors import AnswerProblem
from annotation.models import Assignment, Worker
from common.incoming import limits
from common.markup import render_markdown
from common.rows import PreparedQuery, query_parameter
from judgments.datasets.pictures import without_metadata
from judgments.datasets.scaling import attributes_of, served_path, small_address
from judgments.design.study_design import StudyDesign, design_in
from judgments.drawing.controls import REPEATED, REPEATS, order_with_twins_apart
from judgments.drawing.material import UnitSpec, rng_for, screen_of, shuffled
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, Dataset, HITUnit, Item, Study, Unit
from judgments.studies.studies import design_of

PICTURE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}
MOST_SECONDS = 86_400.0
LONGEST_COMMENT = 2_000
SIGNALS = ("pasted",)  # counts that a page may report about how an answer was entered
# what it may report besides where the design records writing (docs/honest-answers.md)
WRITING_SIGNALS = (
    "text", "from_keys", "from_paste", "from_composition", "from_elsewhere", "pastes", "keys", "deletions",
    "typing_ms", "gap_ms", "gap_spread_ms", "bursts", "away", "away_ms",
)  # fmt: skip
MOST_SIGNAL = 1_000_000
NUMBER_KEYS = "1234567890"
UNITS_CACHED = 300  # seconds; then pictures may have been scaled


def translated_text(text: str) -> str:
    """Strip a design's text and translate it if it is a built-in one."""
    text = text.strip()
    return gettext(text) if text else ""


def read_design(study: Study) -> StudyDesign:
    """Return the design with its texts in the reader's language, as far as available."""
    return design_in(design_of(study), get_language())


@dataclass(frozen=True, slots=True)
class PageUnit:
    """A unit at its position (from 1) in an assignment; ``side`` is drawn by its kind (``Kind.sides``)."""

    position: int
    unit: Unit
    side: Any = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The index of the HIT's unit at each position, and its side, if the kind draws sides."""

    order: list[int]
    sides: list[Any]


def draw_layout(
    *,
    design: StudyDesign,
    hit: HIT,
    worker: Worker,
    units: Sequence[Unit],
    left_out: Collection[int] = (),
    with_withdrawn: bool = False,
) -> Layout:
    """Draw the order and the sides of ``hit`` for ``worker``.

    Seed, HIT and the worker's name fix the draw, so that a reclaimed HIT looks the same. The units of a passage
    (``Kind.passage``) keep the HIT's order. Those of one screen (``screen_of``) stay together in any order, the same
    one in all of a passage. A unit and its repetition are kept apart, or the repetition is left out. So are withdrawn
    units, unless ``with_withdrawn`` is set to read a page as it was published.
    """
    kind = KINDS[design.protocol]
    rng = rng_for(design.seed, f"order {hit.key} {worker.name}")
    drawn = [
        _draw_screen_order(units, group, rng) if kind.passage(units[group[0]]) else shuffled(group, rng)
        for group in shuffled(_group_indices(kind, units), rng)
    ]
    unseen = {
        index
        for index, unit in enumerate(units)
        if (unit.withdrawn and not with_withdrawn) or unit.pk in left_out
    }
    groups = [
        shown_group for group in drawn if (shown_group := [index for index in group if index not in unseen])
    ]
    twins = _repetitions(units, groups)
    group_order = order_with_twins_apart(len(groups), twins, rng) if twins else range(len(groups))
    order = [index for number in group_order for index in groups[number]]
    shown = sorted(order)
    rng = rng_for(design.seed, f"sides {hit.key} {worker.name}")
    side_of = dict(zip(shown, kind.sides.draw([units[index] for index in shown], rng), strict=False))
    return Layout(order=order, sides=[side_of[index] for index in order] if side_of else [])


def _group_indices(kind: Kind, units: Sequence[Unit]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, unit in enumerate(units):
        if kind.grouped:
            key: Any = (unit.item_id, unit.control_kind == REPEATED)
        else:
            key = kind.passage(unit) or screen_of(unit) or index
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _draw_screen_order(units: Sequence[Unit], passage: list[int], rng: np.random.Generator) -> list[int]:
    """Return a passage in its order; in half of the draws, turn the units of every screen round."""
    screens = [
        list(screen) for _, screen in groupby(passage, key=lambda index: screen_of(units[index]) or index)
    ]
    if len(screens) == len(passage) or rng.integers(2):
        return passage
    return [index for screen in screens for index in reversed(screen)]


def _repetitions(units: Sequence[Unit], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    of_key = {units[index].key: number for number, group in enumerate(groups) for index in group}
    heads = [units[group[0]] for group in groups]
    return {
        number: of_key[unit.content[REPEATS]]
        for number, unit in enumerate(heads)
        if unit.control_kind == REPEATED and unit.content[REPEATS] in of_key
    }


_HIT_UNITS = PreparedQuery(
    lambda: (
        HITUnit.objects.filter(hit=query_parameter("hit"))
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
)


def units_of_hit(hit_id: int) -> list[Unit]:
    return [row.unit for row in _HIT_UNITS.all(hit=hit_id)]


def cached_units_of(hit: HIT) -> list[Unit]:
    """Return the units of a HIT just read. Requests share them: change none."""
    return list(_cached_units(hit.pk, hit.version, int(time.time() // UNITS_CACHED)))


# 4 MB of HITs of ten; a HIT is asked for twice by each of its workers, within minutes
@lru_cache(maxsize=128)
def _cached_units(hit_id: int, version: int, period: int) -> tuple[Unit, ...]:
    return tuple(units_of_hit(hit_id))


def arrange_units(units: Sequence[Any], order: Sequence[int], sides: Sequence[Any]) -> list[PageUnit]:
    """Place the units in ``order``; if empty, in the HIT's own (imported work, previews)."""
    shown = [units[index] for index in order] if order else units
    return [
        PageUnit(position=index + 1, unit=unit, side=sides[index] if sides else None)
        for index, unit in enumerate(shown)
    ]


def page_units_of(assignment: Assignment) -> list[PageUnit]:
    if assignment.hit is None:  # imported judgments of an unknown HIT
        return []
    return arrange_units(cached_units_of(assignment.hit), assignment.order, assignment.flips)


def shown_unit(
    page_unit: PageUnit, *, design: StudyDesign, picture_url: Callable[[PageUnit], str]
) -> dict[str, Any]:
    kind = KINDS[design.protocol].for_design(design)
    return {
        "position": page_unit.position,
        "protocol": kind.name,
        "question": translated_text(design.question),
        **texts_shown(page_unit, design=design, kind=kind, picture_url=picture_url(page_unit)),
    }


def texts_shown(page_unit: PageUnit, *, design: StudyDesign, kind: Kind, picture_url: str) -> dict[str, Any]:
    shown = kind.present_unit(page_unit.unit, side=page_unit.side, picture_url=picture_url)
    if not picture_url and "image" in shown:
        shown["image"] = {"url": "", "alt": ""}
    if not design.source.show:
        return shown
    source = {"text": page_unit.unit.source_text, "language": design.source.language}
    return {"source": source, **shown}


def picture_url(*, page_unit: PageUnit, assignment: Assignment) -> str:
    """Return the address of a picture for the assignment's worker, "" if there is none.

    It has no file name of an upload, which may reveal too much.
    """
    item: Item = page_unit.unit.item
    if item.picture:
        return reverse("annotation:picture", args=[assignment.pk, page_unit.position])
    return item.url


def preview_picture_url(item: Item) -> str:
    return reverse("annotation:preview-picture", args=[item.pk]) if item.picture else item.url


def add_sizes(shown: dict[str, Any], item: Item | None) -> dict[str, Any]:
    """Add what lets a browser choose a scaled picture and know its shape to the image of ``shown``."""
    image = shown.get("image") or {}
    if item is not None and item.picture and image.get("url") not in (None, "", item.url):
        image |= attributes_of(item, image["url"])
    return shown


def item_at(assignment: Assignment, position: int) -> Item | None:
    if assignment.hit_id is None:
        return None
    order = assignment.order  # in the worker's order, or the HIT's own if that is empty
    if not 1 <= position <= (len(order) or position):
        return None
    index = order[position - 1] if order else position - 1
    rows = HITUnit.objects.filter(hit_id=assignment.hit_id).select_related("unit__item").order_by("position")
    row = rows[index : index + 1].first()
    return row.unit.item if row is not None else None


def picture_response(request: HttpRequest, item: Item | None) -> HttpResponseBase:
    """Return an uploaded picture, cached by this browser only; raise Http404 if missing.

    It is without metadata: the original, or what was scaled to the ``width`` of the address.
    """
    if item is None or not item.picture:
        raise Http404("There is no such picture.")
    picture: FieldFile = item.picture
    try:
        scaled = served_path(item, request.GET.get("width", ""))
        size, changed = picture.size, picture.storage.get_modified_time(picture.name or "")
        if scaled:
            size, changed = scaled.stat().st_size, datetime.fromtimestamp(scaled.stat().st_mtime, UTC)
    except FileNotFoundError:
        raise Http404("The picture's file is not there.") from None
    etag = quote_etag(f"bare-{size:x}-{int(changed.timestamp() * 1_000_000):x}")
    if size > limits().picture_bytes:  # it is read whole
        raise Http404("The picture is too large to be shown.")
    unchanged = get_conditional_response(request, etag=etag, last_modified=int(changed.timestamp()))
    if unchanged is not None:
        response = unchanged
    elif scaled:
        response = HttpResponse(scaled.read_bytes(), content_type="image/webp")
        response.headers["Content-Disposition"] = "inline"
    else:
        kind = mimetypes.guess_type(picture.name or "")[0] or ""
        # only known picture types are shown; others (an SVG can hold scripts) are sent as bytes
        with picture.open("rb") as file:
            content = without_metadata(file.read())
        response = HttpResponse(
            content, content_type=kind if kind in PICTURE_TYPES else "application/octet-stream"
        )
        response.headers["Content-Disposition"] = "inline"  # no file name: it may reveal too much
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(changed.timestamp())
    patch_cache_control(response, private=True, max_age=86_400)
    return response


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A worked example; ``texts`` are (letter, text) pairs, ``why`` is HTML."""

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    why: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[WorkedExample]:
    addresses = {
        number: small_address(item, reverse("annotation:example-picture", args=[study.slug, number]))
        if item.picture
        else item.url
        for number, item in _example_items(study.dataset_id, design).items()
    }
    return _build_examples(design, addresses)


def preview_examples(dataset: Dataset, design: StudyDesign) -> list[WorkedExample]:
    items = _example_items(dataset.pk, design)
    return _build_examples(
        design, {number: small_address(item, preview_picture_url(item)) for number, item in items.items()}
    )


def _build_examples(design: StudyDesign, addresses: dict[int, str]) -> list[WorkedExample]:
    letters = KINDS[design.protocol].for_design(design).page.letters
    return [
        WorkedExample(
            picture=addresses.get(number, ""),
            scene=translated_text(example.scene),
            texts=tuple(zip_longest(letters[: len(example.shown)], example.shown, fillvalue="")),
            answer=translated_text(example.answer),
            why=render_markdown(translated_text(example.why)) if example.why else "",
        )
        for number, example in enumerate(design.examples, start=1)
    ]


def _example_items(dataset_id: int, design: StudyDesign) -> dict[int, Item]:
    named = {
        number: example.image for number, example in enumerate(design.examples, start=1) if example.image
    }
    if not named:
        return {}
    rows = Item.objects.filter(dataset_id=dataset_id, name__in=set(named.values()))
    items = {item.name: item for item in rows}
    return {number: items[name] for number, name in named.items() if name in items}


def example_item(study: Study, design: StudyDesign, number: int) -> Item | None:
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()


def answer_key(kind: Kind) -> str:
    return "answer" if kind.is_open else "value"


def checked_answers(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, page_units: Sequence[PageUnit]
) -> dict[str, dict[str, Any]]:
    """Check answers and return them by position, in the form in which they are stored.

    Args:
        answers: ``[{"position", "value" or "answer", "seconds"?, "wall_seconds"?, "comment"?, "signals"?}]``.
    """
    kind = KINDS[design.protocol].for_design(design)
    key = answer_key(kind)
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise AnswerProblem(
            _("Nothing was saved: answers must be a list of objects with position and %(key)s.")
            % {"key": key}
        )
    by_position = {page_unit.position: page_unit for page_unit in page_units}
    checked: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if not isinstance(answer, Mapping) or "position" not in answer or key not in answer:
            raise AnswerProblem(
                _("Nothing was saved: each answer needs position and %(key)s.") % {"key": key}
            )
        position = answer["position"]
        if type(position) is not int or position not in by_position:
            raise AnswerProblem(
                _("Nothing was saved: position is %(position)s; expected 1 to %(most)d.")
                % {"position": abbreviate(position), "most": len(page_units)}
            )
        try:
            value = kind.clean_answer(answer[key], unit=by_position[position].unit, design=design)
        except ValueError as error:
            raise AnswerProblem(
                _("Nothing was saved: the %(key)s at position %(position)d is %(given)s; %(problem)s.")
                % {"key": key, "position": position, "given": abbreviate(answer[key]), "problem": error},
                position=position,
            ) from None
        if str(position) in checked and checked[str(position)][key] != value:
            raise AnswerProblem(
                _("Nothing was saved: position %(position)d is answered twice.") % {"position": position},
                position=position,
            )
        checked[str(position)] = {key: value} | {
            name: check(answer[name], position)
            for name, check in OPTIONAL_FIELDS.items()
            if answer.get(name) is not None
        }
        _refuse_unrecorded(checked[str(position)].get("signals", {}), position, design)
    return checked


def split_unfinished(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, page_units: Sequence[PageUnit]
) -> tuple[list[Mapping[str, Any]], dict[int, Any]]:
    """Split a plain form's answers into valid ones and, by position, invalid ones.

    Without scripts an answer is checked only when the form is sent, so invalid text must not be lost.
    """
    kind = KINDS[design.protocol].for_design(design)
    if not (kind.is_open or kind.confidences):
        return list(answers), {}
    units = {page_unit.position: page_unit.unit for page_unit in page_units}
    valid: list[Mapping[str, Any]] = []
    unfinished: dict[int, Any] = {}
    for answer in answers:
        value = answer[answer_key(kind)]
        if find_problem(value, kind=kind, unit=units[answer["position"]], design=design):
            unfinished[answer["position"]] = value
        else:
            valid.append(answer)
    return valid, unfinished


def find_problem(value: Any, *, kind: Kind, unit: Any, design: StudyDesign) -> str:
    """Return why an answer is invalid, in words for its worker, or ""."""
    try:
        kind.clean_answer(value, unit=unit, design=design)
    except ValueError as error:
        return str(getattr(error, "says", error))
    return ""


def abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _seconds_check(name: str) -> Callable[[Any, int], float]:
    def check(seconds: Any, position: int) -> float:
        if type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:
            raise AnswerProblem(
                _(
                    "Nothing was saved: %(name)s at position %(position)d is %(seconds)s; expected 0 to %(most)d."
                )
                % {"name": name, "position": position, "seconds": abbreviate(seconds), "most": MOST_SECONDS},
                position=position,
            )
        return float(seconds)

    return check


def _check_comment(comment: Any, position: int) -> str:
    if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT or "\x00" in comment:
        raise AnswerProblem(
            _(
                "Nothing was saved: the comment at position %(position)d is no text of at most %(most)d characters."
            )
            % {"position": position, "most": LONGEST_COMMENT},
            position=position,
        )
    return comment.strip()


def _refuse_unrecorded(signals: Mapping[str, int], position: int, design: StudyDesign) -> None:
    """Refuse signals that the study's participants were not told of."""
    if not design.writing.record and (more := [name for name in signals if name in WRITING_SIGNALS]):
        raise AnswerProblem(
            _(
                "Nothing was saved: the signals at position %(position)d hold %(name)s, but this study does not "
                "record how answers are written; expected counts of %(names)s."
            )
            % {"position": position, "name": more[0], "names": ", ".join(SIGNALS)},
            position=position,
        )


def _check_signals(signals: Any, position: int) -> dict[str, int]:
    fine = isinstance(signals, Mapping) and all(
        name in (*SIGNALS, *WRITING_SIGNALS) and type(count) is int and 0 <= count <= MOST_SIGNAL
        for name, count in signals.items()
    )
    if not fine:
        raise AnswerProblem(
            _(
                "Nothing was saved: the signals at position %(position)d are none; expected counts of %(names)s."
            )
            % {"position": position, "names": ", ".join((*SIGNALS, *WRITING_SIGNALS))},
            position=position,
        )
    return dict(signals)


OPTIONAL_FIELDS: dict[str, Callable[[Any, int], Any]] = {
    "seconds": _seconds_check("seconds"),
    "wall_seconds": _seconds_check("wall_seconds"),
    "comment": _check_comment,
    "signals": _check_signals,
}


def script_words(*, pictures: bool) -> dict[str, str]:
    """Return the translated sentences by their names in static/js."""
    return {
        "here": _("Picture {here} of {all}") if pictures else _("{here} of {all}"),
        "later": _("{n} for later"),
        "complete": _("All answered"),
        "saving": _("Saving"),
        "saved": _("Saved"),
        "notSaved": _("Not saved"),
        "offlineKept": _("Not saved: no connection; your answers are kept in this browser"),
        "offlineOpen": _("Not saved: no connection; your answers are kept on this page: leave it open"),
        "troubleKept": _(
            "Not saved: the server does not answer as it should; your answers are kept in this browser"
        ),
        "troubleOpen": _(
            "Not saved: the server does not answer as it should; "
            "your answers are kept on this page: leave it open"
        ),
        "offlineSubmit": _("No connection: your answers stay here. Try again once it is back."),
        "advised": _("Not yet submitted: look at the advice first. Then submit again."),
        "troubleSubmit": _("The server does not answer as it should: your answers stay here. Try again."),
        "submitting": _("Submitting"),
        "otherTab": _("Answered in another tab"),
        "extended": _("You have more time now"),
        "over": _("The time is over"),
        "leftMoment": _("less than a minute left"),
        "leftMinutes": _("{minutes} min left"),
        "leftHours": _("{hours} h left"),
        "leftBoth": _("{hours} h {minutes} min left"),
        "leftDays": _("{days} days left"),
    }


@dataclass(frozen=True, slots=True)
class StepRow:
    """A unit on the page.

    Attributes:
        shown: the content (docs/api.md).
        key: the number key that ticks it, in a group.
        unfinished: a plain form's invalid input; ``problem`` says why.
    """

    position: int
    shown: dict[str, Any]
    value: Any
    seconds: float | None
    wall_seconds: float | None
    comment: str
    key: str
    unfinished: Any = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One screen: a unit, units side by side, or all units of one picture.

    ``missing``: a submission left it open.
    """

    number: int
    rows: tuple[StepRow, ...]
    missing: bool

    @property
    def first(self) -> StepRow:
        return self.rows[0]

    @property
    def answered(self) -> bool:
        return all(row.value is not None for row in self.rows)

    @property
    def seconds(self) -> float:
        return round(sum(row.seconds or 0.0 for row in self.rows), 2)

    @property
    def wall_seconds(self) -> float:
        return round(sum(row.wall_seconds or 0.0 for row in self.rows), 2)

    @property
    def none_fits(self) -> bool:
        return self.answered and not self.missing and not any(row.value for row in self.rows)


def shows_pictures(design: StudyDesign, steps: Sequence[Step]) -> bool:
    """Return whether the page has pictures, or should have."""
    images = [step.first.shown["image"] for step in steps if step.first.shown.get("image")]
    return any(design.about_pictures or image["url"] for image in images)


def steps_of(
    page_units: Sequence[PageUnit],
    *,
    design: StudyDesign,
    picture_url: Callable[[PageUnit], str],
    answers: Mapping[str, Mapping[str, Any]],
    missing: Collection[int] = (),
    item_of: Callable[[PageUnit], Item | None] = lambda page_unit: page_unit.unit.item,
) -> list[Step]:
    steps = []
    kind = KINDS[design.protocol]
    for number, group in enumerate(screens_of(page_units, kind), start=1):
        rows = tuple(
            StepRow(
                position=page_unit.position,
                shown=add_sizes(
                    shown_unit(page_unit, design=design, picture_url=picture_url), item_of(page_unit)
                ),
                value=saved.get(answer_key(kind)),
                seconds=saved.get("seconds"),
                wall_seconds=saved.get("wall_seconds"),
                comment=saved.get("comment", ""),
                key=NUMBER_KEYS[index] if index < len(NUMBER_KEYS) else "",
                **_unfinished_input(page_unit, saved, kind=kind, design=design),
            )
            for index, page_unit in enumerate(group)
            for saved in [answers.get(str(page_unit.position), {})]
        )
        steps.append(Step(number=number, rows=rows, missing=any(row.position in missing for row in rows)))
    return steps


def _unfinished_input(
    page_unit: PageUnit, saved: Mapping[str, Any], *, kind: Kind, design: StudyDesign
) -> dict[str, Any]:
    if "unfinished" not in saved:
        return {}
    value = saved["unfinished"]
    return {
        "unfinished": value,
        "problem": find_problem(value, kind=kind, unit=page_unit.unit, design=design),
    }


def open_positions(
    page_units: Sequence[PageUnit], answers: Mapping[str, Mapping[str, Any]], *, kind: Kind
) -> list[int]:
    return [
        page_unit.position
        for page_unit in page_units
        if answer_key(kind) not in answers.get(str(page_unit.position), {})
    ]


def screens_of(page_units: Sequence[PageUnit], kind: Kind) -> Iterator[list[PageUnit]]:
    """Yield the units shown together: neighbours of one screen or with the same picture, or single ones."""
    for _key, group in groupby(
        page_units,
        key=lambda page_unit: (
            _picture_key(page_unit.unit) if kind.grouped else screen_of(page_unit.unit) or page_unit.position
        ),
    ):
        yield list(group)


def _picture_key(unit: Any) -> object:
    return unit.image if isinstance(unit, UnitSpec) else unit.item_id, unit.control_kind == REPEATED


def answers_of_form(
    form: Mapping[str, Any],
    page_units: Sequence[PageUnit],
    *,
    kind: Kind,
    final: bool,
    saved: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the form's answers for ``submit_assignment``, which checks them.

    In a draft (not ``final``), an unticked box of a group means nothing, unless its tick was saved.
    """
    # PostgreSQL cannot store U+0000; the rest of the text is kept
    form = {name: text.replace("\x00", "") for name, text in form.items() if isinstance(text, str)}
    if kind.grouped:
        values = _read_ticks(form, screens_of(page_units, kind), final=final, saved=saved)
    else:
        raw = {
            page_unit.position: kind.read_form(form, page_unit.position, page_unit.unit)
            for page_unit in page_units
        }
        values = {position: value for position, value in raw.items() if value is not None}
    return [
        {
            "position": position,
            answer_key(kind): value,
            **_read_seconds(form.get(f"t{position}")),
            **_read_comment(form.get(f"c{position}")),
        }
        for position, value in values.items()
    ]


def undecided_positions(form: Mapping[str, Any], page_units: Sequence[PageUnit], kind: Kind) -> list[int]:
    """Return the positions of groups with neither a tick nor "none", or both."""
    if not kind.grouped:
        return []
    return [
        page_unit.position
        for group in screens_of(page_units, kind)
        if bool(_ticked_positions(form, group)) == _says_none(form, group)
        for page_unit in group
    ]


def _read_ticks(
    form: Mapping[str, Any],
    groups: Iterator[list[PageUnit]],
    *,
    final: bool,
    saved: Mapping[str, Mapping[str, Any]],
) -> dict[int, Any]:
    values: dict[int, Any] = {}
    for group in groups:
        ticked, none = _ticked_positions(form, group), _says_none(form, group)
        # ticks contradict "none": keep the ticks, leave the group open
        decided = none != bool(ticked) and (none or final)
        for page_unit in group:
            taken_back = saved.get(str(page_unit.position), {}).get("value") == 1
            if page_unit.position in ticked or decided or taken_back:
                values[page_unit.position] = int(page_unit.position in ticked)
    return values


def _ticked_positions(form: Mapping[str, Any], group: Sequence[PageUnit]) -> set[int]:
    return {page_unit.position for page_unit in group if form.get(f"u{page_unit.position}") == "1"}


def _says_none(form: Mapping[str, Any], group: Sequence[PageUnit]) -> bool:
    return f"none{group[0].position}" in form


def _read_seconds(text: Any) -> dict[str, float]:
    """Return the measured time if it is usable; a bad time never refuses an answer."""
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        return {}
    return {"seconds": round(seconds, 2)} if math.isfinite(seconds) and 0 <= seconds <= MOST_SECONDS else {}


def _read_comment(text: Any) -> dict[str, str]:
    """Keep an empty comment: it deletes the saved one."""
    return {"comment": text[:LONGEST_COMMENT]} if isinstance(text, str) else {}


def spell_duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return _("less than a minute")
    return _("about %(time)s") % {"time": _hours_and_minutes(minutes)}


def spell_left(seconds: float) -> str:
    """Return the rest of a lease, rounded down."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return _("less than a minute left")
    if minutes >= 2 * 24 * 60:
        return _("%(days)d days left") % {"days": minutes // (24 * 60)}
    return _("%(time)s left") % {"time": _hours_and_minutes(minutes)}


def spell_pay(cents: int, currency: str) -> str:
    if not cents:
        return ""
    pay = ngettext("%(cents)d cent a page of work", "%(cents)d cents a page of work", cents) % {
        "cents": cents
    }
    return f"{pay} ({currency})" if currency else pay


def _hours_and_minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return _("%(minutes)d min") % {"minutes": rest}
    both = {"hours": hours, "minutes": rest}
    return _("%(hours)d h %(minutes)d min") % both if rest else _("%(hours)d h") % both
