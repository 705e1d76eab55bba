"""The groups of the design form, whose labels and help are those of the design's fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from judgments.design.study_design import StudyDesign
from judgments.design.tables import PAIR_KINDS
from judgments.kinds import Kind

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
    """A group of the form; ``crowd`` is the only crowd it is for, '' for all."""

    title: str
    text: str
    entries: dict[str, Entry]
    crowd: str = ""


def field_of(key: str) -> FieldInfo | None:
    """Return the field of the design that a dotted key names; None for a key within a mapping or a list."""
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
    """Return what the form needs of a key besides label and help.

    ``words`` are those of the choices, by value; ``radio`` shows them as radio buttons; ``rows`` is the field's height.
    """
    field = field_of(key)
    return dict(field.json_schema_extra) if field and isinstance(field.json_schema_extra, dict) else {}


def sections_for(kind: Kind) -> list[Section]:
    """Return the groups and keys that apply to ``kind``, in form order."""
    return [
        _section(
            "Data",
            "What the study is called and which captions it judges.",
            ("name", "slug", "dataset", "seed", "judged"),
        ),
        *(() if kind.no_source else (_SOURCE,)),
        _sampling(kind),
        *((_FILTER,) if kind.judges_one_caption else ()),
        _section(
            "Control items",
            "Items whose right answer is known tell careful workers from careless ones. Workers cannot see which "
            "they are.",
            _keys("controls", "per_hit", "threshold", "split", "kinds", "after", "known"),
            {"controls.per_hit": replace(_entry("controls.per_hit"), label="Control images in each HIT")}
            if kind.grouped
            else {},
        ),
        *((_section("This kind", "", kind.asks),) if kind.asks else ()),
        _section(
            "Overlap and size",
            "How many people judge each unit, and how much one accepts at a time.",
            (
                "judgments_per_unit",
                *(("images_per_hit", "captions_per_image") if kind.grouped else ("units_per_hit",)),
                "seconds_per_unit",
            ),
        ),
        _section("Who may join", "Workers need no password.", _keys("access", "join", "code")),
        _section(
            "Quiz",
            "What workers pass before the work. Without questions and items there is none.",
            _keys(
                "quiz",
                *("preset", "questions", "ask", "items", "pass_mark", "attempts", "explain", "qualification"),
            ),
        ),
        _section(
            "Workers and behaviour",
            "Whom the study asks for, and which detectors run.",
            (
                *_keys("workers", "requirements", "countries", "approval_above", "approved_at_least"),
                *_keys("workers", "hits_at_most", "languages", "devices", "requires", "forbids", "grants"),
                *_keys("workers", "quotas", "show_accuracy"),
                "rules",
            ),
        ),
        *((_STOPPING,) if kind.aggregation.settles else ()),
        _texts(kind),
        *_CROWDS,
        _panel(),
    ]


def _keys(table: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{table}.{name}" for name in names)


def _entry(key: str) -> Entry:
    field = field_of(key)
    assert field is not None
    return Entry(field.title or "", field.description or "")


def _section(
    title: str, text: str, keys: Iterable[str], changed: dict[str, Entry] | None = None, *, crowd: str = ""
) -> Section:
    """Return a group of the keys; ``changed`` holds entries that differ from the design's fields."""
    entries = {key: (changed or {}).get(key) or _entry(key) for key in keys}
    return Section(title, text, entries, crowd)


_SOURCE = _section(
    "Source text",
    "The text of an item, shown beside what is judged: the document of a summary, the original of a translation.",
    _keys("source", "show", "language", "label"),
)
_FILTER = _section(
    "Filter",
    "Leaves out pairs of image and caption that share hardly a word with the image's own captions (Bleu-pre, "
    "Hodosh et al. 2013).",
    _keys("filter", "bleu_pre", "fill_to", "audit", "order"),
)
_STOPPING = _section(
    "Early stopping",
    "A unit gets no more judgments than its outcome needs, and a HIT goes to no more workers than its units need. "
    "The first rule loses nothing: the outcome is that of all votes.",
    _keys("stopping", "rule", "full_depth", "minimum", "margin"),
)
_CROWDS = (
    _section(
        "Crowd and pay",
        "Where workers come from, and what they are paid. A study belongs to the crowd it is first opened to.",
        (
            *_keys("crowd", "backend", "reward_cents", "budget_cents", "currency", "floor_cents_per_hour"),
            *_keys("crowd", "approve_after_hours", "title", "description", "lifetime_hours"),
            *_keys("crowd", "lease_minutes", "extensions", "edit_minutes"),
        ),
    ),
    _section(
        "Mechanical Turk",
        "What its workers are shown, and which site it is.",
        _keys("crowd", "question", "keywords", "masters", "live"),
        crowd="mturk",
    ),
)


def _texts(kind: Kind) -> Section:
    places = ", ".join(map(str, kind.labelled))
    return _section(
        "Texts",
        "What workers read. Instructions and consent may use Markdown.",
        (
            "question",
            *(("labels",) if kind.labelled else ()),
            *("instructions", "consent", "examples", "language", "contact"),
        ),
        {"labels": replace(_entry("labels"), help=f"One a line, for {places}. Empty: built-in ones.")},
    )


def _sampling(kind: Kind) -> Section:
    text = "Which images are judged."
    keys: list[str] = []
    changed: dict[str, Entry] = {}
    if kind.compares_pairs:
        text = (
            "How many candidate pairs of each kind are compared: two people's captions of the same image (HC), one "
            "of them of another image (HI), a person's and a machine's (HM), two machines' (MM). All empty: 100 of "
            "each, or as many as there are."
        )
        changed = {f"sampling.pairs.{name}": Entry(f"{name} pairs") for name in PAIR_KINDS}
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
    return _section("Sampling", text, keys, changed)


def _panel() -> Section:
    section = _section(
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
