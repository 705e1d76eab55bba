"""The tables of a study file, key for key."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from judgments.design.parts import AllOrCount, Count, Listed, Part
from judgments.design.requirements import CROWDS
from judgments.design.wordings import JUDGED

PAIR_KINDS = ("HC", "HI", "HM", "MM")
CROSSED = "crossed"


class Sampling(Part):
    """What is drawn from the dataset. ``split`` is ignored where no image of the dataset has one."""

    pairs: dict[Literal["HC", "HI", "HM", "MM"], Count] = Field(
        default_factory=dict,
        description="Candidate pairs of each kind (V15 §3); empty: 100 of each, or as many as there are.",
    )
    references: AllOrCount = Field("all", description="References per pair, drawn with the seed.")
    images: AllOrCount = Field("all", description="Images judged, drawn with the seed.")
    pairs_from: Literal["outputs", "top-k", "references", "crossed", "list"] = Field(
        "outputs",
        description="relevance, graded, slider: which captions are judged with an image. outputs: what systems "
        "gave for it; top-k: the first k of each ranked list (H13 §4.3.2); references: people's captions of it, and "
        "foils; crossed: every text of the split with every image; list: the pairs under listed.",
    )
    k: Annotated[int, Field(ge=1, le=10_000)] = Field(10, description="top-k: how many of each list.")
    task: Literal["annotation", "search", "both"] = Field(
        "both", description="top-k: of captions ranked for an image, images ranked for a caption, or both."
    )
    foils: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="references: captions of other images judged with each image."
    )
    listed: Listed[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        (), description="list: [image, caption] each; a caption by its id in the dataset, or by its text."
    )
    split: str = Field("test", max_length=20, description="The split that is judged.")
    options: Annotated[int, Field(ge=3, le=8)] = Field(4, description="best-worst: captions shown together.")
    appearances: Annotated[int, Field(ge=1, le=100)] = Field(
        4, description="best-worst: in how many units each caption of an image stands."
    )
    source: Literal["auto", "published", "references"] = Field(
        "auto",
        description="Where pairs come from: the dataset's published pairs, or drawn from references and systems; "
        "auto takes published ones where the dataset has them.",
    )
    only: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        description="Of what is drawn, only these: ids of candidate pairs (triplet, pairwise) or of units.",
    )


class KnownItem(Part):
    """An item whose right answer the designer knows. Texts are captions as shown; an image is named as in the
    dataset. Which of the keys mean something depends on the protocol."""

    image: str = ""
    reference: str = Field("", description="triplet: sentence A.")
    first: str = ""
    second: str = ""
    expected: int | str = Field(description="The right answer, in the order the texts are given.")
    why: str = Field("", max_length=500, description="Shown where answers are explained.")


class Example(Part):
    """A worked example in the instructions: what is shown, the right answer, and why."""

    image: str = Field("", description="An image of the dataset, by its name there.")
    scene: str = Field(
        "", max_length=500, description="What the picture shows, in words, where no image is named."
    )
    shown: Listed[str] = Field((), description="The texts as a worker sees them, in order.")
    answer: str = Field(max_length=500, description="The right answer in words.")
    why: str = Field("", max_length=1000)


class Controls(Part):
    """Items whose right answer is known."""

    per_hit: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="Control items (relevance: images) a HIT."
    )
    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.7, description="Share of control items a worker must get right for the answers to be used."
    )
    split: str = Field("dev", max_length=20, description="The split control items come from.")
    kinds: Listed[Literal["degraded", "repeated", "known-good", "reference"]] = Field(
        ("reference",), min_length=1, description="Which kinds are drawn from, in equal shares."
    )
    known: Listed[KnownItem] = Field((), description="known-good: items whose answer the designer knows.")
    after: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="Control items a worker must have seen before the running accuracy says anything."
    )


class Filter(Part):
    """H13's Bleu-pre filter: a pair below the threshold is not judged, or only to fill the last ten."""

    bleu_pre: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Judged from this score on; 0 is off."
    )
    fill_to: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="Fill an image's last group up to this many with filtered pairs."
    )
    audit: Count = Field(
        0,
        description="So many of the pairs below the threshold, drawn with the seed, are judged all the same.",
    )
    order: Literal["stop-first", "stem-first"] = Field(
        "stop-first",
        description="stop-first: as the ROUGE script; stem-first: fits H13's printed figures better.",
    )


class Access(Part):
    """Who may join."""

    join: Literal["open", "code", "invited"] = "open"
    code: str = Field("", max_length=100, description="What a worker must type when join = code.")

    @model_validator(mode="after")
    def _a_code_is_needed(self) -> Access:
        if self.join == "code" and not self.code:
            raise ValueError('a code is needed where join = "code"')
        return self


class RuleSetting(Part):
    """A rule of behaviour that watches the study from its opening (docs/quality.md)."""

    rule: Annotated[str, Field(min_length=1, max_length=40)]
    action: Literal["flag", "pause", "exclude"] = "flag"
    settings: dict[str, int | float | str] = Field(default_factory=dict)


class Stopping(Part):
    """When a unit gets no more judgments than it needs (docs/stopping.md)."""

    rule: Literal["none", "settled", "margin"] = Field(
        "none",
        description="settled: no remaining vote can change the winner; margin: from minimum votes on, as soon as "
        "one answer leads by margin.",
    )
    full_depth: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Seeded share that gets all its judgments, so that agreement stays unbiased."
    )
    minimum: Annotated[int, Field(ge=1, le=1000)] = Field(2, description="margin: votes before it may stop.")
    margin: Annotated[int, Field(ge=1, le=1000)] = Field(2, description="margin: by how many votes it leads.")


class Source(Part):
    """The text of an item, shown beside what is judged."""

    show: bool = Field(False, description="Whether workers read the text of the item.")
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", description="Of the source text, as a BCP 47 tag."
    )
    label: str = Field("", max_length=80, description="Heading above it; empty: 'Source text', translated.")


def checked_judged(value: Any) -> Any:
    """Refuse a sort of text that there is not, and name the nearest one."""
    if value in JUDGED:
        return value
    near = difflib.get_close_matches(str(value), JUDGED, n=1, cutoff=0.0)[0]
    raise ValueError(f"{value!r} is none of {', '.join(JUDGED)}; the nearest one is {near!r}")


class Keywords(Part):
    """What the page of keywords offers (MC12 §3.2)."""

    titles: Listed[str] = Field(
        (), description="Titles whose n-grams are offered as collocations; empty: frequent n-grams are."
    )
    longest: Annotated[int, Field(ge=2, le=7)] = Field(7, description="Words in a collocation at most.")


class Template(Part):
    """The page of a study whose protocol is ``template`` (docs/hit-templates.md)."""

    html: str = Field(
        "",
        max_length=100_000,
        description="HTML with ${field} for the cells of a row, as requester pages and Turkle have it.",
    )


class Crowd(Part):
    """Where the workers come from and what they are paid."""

    backend: str = Field("local", description="One of judgments.design.requirements.")
    reward_cents: Count = Field(0, description="Paid for a HIT, in cents.")
    budget_cents: Count = Field(0, description="Fees included; nothing is published beyond it.")
    live: bool = Field(False, description="mturk: the sandbox unless true here and in the settings.")
    question: Literal["external", "html"] = "external"
    title: str = Field(
        "", max_length=128, description="In the crowd's list of work; empty: the study's name."
    )
    description: str = Field("", max_length=2000, description="Beside it; empty: the study's question.")
    keywords: str = Field("", max_length=1000, description="mturk: words to find it by, with commas between.")
    lifetime_hours: Annotated[int, Field(ge=1, le=8760)] = Field(
        168, description="How long the crowd offers it to new workers."
    )
    approve_after_hours: Annotated[int, Field(ge=0, le=552)] = Field(
        72, description="After which work that nothing speaks against is approved by itself; 0: never."
    )
    floor_cents_per_hour: Count = Field(
        0, description="What an hour of active time should earn at least; 0: no floor."
    )
    fee_percent: Annotated[float, Field(ge=0, le=200)] = Field(
        0.0, description="external: the panel's fee on the pay. Mechanical Turk's and Prolific's are known."
    )
    masters: bool = Field(False, description="mturk: Masters only, for a higher fee.")
    lease_minutes: Annotated[int, Field(ge=1, le=10_080)] = Field(
        60, description="How long a worker may hold a HIT before its place is given to another."
    )
    extensions: Annotated[int, Field(ge=0, le=20)] = Field(
        2, description="How often a worker may take that long again, asking before it ends."
    )
    edit_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        10, description="How long after submitting answers may be revised; 0: not at all."
    )

    @field_validator("backend")
    @classmethod
    def _there_is_such_a_crowd(cls, name: str) -> str:
        if name not in CROWDS:
            raise ValueError(f"there is no crowd {name!r}; there are {', '.join(CROWDS)}")
        return name
