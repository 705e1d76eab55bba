"""The study-file tables about the page of work: what participants see, and what the page asks them.

MC12 is Mason and Charniak 2012.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext
from pydantic import Field

from judgments.design.tables.base import DesignTable, Listed
from judgments.design.wordings import TEXT_TYPES
from quorum.numeric.names import nearest_name


class AnswerOptions(DesignTable):
    """Optional parts of an answer: ties, strength and confidence for pairs, and the worst text for lists."""

    omitted = frozenset({"worst"})  # left out of the stored design if it has its default

    no_difference: bool = Field(
        False,
        title="Offer the answer “No difference”",
        description="Lets participants say that they see no difference, instead of guessing.",
    )
    neither: bool = Field(
        False,
        title="Offer the answer “Neither of the two”",
        description="Lets participants reject both candidates.",
    )
    strength: bool = Field(
        False,
        title="Ask how much better the text is",
        description="Participants choose “slightly” or “by far” for the better text.",
    )
    confidence: bool = Field(
        False,
        title="Ask how sure participants are",
        description="Participants also choose one of three answers: “A guess”, “Fairly sure” or “Certain”.",
    )
    worst: bool = Field(
        True,
        title="Also ask for the worst text",
        description="If this is off, participants choose only the best text.",
    )


class Example(DesignTable):
    """A worked example in the instructions: an item, its right answer, and the reason."""

    image: str = Field("", description="Name of an item of the dataset.")
    scene: str = Field(
        "",
        max_length=500,
        description="A description of what participants see. Needed only if no item is named.",
    )
    shown: Listed[str] = Field((), description="The texts, in the order in which participants see them.")
    answer: str = Field(max_length=500, description="The right answer in words.")
    why: str = Field("", max_length=1000)


class Source(DesignTable):
    """The settings of the source text of an item, which is shown with the judged texts."""

    show: bool = Field(False, title="Show the source text", description="Every item must have a source text.")
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "",
        title="Language of the source text",
        description="A code such as en, de or ar. Empty: not specified.",
    )
    label: str = Field(
        "",
        max_length=80,
        title="Heading of the source text",
        description="Empty: “Source text”, in the participant's language.",
    )


def check_text_type(value: Any) -> Any:
    """Check a type of judged text, and return it. Raise ValueError, with the most similar name, if it is unknown."""
    if value in TEXT_TYPES:
        return value
    nearest_type = nearest_name(value, TEXT_TYPES, cutoff=0.0)
    raise ValueError(
        gettext("%(value)r is not one of %(listed)s; the nearest one is %(near)r")
        % {"value": value, "listed": ", ".join(TEXT_TYPES), "near": nearest_type}
    )


class KeywordsPage(DesignTable):
    """The phrases that a page of keywords offers (MC12 §3.2)."""

    titles: Listed[str] = Field(
        (),
        title="Titles",
        description="One title per line. The page offers the titles that occur in the text. Empty: "
        "the page offers frequent phrases.",
        json_schema_extra={"rows": 6},
    )
    longest: Annotated[int, Field(ge=2, le=7)] = Field(7, title="Maximum number of words in a phrase")


class ErrorWeights(DesignTable):
    """The weights of one category's errors, by severity."""

    category: str = Field(
        "",
        max_length=80,
        title="Category",
        description="Empty: the weights are for all categories without a row.",
    )
    weights: dict[Literal["minor", "major", "critical"], Annotated[float, Field(ge=0, le=1000)]] = Field(
        title="Weights", description="For example: minor = 1, major = 5."
    )


class Spans(DesignTable):
    """The kinds of errors that are marked in a text (contrib/error_spans/README.md)."""

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
                "none": "None: errors have only a severity (ESA)",
                "mqm": "The categories of MQM, with their weights",
                "own": "The categories listed below",
            }
        },
    )
    own: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        max_length=60,
        title="Your own categories",
        description="One per line.",
        json_schema_extra={"rows": 4},
    )
    weights: Listed[ErrorWeights] = Field(
        (),
        max_length=60,
        title="Weights of errors",
        description="Needed only if you do not use the weights of MQM, which are listed in "
        "contrib/error_spans/README.md#scores.",
    )
    score: bool = Field(
        True,
        title="Ask for a score",
        description="Participants give a score from 0 to 100 after they have marked the errors. "
        "Otherwise, the score is computed from the weights of the errors.",
    )
    missing: bool = Field(True, title="Participants can mark missing content")
    reference: bool = Field(
        False, title="Show a reference", description="The item's first reference, next to the judged text."
    )
    documents: bool = Field(
        False,
        title="Whole documents",
        description="One participant judges all items of a document (column “document”) in order. The field "
        "“Items on a page of work” then gives the number of documents on a page. A long document "
        "has its own page of work.",
    )
    contrastive: bool = Field(
        False,
        title="Two texts side by side",
        description="The screen shows the texts of two random systems for the same item. "
        "Participants mark and score each text separately. Each text counts as one item "
        "of the page of work.",
    )

    @property
    def weights_by_category(self) -> dict[str, Any]:
        return {row.category: row.weights for row in self.weights}


class Template(DesignTable):
    """The page of a study whose protocol is ``template``."""

    html: str = Field(
        "",
        max_length=100_000,
        title="Template",
        description="An HTML page, with ${field} for the cells of a row. Scripts, styles and frames "
        "are removed.",
        json_schema_extra={"rows": 16},
    )
