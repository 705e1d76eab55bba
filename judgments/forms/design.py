"""The study form: a field for each key of a study file that the protocol uses.

The form knows labels and explanations; bounds and defaults are the design's own. What it does not show (another
protocol's keys) keeps the value it had.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from pydantic import BaseModel
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from judgments.design import PAIR_KINDS, StudyDesign, make_design
from judgments.errors import DesignError
from judgments.kinds import KINDS
from judgments.kinds.base import Kind
from judgments.presets import PRESETS

CHOICES = {
    "sampling.source": [
        ("auto", "Published pairs where the dataset has them, else drawn"),
        ("published", "The dataset's published pairs"),
        ("references", "Drawn from references and systems"),
    ],
    "filter.order": [
        ("stop-first", "Drop stop words, then stem (as the ROUGE script)"),
        ("stem-first", "Stem, then drop stop words (fits the printed figures of H13 better)"),
    ],
    "access.join": [
        ("open", "Anyone with the link"),
        ("code", "Anyone with the link and the code below"),
        ("invited", "Invited people, each with a code of their own"),
    ],
    "crowd.backend": [
        ("local", "People who come by the link"),
        ("external", "A crowd that sends its workers here"),
        ("mturk", "Amazon Mechanical Turk"),
    ],
    "crowd.question": [("external", "This site's page in a frame"), ("html", "A page of its own over there")],
}
RADIOS = {"access.join"}
LONG_TEXTS = {"instructions": 7, "consent": 7}


@dataclass(frozen=True, slots=True)
class Entry:
    """How a key of the study file is asked for."""

    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A group of the form."""

    title: str
    text: str
    entries: dict[str, Entry]


def sections_for(kind: Kind) -> list[Section]:
    """The groups and keys that mean something for ``kind``, in the order they are asked."""
    return [
        Section(
            "Data",
            "What the study is called and which captions it judges.",
            {
                "name": Entry("Name", "Workers see it on the study's page."),
                "slug": Entry("Short name", "In the study's link; left empty, it is made from the name."),
                "dataset": Entry("Dataset"),
                "seed": Entry("Seed", "The same dataset, design and seed give the same HITs."),
            },
        ),
        _sampling(kind),
        *([_filter()] if kind.grouped or not kind.compares_pairs else []),
        Section(
            "Control items",
            "Items whose right answer is known tell careful workers from careless ones. Workers cannot see which "
            "they are.",
            {
                "controls.per_hit": Entry(
                    "Control images in each HIT" if kind.grouped else "Control items in each HIT",
                    "They count within the size of a HIT. 0: none.",
                ),
                "controls.threshold": Entry(
                    "Least share right",
                    "Between 0 and 1. Answers of a worker below it are kept, but not used.",
                ),
                "controls.split": Entry(
                    "Split they come from", "Without splits, a tenth of the images is set aside."
                ),
            },
        ),
        _size(kind),
        Section(
            "Who may join",
            "Workers need no password.",
            {
                "access.join": Entry("May join"),
                "access.code": Entry("Code", "What workers must type when a code is asked for."),
            },
        ),
        Section(
            "Texts",
            "What workers read. Instructions and consent may use Markdown.",
            {
                "question": Entry("Question", "Stands above the answers."),
                "instructions": Entry("Instructions", "Shown before and during the work."),
                "consent": Entry("Consent", "Where there is one, a worker must agree before joining."),
                "contact": Entry("Contact", "Whom workers can ask: a name and an address."),
            },
        ),
        Section(
            "Crowd and pay",
            "Where workers come from, and what they are paid.",
            {
                "crowd.backend": Entry(
                    "Workers come from",
                    "Studies for the other crowds can be designed, but not opened by this version.",
                ),
                "crowd.reward_cents": Entry("Pay for a HIT, in cents", "0: nothing is said about pay."),
                "crowd.budget_cents": Entry("Budget, in cents", "Fees included; nothing goes out beyond it."),
                "crowd.lease_minutes": Entry(
                    "Minutes a HIT may be held", "Then its place is given to somebody else."
                ),
                "crowd.question": Entry("Page shown at Mechanical Turk"),
                "crowd.live": Entry("Live at Mechanical Turk", "Otherwise its sandbox, which costs nothing."),
            },
        ),
    ]


def _sampling(kind: Kind) -> Section:
    entries: dict[str, Entry] = {}
    text = "Which images are judged."
    if kind.compares_pairs:
        text = (
            "How many candidate pairs of each kind are compared: two people's captions of the same image (HC), one "
            "of them of another image (HI), a person's and a machine's (HM), two machines' (MM). All empty: 100 of "
            "each, or as many as there are."
        )
        entries |= {f"sampling.pairs.{name}": Entry(f"{name} pairs") for name in PAIR_KINDS}
        entries["sampling.references"] = Entry(
            "References for each pair", "'all' or a number, drawn with the seed. A triplet is made of each."
        )
        entries["sampling.source"] = Entry("Where pairs come from")
    entries["sampling.images"] = Entry("Images", "'all' or a number, drawn with the seed.")
    entries["sampling.split"] = Entry("Split that is judged", "Ignored where the dataset has no splits.")
    return Section("Sampling", text, entries)


def _filter() -> Section:
    return Section(
        "Filter",
        "Leaves out pairs of image and caption that share hardly a word with the image's own captions (Bleu-pre, "
        "Hodosh et al. 2013).",
        {
            "filter.bleu_pre": Entry("Judge from this score on", "Between 0 and 1. 0: no filter."),
            "filter.fill_to": Entry(
                "Fill the last group up to", "With filtered pairs, which measure the filter's own errors."
            ),
            "filter.order": Entry("Words are prepared"),
        },
    )


def _size(kind: Kind) -> Section:
    entries = {"judgments_per_unit": Entry("Judgments for each unit", "By as many different workers.")}
    if kind.grouped:
        entries["images_per_hit"] = Entry("Images in a HIT")
        entries["captions_per_image"] = Entry("Captions under an image")
    else:
        entries["units_per_hit"] = Entry("Units in a HIT")
    entries["seconds_per_unit"] = Entry(
        "Seconds for a unit", "Expected; tells workers and you how long it takes."
    )
    return Section(
        "Overlap and size", "How many people judge each unit, and how much one accepts at a time.", entries
    )


def starting_values(*, preset: str = "", protocol: str = "") -> dict[str, Any]:
    """A complete design to start from, its name, slug and dataset left open.

    Raises:
        DesignError: no such preset or protocol.
    """
    asked: dict[str, Any] = {"name": "new", "slug": "new", "dataset": "new"}
    asked |= {"preset": preset} if preset else {"protocol": protocol}
    values = make_design(asked).model_dump(mode="json")
    return values | {"name": "", "slug": "", "dataset": ""}


def in_words(key: str, value: Any) -> str:
    """A value as the form says it; a dash for what is left empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "–"
    return dict(CHOICES.get(key, [])).get(value, str(value))


def html_name(key: str) -> str:
    """The form field of a dotted key."""
    return key.replace(".", "-")


class DesignForm(forms.Form):
    """A study design as fields; ``design`` holds the checked result of a valid form."""

    design: StudyDesign

    def __init__(self, data: Any = None, *, base: dict[str, Any], datasets: list[str]) -> None:
        """
        Args:
            base: the values to start from, a study file as nested dicts with every key.
            datasets: names to choose from.
        """
        super().__init__(data)
        self.base = base
        self.kind = KINDS[base["protocol"]]
        self.sections = sections_for(self.kind)
        ours = PRESETS[base["preset"]].ours if base.get("preset") else ()
        for section in self.sections:
            for key, entry in section.entries.items():
                field = _field_for(key, entry, datasets)
                if key in ours:
                    field.help_text = f"{field.help_text} The value is ours; the paper gives none.".strip()
                field.initial = value_at(base, key)
                self.fields[html_name(key)] = field

    def groups(self) -> Iterator[tuple[Section, list[BoundField]]]:
        """Each section with its fields, for the page."""
        for section in self.sections:
            yield section, [self[html_name(key)] for key in section.entries]

    def clean(self) -> dict[str, Any]:
        """Check the whole as one design; what is wrong is said beside the field it is about."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            self.design = make_design(self._values(cleaned))
        except DesignError as error:
            name = html_name(error.field)
            self.add_error(name if name in self.fields else None, str(error))
        return cleaned

    def _values(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The base with the form's answers laid over it; what is left empty falls back to the default."""
        values = deepcopy(self.base)
        for section in self.sections:
            for key in section.entries:
                _put(values, key, cleaned[html_name(key)])
        return values


def _put(values: dict[str, Any], key: str, answer: Any) -> None:
    """Set a dotted key; an empty answer takes the key out, so that its default holds."""
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
    if answer is None or (answer == "" and last == "slug"):
        values.pop(last, None)
    else:
        values[last] = answer


def value_at(values: dict[str, Any], key: str) -> Any:
    """What nested dicts hold under a dotted key; None where there is nothing."""
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _field_for(key: str, entry: Entry, datasets: list[str]) -> forms.Field:
    """The form field of a key, by the type the design gives it."""
    label, text = entry.label, entry.help
    if key == "dataset":
        choices = [("", "Choose a dataset"), *((name, name) for name in datasets)]
        return forms.ChoiceField(label=label, help_text=text, choices=choices, widget=UnfoldAdminSelectWidget)
    if key in CHOICES:
        widget: Any = UnfoldAdminRadioSelectWidget if key in RADIOS else UnfoldAdminSelectWidget
        return forms.ChoiceField(label=label, help_text=text, choices=CHOICES[key], widget=widget)
    if key in ("sampling.references", "sampling.images"):
        return AllOrNumberField(label=label, help_text=text, widget=UnfoldAdminTextInputWidget)
    if key.startswith("sampling.pairs."):
        return forms.IntegerField(
            label=label, help_text=text, required=False, min_value=0, widget=UnfoldAdminIntegerFieldWidget
        )
    annotation, least, most, longest = _constraints(key)
    if annotation is bool:
        return forms.BooleanField(label=label, help_text=text, required=False, widget=UnfoldBooleanWidget)
    if annotation is int:
        return forms.IntegerField(
            label=label, help_text=text, min_value=least, max_value=most, widget=UnfoldAdminIntegerFieldWidget
        )
    if annotation is float:
        widget = UnfoldAdminIntegerFieldWidget(attrs={"step": "any"})
        return forms.FloatField(label=label, help_text=text, min_value=least, max_value=most, widget=widget)
    if key in LONG_TEXTS:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": LONG_TEXTS[key]})
        return forms.CharField(label=label, help_text=text, required=False, max_length=longest, widget=widget)
    return forms.CharField(
        label=label,
        help_text=text,
        required=key == "name",
        max_length=longest,
        widget=UnfoldAdminTextInputWidget,
    )


def _constraints(key: str) -> tuple[type | None, Any, Any, int | None]:
    """Type, least, most and greatest length that the design gives a key."""
    model: type[BaseModel] = StudyDesign
    *tables, last = key.split(".")
    for table in tables:
        inner = model.model_fields[table].annotation
        assert isinstance(inner, type)
        assert issubclass(inner, BaseModel)
        model = inner
    field = model.model_fields[last]
    bounds = {
        name: getattr(rule, name)
        for rule in field.metadata
        for name in ("ge", "le", "max_length")
        if hasattr(rule, name)
    }
    annotation = field.annotation if isinstance(field.annotation, type) else None
    return annotation, bounds.get("ge"), bounds.get("le"), bounds.get("max_length")


class AllOrNumberField(forms.CharField):
    """``all`` or a whole number from 1 on."""

    def to_python(self, value: Any) -> Any:
        """The word, or the number.

        Raises:
            ValidationError: neither.
        """
        text = str(super().to_python(value)).strip().lower()
        if text in ("", "all"):
            return "all" if text else ""
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise forms.ValidationError(f"This is {value!r}; expected 'all' or a whole number from 1 on.")
        return int(text)


class StudyFileForm(forms.Form):
    """A study file, typed or uploaded."""

    text = forms.CharField(
        label="Study file",
        required=False,
        max_length=200_000,
        help_text="TOML; name, dataset and protocol (or a preset) have no default.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 18, "spellcheck": "false"}),
    )
    file = forms.FileField(label="or a file", required=False)

    def clean(self) -> dict[str, Any]:
        """Exactly one of the two, as text."""
        cleaned = super().clean() or {}
        upload, text = cleaned.get("file"), cleaned.get("text", "")
        if bool(upload) == bool(text.strip()):
            raise forms.ValidationError("Paste a study file or choose one: one of the two is needed.")
        if upload:
            if upload.size > 200_000:
                raise forms.ValidationError(
                    f"{upload.name} has {upload.size} bytes; a study file has 200,000 at most."
                )
            try:
                cleaned["text"] = upload.read().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise forms.ValidationError(
                    f"{upload.name} is not UTF-8 text: byte {error.start + 1} does not fit."
                ) from None
        return cleaned
