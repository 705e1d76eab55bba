"""The tables of a study file about what participants are shown and asked."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from django.utils.translation import gettext
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from judgments.design.tables.base import Listed, Part
from judgments.design.wordings import JUDGED


class AnswerOptions(Part):
    """Ties, strength and confidence beside the choice of a pair, and the worst of several."""

    no_difference: bool = Field(
        False, title="“No difference” is an answer", description="Whoever sees none need not guess."
    )
    neither: bool = Field(
        False, title="“Neither of the two” is an answer", description="For candidates that are both bad."
    )
    strength: bool = Field(
        False, title="Ask how much better", description="Slightly or by far, in place of a plain choice."
    )
    confidence: bool = Field(
        False, title="Ask how sure people are", description="A second row: a guess, fairly sure, certain."
    )
    worst: bool = Field(
        True, title="Ask for the worst, too", description="Otherwise for the best of the texts alone."
    )

    @model_serializer(mode="wrap")
    def _drop_usual_worst(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave ``worst`` out where it is asked for, so that the designs of pairs stay as they were."""
        values: dict[str, Any] = handler(self)
        if self.worst:
            values.pop("worst", None)
        return values


class Example(Part):
    """A worked example in the instructions: what is shown, the right answer, and why."""

    image: str = Field("", description="An item of the dataset, by its name there.")
    scene: str = Field(
        "", max_length=500, description="What participants are shown, in words, where no item is named."
    )
    shown: Listed[str] = Field((), description="The texts as a participant sees them, in order.")
    answer: str = Field(max_length=500, description="The right answer in words.")
    why: str = Field("", max_length=1000)


class Source(Part):
    """The text of an item, shown beside what is judged."""

    show: bool = Field(False, title="Show it", description="Every item that is shown must have a text then.")
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", title="Its language", description="As en, de, ar; empty: not said."
    )
    label: str = Field(
        "",
        max_length=80,
        title="Heading above it",
        description="Empty: “Source text”, in the participant's language.",
    )


def check_judged(value: Any) -> Any:
    """Refuse an unknown sort of text; name the nearest one."""
    if value in JUDGED:
        return value
    near = difflib.get_close_matches(str(value), JUDGED, n=1, cutoff=0.0)[0]
    raise ValueError(
        gettext("%(value)r is none of %(listed)s; the nearest one is %(near)r")
        % {"value": value, "listed": ", ".join(JUDGED), "near": near}
    )


class KeywordsPage(Part):
    """What the page of keywords offers (MC12 §3.2)."""

    titles: Listed[str] = Field(
        (),
        title="Titles",
        description="One a line. Those that stand in a text are offered with it; empty: frequent runs of "
        "words are.",
        json_schema_extra={"rows": 6},
    )
    longest: Annotated[int, Field(ge=2, le=7)] = Field(7, title="Words in a phrase at most")


class ErrorWeights(Part):
    """What the errors of a category weigh, by severity."""

    category: str = Field("", max_length=80, title="Category", description="Empty: all others.")
    weights: dict[Literal["minor", "major", "critical"], Annotated[float, Field(ge=0, le=1000)]] = Field(
        title="Weights", description="Such as minor = 1, major = 5."
    )


class Spans(Part):
    """What is marked in a text whose errors are looked for (contrib/error_spans/README.md)."""

    severities: Listed[Literal["minor", "major", "critical"]] = Field(
        ("minor", "major"),
        min_length=1,
        title="Severities",
        json_schema_extra={"words": {"minor": "Minor", "major": "Major", "critical": "Critical"}},
    )
    categories: Literal["none", "mqm", "own"] = Field(
        "none",
        title="Categories of errors",
        json_schema_extra={
            "words": {
                "none": "None: an error has a severity alone (ESA)",
                "mqm": "Those of MQM, with their weights",
                "own": "Those listed below",
            }
        },
    )
    own: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (), max_length=60, title="Own categories", description="One a line.", json_schema_extra={"rows": 4}
    )
    weights: Listed[ErrorWeights] = Field(
        (),
        max_length=60,
        title="Weights of errors",
        description="Where they differ from those of MQM (contrib/error_spans/README.md#scores).",
    )
    score: bool = Field(
        True,
        title="Ask for a score",
        description="From 0 to 100, after the errors. Without it, the weights of the errors are the score.",
    )
    missing: bool = Field(True, title="What is missing can be marked")
    reference: bool = Field(
        False, title="Show a reference", description="The first one of the item, beside what is judged."
    )
    documents: bool = Field(
        False,
        title="Whole documents",
        description="The items of a document (column “document”) in their order, by one participant. The number of "
        "items drawn is then that of documents, and a longer document fills a page of work by itself.",
    )
    contrastive: bool = Field(
        False,
        title="Two texts side by side",
        description="Two systems' texts for an item on one screen, drawn at random; each is marked and scored by "
        "itself. An item on a page of work stays one text.",
    )

    @property
    def weights_by_category(self) -> dict[str, Any]:
        return {row.category: row.weights for row in self.weights}


class Template(Part):
    """The page of a study whose protocol is ``template``."""

    html: str = Field(
        "",
        max_length=100_000,
        title="Template",
        description="HTML with ${field} for the cells of a row. Scripts, styles and frames in it are left "
        "out.",
        json_schema_extra={"rows": 16},
    )
