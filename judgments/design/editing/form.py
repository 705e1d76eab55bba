"""The design form: steps with sections, and a field for each key of a study file that the protocol uses.

Labels and help are those of the design's fields. Each step has fields in sight and folded sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, get_args, get_origin

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from common.amounts import AmountField
from common.errors import DesignError
from common.incoming import HEAD, TextRefused, uploaded_text
from judgments.design.editing.rows import (
    MOST_ROWS,
    RowsField,
    TranslationsField,
    columns_of,
    rows_in_words,
    translations_in_words,
)
from judgments.design.panels import SIGNATURE, Panel, makes_own_links
from judgments.design.reading import (
    NO_PRESETS,
    PRESETS,
    Preset,
    line_of,
    make_design,
    problems_in,
    toml_values,
)
from judgments.design.requirements import QUIZ_PRESETS, REQUIREMENT_PRESETS, Workers
from judgments.design.study_design import USUAL, USUAL_CURRENCY, StudyDesign, currency_named
from judgments.design.tables import PAIR_KINDS, Access, Crowd
from judgments.kinds import KINDS, Kind
from judgments.templatetags.judgments_tags import cents


class Step(StrEnum):
    """The steps that hold fields, in order. "Check" and "Launch" follow."""

    DATA = "Data"
    QUESTION = "Question"
    PEOPLE = "People"
    QUALITY = "Quality"
    COST = "Cost"


STEP_WORDS = {
    Step.DATA: "What is judged, and how much of it.",
    Step.QUESTION: "What participants read.",
    Step.PEOPLE: "Where they come from, and how many judge each item.",
    Step.QUALITY: "How careful answers are told from careless ones.",
    Step.COST: "How long a page of work is, and what it pays.",
}
# In sight at first; all other fields are folded under "Advanced".
IN_SIGHT = {
    "name", "dataset", "sampling.pairs_from", "sampling.options", "question", "crowd.backend", "template.html",
    "judgments_per_unit", "units_per_hit", "images_per_hit", "captions_per_image", "controls.per_hit",
    "crowd.reward_cents", "crowd.budget_cents",
}  # fmt: skip
OUTCOME_WORDS = {
    "completed": "finished",
    "screened-out": "screened out",
    "timed-out": "out of time",
    "returned": "given back",
    "full": "no place left",
}


@dataclass(frozen=True, slots=True)
class Entry:
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A group of the form, for one ``crowd`` or all ('')."""

    step: Step
    title: str
    text: str
    entries: dict[str, Entry]
    crowd: str = ""


PAIR_ENTRIES = {
    "HC": Entry("Two people", "Both captions by people, of the image itself (HC)."),
    "HI": Entry("Another image", "Both by people, one of them of another image (HI)."),
    "HM": Entry("Person and system", "One caption by a person, one by a system (HM)."),
    "MM": Entry("Two systems", "Both captions by systems (MM)."),
}


def field_of(key: str) -> FieldInfo | None:
    """Return the design's field of a dotted key; None for a key within a mapping or a list."""
    model: Any = StudyDesign
    *tables, last = key.split(".")
    for table in tables:
        field = model.model_fields.get(table)
        model = field.annotation if field else None
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return None
    found: FieldInfo | None = model.model_fields.get(last)
    return found


def extra_of(key: str) -> dict[str, Any]:
    """Return a key's settings besides label and help.

    ``words`` are those of the choices, by value; ``radio`` asks for radio buttons; ``rows`` is the height.
    """
    field = field_of(key)
    return dict(field.json_schema_extra) if field and isinstance(field.json_schema_extra, dict) else {}


def sections_for(kind: Kind) -> list[Section]:
    return [
        _section(Step.DATA, "Names and seed", "", ("name", "slug", "dataset", "seed")),
        _sampling(kind),
        *((_FILTER,) if kind.judges_one_caption else ()),
        *((_section(Step.DATA, "This kind", "", kind.own_keys),) if kind.own_keys else ()),
        _texts(kind),
        *(() if kind.no_source else (_SOURCE,)),
        _section(
            Step.QUESTION,
            "Other languages",
            "Participants choose the language of their page. A text that is left out is shown as it is written above.",
            ("translations",),
        ),
        _section(
            Step.PEOPLE,
            "Crowd",
            "",
            (*_keys("crowd", "backend", "lease_minutes", "extensions"), "judgments_per_unit"),
        ),
        _section(
            Step.PEOPLE,
            "Consent",
            "What participants read before they join. It may use Markdown.",
            ("consent", "contact"),
        ),
        _section(
            Step.PEOPLE,
            "Personal data",
            "What is promised to participants. Say the same in the consent text.",
            (*_keys("erasure", "offered", "way"), "retention.identities_days"),
        ),
        _section(
            Step.PEOPLE,
            "Ethics board",
            "What a board asks and no other field says; it stands in the checklist for the board.",
            _keys(
                "ethics",
                "board",
                "minimum_age",
                "vulnerable",
                "risks",
                "benefits",
                "storage",
                "recipients",
                "funding",
            ),
        ),
        _section(
            Step.PEOPLE,
            "Who may join",
            "Participants need no password.",
            _keys("access", "join", "code", "address_share"),
        ),
        _section(
            Step.PEOPLE,
            "Who is asked for",
            "A crowd that cannot check a requirement refuses the study.",
            (
                *_keys("workers", "requirements", "countries", "approval_above", "approved_at_least"),
                *_keys("workers", "hits_at_most", "languages", "devices", "requires", "forbids", "grants"),
                "workers.quotas",
            ),
        ),
        _panel(),
        _MECHANICAL_TURK,
        _section(
            Step.QUALITY,
            "Check questions",
            "Items whose right answer is known (control items). Participants cannot see which they are.",
            _keys("controls", "per_hit", "threshold", "split", "kinds", "after", "known"),
            {"controls.per_hit": replace(_entry("controls.per_hit"), label="Check images on each page")}
            if kind.grouped
            else {},
        ),
        _section(
            Step.QUALITY,
            "Quiz",
            "What participants pass before the work. Without questions and items there is none.",
            _keys(
                "quiz",
                "preset",
                "questions",
                "ask",
                "items",
                "pass_mark",
                "attempts",
                "explain",
                "qualification",
            ),
        ),
        _section(
            Step.QUALITY,
            "Detectors",
            "They look for answers that are too fast, always on one side, or copied.",
            ("rules", "workers.show_accuracy"),
        ),
        *((_WRITING,) if kind.writes_captions else ()),
        *((_STOPPING,) if kind.aggregation.settles else ()),
        _section(
            Step.COST,
            "Size and time",
            "",
            (
                *(("images_per_hit", "captions_per_image") if kind.grouped else ("units_per_hit",)),
                "seconds_per_unit",
                "crowd.edit_minutes",
            ),
        ),
        _section(
            Step.COST,
            "Pay",
            "A study belongs to the crowd it is first opened to.",
            (
                *_keys("crowd", "reward_cents", "budget_cents", "currency", "floor_cents_per_hour"),
                *_keys("crowd", "approve_after_hours", "title", "description", "lifetime_hours"),
            ),
        ),
    ]


def _keys(table: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{table}.{name}" for name in names)


def _entry(key: str) -> Entry:
    field = field_of(key)
    assert field is not None
    return Entry(field.title or "", field.description or "")


def _section(
    step: Step,
    title: str,
    text: str,
    keys: Iterable[str],
    changed: dict[str, Entry] | None = None,
    *,
    crowd: str = "",
) -> Section:
    entries = {key: (changed or {}).get(key) or _entry(key) for key in keys}
    return Section(step, title, text, entries, crowd)


_SOURCE = _section(
    Step.QUESTION,
    "Source text",
    "The text of an item, shown beside what is judged: the document of a summary, the original of a translation.",
    _keys("source", "show", "language", "label"),
)
_FILTER = _section(
    Step.DATA,
    "Filter",
    "Leaves out pairs of image and caption that share hardly a word with the image's own captions (Bleu-pre, "
    "Hodosh et al. 2013).",
    _keys("filter", "bleu_pre", "fill_to", "audit", "order"),
)
_STOPPING = _section(
    Step.QUALITY,
    "Early stopping",
    "An item gets no more judgments than its outcome needs, and a page of work goes to no more participants than its "
    "items need. The first rule loses nothing: the outcome is that of all votes.",
    _keys("stopping", "rule", "full_depth", "minimum", "margin"),
)
_WRITING = _section(
    Step.QUALITY,
    "How answers are written",
    "For the detectors of pasted text, typing and the hidden line. What they find is a sign and no proof.",
    _keys("writing", "record", "hidden_line"),
)
_MECHANICAL_TURK = _section(
    Step.PEOPLE,
    "Mechanical Turk",
    "What its workers are shown, and which site it is.",
    _keys("crowd", "question", "keywords", "masters", "live"),
    crowd="mturk",
)


def _texts(kind: Kind) -> Section:
    places = ", ".join(map(str, kind.labelled))
    return _section(
        Step.QUESTION,
        "Texts",
        "Instructions may use Markdown.",
        (
            "question",
            "judged",
            *(("labels",) if kind.labelled else ()),
            "instructions",
            "examples",
            "language",
        ),
        {"labels": replace(_entry("labels"), help=f"One a line, for {places}. Empty: built-in ones.")},
    )


def _sampling(kind: Kind) -> Section:
    text = "Which images are judged."
    keys: list[str] = []
    changed: dict[str, Entry] = {}
    if kind.compares_pairs:
        text = "Leave all numbers of pairs empty to have 100 of each kind, or as many as there are."
        changed = {f"sampling.pairs.{name}": PAIR_ENTRIES[name] for name in PAIR_KINDS}
        keys = [*changed, *_keys("sampling", "references", "source")]
        changed["sampling.references"] = Entry(
            "References for each pair", "'all' or a number, drawn with the seed. A triplet is made of each."
        )
        changed["sampling.only"] = replace(_entry("sampling.only"), label="Only these candidate pairs")
    if kind.judges_one_caption:
        text = "Which captions are judged with which images."
        keys = [*_keys("sampling", "pairs_from", "k", "task", "references", "foils", "listed")]
        changed["sampling.references"] = replace(
            _entry("sampling.references"), help="For people's captions: 'all' or a number."
        )
    keys += _keys("sampling", "images", "split", *(("only",) if kind.chosen_by_id else ()))
    return _section(Step.DATA, "Sampling", text, keys, changed)


def _panel() -> Section:
    section = _section(
        Step.PEOPLE,
        "Panel",
        "How it sends its people, and how they go back.",
        (
            *_keys("panel", "preset", "hits"),
            "crowd.fee_percent",
            *_keys("panel", "worker", "session", "project", "signature", "finish", "personal_codes", "api"),
            *_keys("crowd", "screen_out_cents", "screen_outs", "demographics"),
        ),
        crowd="external",
    )
    for name, label, text in (
        ("addresses", "Address back", "{code}, {worker} and {session} are filled in."),
        ("codes", "Code", "Left empty, one is made."),
    ):
        for outcome, words in OUTCOME_WORDS.items():
            section.entries[f"panel.{name}.{outcome}"] = Entry(
                f"{label}: {words}", text if outcome == "completed" else ""
            )
    return section


REQUIREMENTS = "workers.requirements"
IN_CENTS = ", in cents"  # ends the titles of keys that hold money
MOST_FOLDED = 6
LONGEST_FOLDED = 40  # characters of a value that stands beside "Advanced"
NAMES = ("name", "slug", "dataset")  # what a design to start from lacks


class AllOrNumberField(forms.CharField):
    def to_python(self, value: Any) -> Any:
        text = str(super().to_python(value)).strip().lower()
        if text in ("", "all"):
            return "all" if text else ""
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise forms.ValidationError(
                gettext("This is %(value)r; expected 'all' or a whole number from 1 on.") % {"value": value}
            )
        return int(text)


class TypedField(forms.CharField):
    def __init__(self, *, rows: int, **options: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"})
        super().__init__(required=False, widget=widget, **options)


class LinesField(TypedField):
    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in str(super().to_python(value)).splitlines() if line.strip()]


class PairsField(LinesField):
    """A list of pairs, one a line with a tab between."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        return "\n".join("\t".join(pair) for pair in value)

    def to_python(self, value: Any) -> Any:
        pairs = [[cell.strip() for cell in line.split("\t")] for line in super().to_python(value)]
        for number, pair in enumerate(pairs, start=1):
            if len(pair) != 2 or not all(pair):
                raise forms.ValidationError(
                    gettext("Line %(number)d has %(cells)d cells; expected an image, a tab and a caption.")
                    % {"number": number, "cells": len(pair)}
                )
        return pairs


def starting_values(
    *, preset: str = "", protocol: str = "", saved: Mapping[str, Preset] = NO_PRESETS
) -> dict[str, Any]:
    asked = dict.fromkeys(NAMES, "new") | ({"preset": preset} if preset else {"protocol": protocol})
    return make_design(asked, saved=saved).model_dump(mode="json") | dict.fromkeys(NAMES, "")


def values_from_toml(text: str, *, saved: Mapping[str, Preset] = NO_PRESETS) -> dict[str, Any]:
    """Return a complete design from a study file that may lack name, slug and dataset.

    Raises:
        DesignError: the file is refused; the sentence begins with the line.
    """
    values = toml_values(text, source="This")
    open_keys = [key for key in NAMES if not values.get(key)]
    try:
        design = make_design(values | dict.fromkeys(open_keys, "new"), saved=saved)
    except DesignError as error:
        line = line_of(text, error.field)
        at_line = gettext("Line %(line)d: %(error)s") % {"line": line, "error": error} if line else str(error)
        raise DesignError(at_line, field=error.field) from None
    return design.model_dump(mode="json") | dict.fromkeys(open_keys, "")


def field_of_key(key: str, design: StudyDesign) -> str:
    """Return the field of the form that a key of the design stands at, or "": not every kind asks for every key."""
    form = DesignForm(base=design.model_dump(mode="json"), datasets=[design.dataset])
    if key == "sampling.pairs":  # the first of those in sight
        key = next(iter(form.pair_keys_in_sight()), key)
    name = html_name(key)
    return name if name in form.fields else ""


def value_in_words(key: str, value: Any) -> str:
    """Format as the form does; a dash if empty."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if is_money(key):
        return cents(value)
    if value is None or value in ("", []):
        return "–"
    if isinstance(value, dict):
        return translations_in_words(value)
    if isinstance(value, list):
        field = field_of(key)
        shown = _list_field(key, field, rows=1) if field else None
        if isinstance(shown, RowsField):
            return rows_in_words(shown.columns, value)
        if isinstance(shown, PairsField):
            return str(shown.prepare_value(value))
        return ", ".join(value_in_words(key, one) for one in value)
    words: dict[Any, str] = {"all": "all"} | extra_of(key).get("words", {})
    return gettext(words[value]) if value in words else str(value)


def is_money(key: str) -> bool:
    return "_cents" in key


def _currency(base: Mapping[str, Any]) -> str:
    """Return the currency; other values may be missing or wrong."""
    crowd = Crowd(**{key: base["crowd"][key] for key in ("backend", "currency")})
    return currency_named(crowd, Panel(preset=base["panel"]["preset"])) or USUAL_CURRENCY


def html_name(key: str) -> str:
    return key.replace(".", "-")


class DesignForm(forms.Form):
    """A study design as fields.

    Attributes:
        values: the content of a checked form as in a study file, valid or not.
        design: the design of a valid form.
        currency: of all amounts.
    """

    values: dict[str, Any]
    design: StudyDesign
    currency: str

    def __init__(self, data: Any = None, *, base: dict[str, Any], datasets: list[str]) -> None:
        """Build the fields from ``base``, a study file as nested dicts with every key."""
        super().__init__(data)
        # a design leaves these tables out where they say what is usual
        base = {**{table: usual.model_dump(mode="json") for table, usual in USUAL.items()}, **base}
        base["access"] = Access().model_dump() | base["access"]
        self.base = base
        self.kind = KINDS[base["protocol"]]
        self.sections = sections_for(self.kind)
        ours = PRESETS[base["preset"]].ours if base.get("preset") in PRESETS else ()
        asked = sources_by_key(base)
        for section in self.sections:
            for key, entry in section.entries.items():
                field = _field_for(key, entry, datasets)
                if key in ours:
                    chosen = gettext("Quorum chose the value, as the paper gives none.")
                    field.help_text = f"{field.help_text} {chosen}".strip()
                if key in asked:
                    source = gettext("From the paper: %(source)s.") % {"source": asked[key]}
                    field.help_text = f"{field.help_text} {source}".strip()
                field.initial = field.prepare_value(value_at(base, key))
                if isinstance(field, TranslationsField):
                    field.disabled = field.initial.longest > MOST_ROWS
                if isinstance(field, RowsField):
                    field.disabled = len(field.initial or ()) > MOST_ROWS
                    field.widget.hidden = self.kind.hidden_keys if key == "controls.known" else frozenset()
                self.fields[html_name(key)] = field
        self._name_currency(base)
        if self.is_bound:
            self._take_requirements_off()

    def groups(self) -> Iterator[tuple[Section, list[BoundField]]]:
        for section in self.sections:
            yield section, [self[html_name(key)] for key in section.entries]

    def pair_keys_in_sight(self) -> list[str]:
        """Return the kinds of pairs with a number; all if none has one."""
        keys = [f"sampling.pairs.{name}" for name in PAIR_KINDS] if self.kind.compares_pairs else []
        asked = [key for key in keys if self[html_name(key)].value() not in (0, "0", "", None)]
        wrong = [key for key in keys if self.is_bound and html_name(key) in self.errors]
        return [key for key in keys if key in asked or key in wrong] or keys

    def folded_values(self, sections: Iterable[Section]) -> list[tuple[str, str]]:
        found = []
        for section in sections:
            for key, entry in section.entries.items():
                value = value_at(self.base, key)
                if (
                    section.crowd
                    or key in IN_SIGHT
                    or value in (None, "", 0, False)
                    or isinstance(value, list | dict)
                ):
                    continue
                words = value_in_words(key, value)
                if len(words) <= LONGEST_FOLDED and not key.startswith("sampling.pairs."):
                    found.append((gettext(entry.label), words))
        return found[:MOST_FOLDED]

    def as_posted(self) -> dict[str, Any]:
        """Return what a browser sends for the unchanged form."""
        sent: dict[str, Any] = {}
        for name, field in self.fields.items():
            value = self.get_initial_for_field(field, name)
            if isinstance(field, TranslationsField):
                sent |= field.posted(name, value)
            elif isinstance(field, RowsField):
                sent |= field.posted(name, value or [])
            elif value is not None and value is not False:
                sent[name] = value
        return sent

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.values = self._values(cleaned)
        # a stand-in for what is still open, so that its want hides nothing else
        open_keys = [key for key in NAMES if key in self.errors]
        for problem in problems_in(self.values | dict.fromkeys(open_keys, "open")):
            field = self._field_of(problem.field)
            # what the field itself refused was replaced by the value it had before
            if field not in self.errors:
                self.add_error(field, str(problem))
        if not self.errors:
            self.design = make_design(self.values)
        if not {"crowd-backend", "crowd-currency", "panel-preset"} & self.errors.keys():
            self._name_currency(self.values)
        return cleaned

    def _name_currency(self, values: Mapping[str, Any]) -> None:
        self.currency = _currency(values)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.unit = self.currency

    def sketch(self) -> StudyDesign | None:
        """Return a design to preview, with a stand-in name and slug if missing; None if it is invalid."""
        if not self.is_bound:
            values = deepcopy(self.base) | {
                "dataset": self.get_initial_for_field(self.fields["dataset"], "dataset")
            }
        elif self.errors.keys() <= {"name", "slug"}:
            values = self.values
        else:
            return None
        stand_ins = {
            key: word
            for key, word in (("name", "A study without a name"), ("slug", "a-study-without-a-name"))
            if not values.get(key) or key in self.errors
        }
        try:
            return make_design(values | stand_ins)
        except DesignError:
            return None

    def problems(self) -> list[tuple[BoundField | None, list[str]]]:
        """Follow the order of the fields; None stands for the whole form."""
        general = [str(error) for error in self.non_field_errors()]
        found: list[tuple[BoundField | None, list[str]]] = [(None, general)] if general else []
        return found + [
            (self[name], [str(one) for one in self.errors[name]])
            for name in self.fields
            if name in self.errors
        ]

    def _take_requirements_off(self) -> None:
        """Clear the previous set of requirements, unless one was edited."""
        named = value_at(self.base, REQUIREMENTS)
        chosen = self.data.get(html_name(REQUIREMENTS))
        if named not in REQUIREMENT_PRESETS or chosen in (None, named):
            return
        filled = {html_name(f"workers.{key}"): key for key in REQUIREMENT_PRESETS[named].values}
        if all(self._is_as_before(name, f"workers.{key}") for name, key in filled.items()):
            nothing = Workers().model_dump(mode="json")
            data: Any = self.data
            data = data.copy()  # what came with a request cannot be changed
            for name, key in filled.items():
                data[name] = self.fields[name].prepare_value(nothing[key])
            self.data = data

    def _is_as_before(self, name: str, key: str) -> bool:
        try:
            return bool(self.fields[name].clean(self.data.get(name)) == value_at(self.base, key))
        except ValidationError:
            return False

    def _field_of(self, key: str) -> str | None:
        while key and html_name(key) not in self.fields:
            key = key.rpartition(".")[0]
        return html_name(key) if key else None

    def _values(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Lay the answers over the base; an empty answer means the default."""
        values = deepcopy(self.base)
        built_in = self.kind.wordings.get(values.get("judged", ""))
        for section in self.sections:
            for key in section.entries:
                if html_name(key) in cleaned:  # what its field refused keeps the value it had
                    _put(values, key, cleaned[html_name(key)])
        # a worked example that was added stays as it is written until it is translated
        for texts in (values.get("translations") or {}).values():
            if given := texts.get("examples"):
                texts["examples"] = [*given, *({} for _ in values["examples"][len(given) :])]
        # links of one's own are signed from when they are chosen on, until somebody empties the field
        if makes_own_links(values) and not makes_own_links(self.base) and not values["panel"]["signature"]:
            values["panel"]["signature"] = SIGNATURE
        # the built-in question goes with what is judged
        if (
            built_in
            and values.get("question") == built_in.question
            and values["judged"] != self.base["judged"]
        ):
            del values["question"]
        return values


def sources_by_key(base: Mapping[str, Any]) -> dict[str, str]:
    """Return dotted key -> source."""
    preset = PRESETS.get(base.get("preset", ""))
    if preset is None:
        return {}
    asked: dict[str, str] = {}
    named = value_at(preset.values, REQUIREMENTS)
    if named and named == value_at(dict(base), REQUIREMENTS):
        requirements = REQUIREMENT_PRESETS[named]
        keys = (REQUIREMENTS, *(f"workers.{key}" for key in requirements.values))
        asked |= dict.fromkeys(keys, requirements.source)
    quiz = value_at(preset.values, "quiz.preset")
    if quiz and quiz == value_at(dict(base), "quiz.preset"):
        asked["quiz.preset"] = QUIZ_PRESETS[quiz].source
    return asked


def _put(values: dict[str, Any], key: str, answer: Any) -> None:
    """Set a dotted key; remove it for an empty answer."""
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
    if answer is None or (answer == "" and last == "slug"):
        values.pop(last, None)
    else:
        values[last] = answer


def value_at(values: dict[str, Any], key: str) -> Any:
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _field_for(key: str, entry: Entry, datasets: list[str]) -> forms.Field:
    options: dict[str, Any] = {"label": gettext(entry.label), "help_text": gettext(entry.help)}
    text: dict[str, Any] = options | {"required": key == "name", "widget": UnfoldAdminTextInputWidget}
    if key == "translations":
        return TranslationsField(**options)
    if key == "dataset":
        choices = [("", gettext("Choose a dataset")), *((name, name) for name in datasets)]
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, **options)
    if key in ("sampling.references", "sampling.images", "sampling.options"):
        return AllOrNumberField(widget=UnfoldAdminTextInputWidget, **options)
    if key.startswith("sampling.pairs."):
        return forms.IntegerField(
            required=False, min_value=0, widget=UnfoldAdminIntegerFieldWidget, **options
        )
    if key.startswith(("panel.codes.", "panel.addresses.")):
        longest = 1000 if key.startswith("panel.addresses.") else 80
        return forms.CharField(max_length=longest, empty_value=None, **text)
    field, extra = field_of(key), extra_of(key)
    assert field is not None
    if words := extra.get("words"):
        choices = [(value, gettext(label)) for value, label in words.items()]
        if get_origin(field.annotation) is tuple:
            several = UnfoldAdminCheckboxSelectMultipleWidget
            needed = bool(field.default)
            return forms.MultipleChoiceField(required=needed, choices=choices, widget=several, **options)
        widget: Any = UnfoldAdminRadioSelectWidget if extra.get("radio") else UnfoldAdminSelectWidget
        return forms.ChoiceField(required=all(words), choices=choices, widget=widget, **options)
    if rows := _list_field(key, field, rows=extra.get("rows", 1), **options):
        return rows
    limits = _limits(field)
    bounds: dict[str, Any] = {"min_value": limits.get("ge"), "max_value": limits.get("le")}
    if field.annotation is bool:
        return forms.BooleanField(required=False, widget=UnfoldBooleanWidget, **options)
    if is_money(key):  # the study file and its key hold cents
        label = gettext(entry.label.removesuffix(IN_CENTS))
        return AmountField(label, gettext(entry.help), required=True, most_cents=limits.get("le"))
    if field.annotation is int:
        return forms.IntegerField(widget=UnfoldAdminIntegerFieldWidget, **bounds, **options)
    if field.annotation is float:
        widget = UnfoldAdminIntegerFieldWidget(attrs={"step": "any"})
        return forms.FloatField(widget=widget, **bounds, **options)
    if "rows" in extra:
        text["widget"] = UnfoldAdminTextareaWidget(attrs={"rows": extra["rows"]})
    return forms.CharField(max_length=limits.get("max_length"), **text)


def _list_field(key: str, field: FieldInfo, *, rows: int, **options: Any) -> forms.Field | None:
    if get_origin(field.annotation) is not tuple:
        return None
    (member, *_) = get_args(field.annotation)
    if get_origin(member) is Annotated:
        (member, *_) = get_args(member)
    if get_origin(member) is tuple:
        return PairsField(rows=rows, **options)
    if isinstance(member, type) and issubclass(member, BaseModel):
        return RowsField(columns_of(member), **options)
    return LinesField(rows=rows, **options)


def _limits(field: FieldInfo) -> dict[str, Any]:
    return {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in ("ge", "le", "max_length")
        if hasattr(rule, name)
    }


class StudyFileForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Study file"),
        required=False,
        max_length=HEAD,
        help_text=gettext_lazy("TOML; name, dataset and protocol (or a preset) have no default."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 18, "spellcheck": "false"}),
    )
    file = forms.FileField(label=gettext_lazy("or a file"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload, text = cleaned.get("file"), cleaned.get("text", "")
        if bool(upload) == bool(text.strip()):
            raise forms.ValidationError(
                gettext("Paste a study file or choose one: one of the two is needed.")
            )
        if upload:
            try:
                cleaned["text"] = uploaded_text(upload)
            except TextRefused as error:
                raise forms.ValidationError(str(error)) from None
        return cleaned
