"""The path of the design form: steps, each with visible fields and folded groups.

Labels and help are those of the design's fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from judgments.design.study_design import StudyDesign
from judgments.design.tables import PAIR_KINDS
from judgments.kinds import Kind


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
