"""The tables of a study file, key for key."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Annotated, Any, Literal, get_args

from django.conf import settings
from django.utils.translation import gettext
from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from judgments.design.crowds import crowd_labels
from judgments.design.requirements import AllOrCount, Count, Listed, Part
from judgments.design.scale import LARGEST
from judgments.design.wordings import JUDGED

PairKind = Literal["HC", "HI", "HM", "MM"]
PAIR_KINDS: tuple[str, ...] = get_args(PairKind)
SIDES = ("first", "second")
CROSSED = "crossed"
CLAIM = re.compile(
    r"\s*(?P<better>[^\s<>]+)\s*>\s*(?P<worse>[^\s<>=][^\s<>]*)(?:\s+on\s+(?P<kind>HC|HI|HM|MM|all))?\s*"
)
Paragraph = Annotated[str, Field(max_length=2000)]


class Sampling(Part):
    """What is drawn from the dataset. ``split`` is ignored where no image of the dataset has one."""

    pairs: dict[PairKind, Count] = Field(
        default_factory=dict,
        description="Candidate pairs of each kind (V15 §3); empty: 100 of each, or as many as there are.",
        json_schema_extra={
            "keys": {
                "HC": ["Two people", "Both captions by people, of the image itself (HC)."],
                "HI": ["Another image", "Both by people, one of them of another image (HI)."],
                "HM": ["Person and system", "One caption by a person, one by a system (HM)."],
                "MM": ["Two systems", "Both captions by systems (MM)."],
            }
        },
    )
    references: AllOrCount = Field(
        "all", title="Captions of each image", description="'all' or a number, drawn with the seed."
    )
    images: AllOrCount = Field("all", title="Images", description="'all' or a number, drawn with the seed.")
    pairs_from: Literal["outputs", "top-k", "references", "crossed", "list"] = Field(
        "outputs",
        title="Captions judged with an image",
        description="Equal texts are judged once.",
        json_schema_extra={
            "words": {
                "outputs": "What each system gave for it",
                "top-k": "The first k of systems' ranked lists (Hodosh et al. 2013)",
                "references": "People's captions of it, with captions of others as foils",
                "list": "The pairs listed below",
                "crossed": "Every text of the split with each of them",
            }
        },
    )
    k: Annotated[int, Field(ge=1, le=10_000)] = Field(
        10, title="k", description="For ranked lists: how many of each are judged."
    )
    task: Literal["annotation", "search", "both"] = Field(
        "both",
        title="Ranked lists of",
        description="For ranked lists.",
        json_schema_extra={
            "words": {
                "both": "Both",
                "annotation": "Image annotation: an image asks, captions are ranked",
                "search": "Image search: a caption asks, images are ranked",
            }
        },
    )
    foils: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, title="Foils with each image", description="For people's captions: how many of other images."
    )
    listed: Listed[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        (),
        title="Pairs",
        description="For a list: an image, a tab, and a caption's id or text, one pair a line.",
        json_schema_extra={"rows": 6},
    )
    split: str = Field(
        "test",
        max_length=20,
        title="Split that is judged",
        description="Ignored where the dataset has no splits.",
    )
    options: Literal["all"] | Annotated[int, Field(ge=3, le=8)] = Field(
        4, title="Captions shown together", description="3 to 8, or 'all': one of each system, 8 at most."
    )
    appearances: Annotated[int, Field(ge=1, le=100)] = Field(
        4,
        title="Items each caption stands in",
        description="As many different ones as there are, where they do not suffice.",
    )
    source: Literal["auto", "published", "references"] = Field(
        "auto",
        title="Where pairs come from",
        json_schema_extra={
            "words": {
                "auto": "Published pairs where the dataset has them, else drawn",
                "published": "The dataset's published pairs",
                "references": "Drawn from references and systems",
            }
        },
    )
    only: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        title="Only these items",
        description="Ids, one a line, of those that are drawn. Empty: all of them.",
        json_schema_extra={"rows": 2},
    )
    not_in: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        title="No items of these studies",
        description="Short names, one a line: what they asked about is not drawn again.",
        json_schema_extra={"rows": 2},
    )

    @model_serializer(mode="wrap")
    def _drop_empty_not_in(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave ``not_in`` out where it names no study, so that designs without it stay as they were."""
        values: dict[str, Any] = handler(self)
        if not self.not_in:
            values.pop("not_in", None)
        return values


class Chosen(Part):
    """How the items of ``sampling.only`` were chosen, and the chance that each had (docs/choosing.md).

    `select_items` writes it. Results are weighed back by one over the chances.
    """

    method: Literal["disagreement", "information", "even", "variance", "diversity"] = Field(
        description="What made an item useful; even: nothing did. Variance and diversity are of earlier versions."
    )
    scores: dict[str, str] = Field(description="The metrics that were looked at, with their signatures.")
    seed: Annotated[int, Field(ge=0, le=2**53)] = Field(description="Of the draw.")
    floor: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Minimum inclusion probability, as a share of uniform sampling's."
    )
    per: Literal["pairs", "images"] = Field(
        description="Whether candidate pairs were chosen, or images with all their captions."
    )
    budget: Annotated[int, Field(ge=1)] = Field(description="How many of them were chosen.")
    population: Annotated[int, Field(ge=1)] = Field(description="How many there were.")
    chances: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        description="Of each id in sampling.only, that it would be chosen."
    )


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
        True, title="Ask for the worst, too", description="Otherwise for the best of the captions alone."
    )

    @model_serializer(mode="wrap")
    def _drop_usual_worst(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave ``worst`` out where it is asked for, so that the designs of pairs stay as they were."""
        values: dict[str, Any] = handler(self)
        if self.worst:
            values.pop("worst", None)
        return values


class Arena(Part):
    """Pairs of systems that are drawn while people work, by what their answers leave open (contrib/arena/README.md)."""

    pages: Count = Field(
        0,
        title="Pages drawn while people work",
        description="Their pairs are drawn when somebody takes the page: those of systems of which one more answer "
        "says most come more often. 0: all pairs are drawn beforehand.",
    )
    even: Annotated[float, Field(ge=0.01, le=1)] = Field(
        0.2,
        title="Share drawn evenly",
        description="Between 0.01 and 1, so that every pair of systems can come. 1: all of them equally often.",
    )


class KnownItem(Part):
    """An item whose right answer the designer knows. Texts are captions as shown; an image is named as in the
    dataset. Which of the keys mean something depends on the protocol."""

    image: str = ""
    reference: str = Field("", description="triplet: sentence A.")
    first: str = ""
    second: str = ""
    expected: (
        Annotated[int, Field(ge=-(2**53), le=2**53)] | Annotated[float, Field(ge=-LARGEST, le=LARGEST)] | str
    ) = Field(description="The right answer, in the order the texts are given.")
    why: str = Field("", max_length=500, description="Shown where answers are explained.")


class Example(Part):
    """A worked example in the instructions: what is shown, the right answer, and why."""

    image: str = Field("", description="An image of the dataset, by its name there.")
    scene: str = Field(
        "", max_length=500, description="What the picture shows, in words, where no image is named."
    )
    shown: Listed[str] = Field((), description="The texts as a participant sees them, in order.")
    answer: str = Field(max_length=500, description="The right answer in words.")
    why: str = Field("", max_length=1000)


class Controls(Part):
    """Items whose right answer is known."""

    per_hit: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Check questions on each page",
        description="Control items in each HIT; they count as items. 0: none.",
    )
    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.7,
        title="Least share right",
        description="Between 0 and 1. Answers of a participant below it are kept, but not used.",
    )
    least: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        title="Seen before anybody is set aside",
        description="Fewer check questions say too little: careful people miss some, too.",
    )
    split: str = Field(
        "dev",
        max_length=20,
        title="Split they come from",
        description="Without splits, a tenth of the images is reserved.",
    )
    kinds: Listed[Literal["degraded", "repeated", "known-good", "reference"]] = Field(
        ("reference",),
        min_length=1,
        title="Kinds",
        description="Drawn in equal shares.",
        json_schema_extra={
            "words": {
                "reference": "A person's caption of the image (reference)",
                "degraded": "A caption beside a damaged copy of it (degraded)",
                "repeated": "An item of the same page again (repeated)",
                "known-good": "Items you know the answer of (known-good)",
            }
        },
    )
    known: Listed[KnownItem] = Field(
        (),
        title="Items you know the answer of",
        description="For check questions of the kind “known-good”.",
    )
    after: Annotated[int, Field(ge=1, le=1000)] = Field(
        4,
        title="Seen before they say anything",
        description="So many check questions are needed for a running accuracy.",
    )

    def sets_aside(self, seen: int, right: int) -> bool:
        """Return whether the answers of somebody with so many right check questions are not used."""
        # the quotient is the double nearest to the true share, so 7 of 10 reaches a threshold of 0.7
        return seen >= self.least and right / seen < self.threshold

    def chance_set_aside(self, seen: int, accuracy: float) -> float:
        """Return how likely somebody who is right with chance ``accuracy`` is set aside after ``seen``, 0 to 1."""
        return sum(
            comb(seen, right) * accuracy**right * (1 - accuracy) ** (seen - right)
            for right in range(seen + 1)
            if self.sets_aside(seen, right)
        )


# How often people are right who take care, and who guess between two answers; and careful people lost at most.
CAREFUL, GUESSING, LOST = 0.95, 0.5, 0.01
MOST_CHECKS = 100


@cache
def usual_least(threshold: float) -> int:
    """Return the fewest check questions from which on a careful person is set aside with a chance of ``LOST`` at most.

    1, which protects nobody, if no number up to ``MOST_CHECKS`` does.
    """
    rule = Controls(threshold=threshold)
    safe = MOST_CHECKS + 1
    while safe > 1 and rule.chance_set_aside(safe - 1, CAREFUL) <= LOST:
        safe -= 1
    return safe if safe <= MOST_CHECKS else 1


class HandChange(Part):
    """A change by hand of what is drawn: an item is pulled out, shown otherwise, or put on a page written by hand."""

    item: Annotated[str, Field(min_length=1, max_length=80)] = Field(
        description="The id of the item, as drawn or as the changes before left it."
    )
    out: bool = Field(False, description="Whether it is pulled out.")
    hit: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="The page written by hand that it is put on, from 1; 0: it stays on its page."
    )
    image: str = Field("", max_length=200, description="Another image, by its name in the dataset.")
    texts: dict[str, Annotated[str, Field(max_length=20_000)]] = Field(
        default_factory=dict,
        description="Other texts by name: reference, first, second, text, option1 ..., or an input of a template.",
    )


class Filter(Part):
    """H13's Bleu-pre filter: a pair below the threshold is not judged, or only to fill the last ten."""

    bleu_pre: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, title="Judge from this score on", description="Between 0 and 1. 0: no filter."
    )
    fill_to: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Fill the last group up to",
        description="With filtered pairs, which measure the filter's own errors.",
    )
    audit: Count = Field(
        0,
        title="Audit: judge so many of those left out",
        description="Drawn with the seed. They say how many good captions the filter misses. 0: none.",
    )
    order: Literal["stop-first", "stem-first"] = Field(
        "stop-first",
        title="Words are prepared",
        json_schema_extra={
            "words": {
                "stop-first": "Drop stop words, then stem (as the ROUGE script)",
                "stem-first": "Stem, then drop stop words (fits the printed figures of H13 better)",
            }
        },
    )


SHORTEST_CODE = 8  # characters; LIMIT_CODE refuses wrong codes alone


class Access(Part):
    """Who may join."""

    join: Literal["open", "code", "invited"] = Field(
        "open",
        title="May join",
        json_schema_extra={
            "words": {
                "open": "Anyone with the link",
                "code": "Anyone with the link and the code below",
                "invited": "Invited people, each with a code of their own",
            },
            "radio": True,
        },
    )
    code: str = Field(
        "",
        max_length=100,
        title="Code",
        description="What participants must type when a code is asked for: 8 characters or more. Left empty, "
        "one is made.",
    )

    address_share: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25,
        title="Share of places for one address",
        description="Of the places that are open or held, how many people behind one internet address may hold at "
        "once. 1: all of them, as in a class-room.",
    )

    @property
    def is_guessable(self) -> bool:
        """Whether the code is too short, as in some studies before 0.6."""
        return self.join == "code" and len(self.code.strip()) < SHORTEST_CODE


class Erasing(Part):
    """What participants who want to be erased can do themselves (docs/privacy.md)."""

    offered: Literal["no", "on-request", "at-once"] = Field(
        "no",
        title="Participants may leave and be erased",
        description="On their own page.",
        json_schema_extra={
            "words": {
                "no": "They write to the contact",
                "on-request": "They ask, and a researcher decides",
                "at-once": "At once, without asking",
            }
        },
    )
    way: Literal["identity", "all"] = Field(
        "identity",
        title="What is erased",
        json_schema_extra={
            "words": {
                "identity": "Who they are and what they wrote; answers stay, without a name",
                "all": "Who they are, and all their answers",
            }
        },
    )


class Retention(Part):
    """How long it is stored who participants are (docs/privacy.md)."""

    identities_days: Annotated[int, Field(ge=0, le=3650)] = Field(
        0,
        title="Days after closing until names and ids are removed",
        description="Answers stay, without a name. 0: no end is promised.",
    )


BoardAnswer = Annotated[Paragraph, Field(json_schema_extra={"rows": 3})]


class Ethics(Part):
    """What an ethics board asks and no other field says (contrib/ethics/README.md)."""

    board: str = Field(
        "",
        max_length=300,
        title="Ethics board",
        description="Which board reviewed the study, and its number.",
    )
    minimum_age: Annotated[int, Field(ge=0, le=120)] = Field(
        0, title="Minimum age", description="0: not said."
    )
    vulnerable: BoardAnswer = Field(
        "", title="Vulnerable groups", description="Whether they are recruited, and what protects them."
    )
    risks: BoardAnswer = Field(
        "", title="Risks", description="What may upset or harm participants, and what you do about it."
    )
    benefits: BoardAnswer = Field("", title="Benefits")
    storage: BoardAnswer = Field(
        "", title="Where data is stored", description="Country, institution, who runs the machine."
    )
    recipients: BoardAnswer = Field(
        "", title="Who else gets data", description="Partners, processors, archives."
    )
    funding: str = Field("", max_length=2000, title="Funding and conflicts of interest")


class RuleSetting(Part):
    """A rule of behaviour that watches the study from its opening (docs/quality.md)."""

    rule: Annotated[str, Field(min_length=1, max_length=40)]
    action: Literal["flag", "pause", "exclude"] = "flag"
    settings: dict[str, int | float | str] = Field(default_factory=dict)


class Writing(Part):
    """What the page notices of how answers are written (docs/honest-answers.md)."""

    record: bool = Field(
        False,
        title="Count how answers are written",
        description="Keys, pauses, corrections, pasted characters, leaving the tab: sums, never which keys. "
        "Participants are told before they join.",
    )
    hidden_line: bool = Field(
        False,
        title="A hidden line for programs",
        description="People neither see nor hear it. It asks programs for a rare word; participants are told that "
        "there may be one.",
    )


class Stopping(Part):
    """When a unit gets no more judgments than it needs (docs/stopping.md)."""

    rule: Literal["none", "settled", "margin"] = Field(
        "none",
        title="Stop",
        json_schema_extra={
            "words": {
                "none": "Every item gets all its judgments",
                "settled": "Stop when no remaining vote can change the outcome",
                "margin": "Stop as soon as one answer leads by a margin",
            }
        },
    )
    full_depth: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1,
        title="Share of pages that go to all their participants",
        description="Drawn with the seed. Agreement is measured on these alone, so that it stays unbiased.",
    )
    minimum: Annotated[int, Field(ge=1, le=1000)] = Field(
        2, title="Votes before it may stop", description="For the margin."
    )
    margin: Annotated[int, Field(ge=1, le=1000)] = Field(
        2, title="Lead in votes", description="For the margin."
    )


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


class Keywords(Part):
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
        "images drawn is then that of documents, and a longer document fills a page of work by itself.",
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


DEMOGRAPHICS = {
    "age": "Age",
    "sex": "Sex",
    "ethnicity": "Ethnicity",
    "first-language": "First language",
    "country": "Country of residence",
    "nationality": "Nationality",
    "country-of-birth": "Country of birth",
    "student": "Student status",
    "employment": "Employment status",
}


class Crowd(Part):
    """Where the workers come from and what they are paid."""

    backend: str = Field(
        "local",
        title="Participants come from",
        json_schema_extra={"words": {**crowd_labels()}},
    )
    reward_cents: Count = Field(
        0, title="Pay for a page of work, in cents", description="0: nothing is said about pay."
    )
    budget_cents: Count = Field(
        0, title="Budget, in cents", description="Fees included; nothing goes out beyond it."
    )
    currency: str = Field(
        "",
        pattern=r"^([A-Z]{3})?$",
        title="Currency",
        description="Three letters, such as EUR. Empty: the crowd's own, else USD. Mechanical Turk’s API pays in USD.",
    )
    live: bool = Field(
        False,
        title="Live",
        description="On a server that pays people. Otherwise its sandbox, which costs nothing.",
    )
    question: Literal["external", "html"] = Field(
        "external",
        title="Page shown there",
        json_schema_extra={
            "words": {"external": "This site's page in a frame", "html": "A page of its own over there"}
        },
    )
    title: str = Field(
        "", max_length=128, title="Title in the crowd's list", description="Empty: the study's name."
    )
    description: str = Field(
        "", max_length=2000, title="Description there", description="Empty: the study's question."
    )
    keywords: str = Field("", max_length=1000, title="Keywords", description="With commas between them.")
    lifetime_hours: Annotated[int, Field(ge=1, le=8760)] = Field(
        168, title="Hours it is offered there to new participants"
    )
    approve_after_hours: Annotated[int, Field(ge=0, le=552)] = Field(
        72,
        title="Hours until work is approved by itself",
        description="Where nothing speaks against it. 0: never.",
    )
    floor_cents_per_hour: Count = Field(
        0,
        title="Least pay for an hour, in cents",
        description="Of active time; below it a bonus is proposed. 0: no floor.",
    )
    fee_percent: Annotated[float, Field(ge=0, le=200)] = Field(
        0.0, title="The panel's fee, in percent of the pay", description="For the budget."
    )
    screen_out_cents: Count = Field(
        0,
        title="Pay of people who are screened out, in cents",
        description="By Prolific's API, where the workspace may. 0: they are asked to return the submission.",
    )
    screen_outs: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0, title="How many are paid so", description="Then Prolific pauses the study; their pay is reserved."
    )
    demographics: Listed[
        Literal[
            "age", "sex", "ethnicity", "first-language", "country", "nationality", "country-of-birth",
            "student", "employment",
        ]
    ] = Field(
        (),
        title="Demographics to fetch",
        description="By Prolific's API; personal data: say so in the consent text.",
        json_schema_extra={"words": {**DEMOGRAPHICS}},
    )  # fmt: skip
    masters: bool = Field(False, title="Masters only", description="For a higher fee.")
    lease_minutes: Annotated[int, Field(ge=1, le=10_080)] = Field(
        60,
        title="Minutes a page of work may be held",
        description="Then its place is given to somebody else.",
    )
    extensions: Annotated[int, Field(ge=0, le=20)] = Field(2, title="Times it may be extended")
    edit_minutes: Annotated[int, Field(ge=0, le=1440)] = Field(
        10, title="Minutes answers may be revised after submitting", description="0: not at all."
    )

    @model_validator(mode="after")
    def _check_paid_screen_outs(self) -> Crowd:
        if bool(self.screen_out_cents) != bool(self.screen_outs):
            raise ValueError(
                gettext(
                    "screen_out_cents is %(screen_out_cents)s and screen_outs %(screen_outs)s; expected "
                    "both, or neither"
                )
                % {"screen_out_cents": self.screen_out_cents, "screen_outs": self.screen_outs}
            )
        return self


def _offered(language: str) -> str:
    known = [code for code, _ in settings.LANGUAGES]
    if language not in known:
        raise ValueError(
            gettext("%(language)r is no language of the workers' pages; expected %(listed)s")
            % {"language": language, "listed": ", ".join(known)}
        )
    return language


Language = Annotated[str, AfterValidator(_offered)]


class _TranslatedTexts(Part):
    @property
    def filled(self) -> dict[str, Any]:
        return {name: text for name, text in self if text}


class ExampleTexts(_TranslatedTexts):
    """A worked example's own words; what it shows is judged, and stays as it is."""

    scene: str = Field("", max_length=500)
    answer: str = Field("", max_length=500)
    why: str = Field("", max_length=1000)


class QuestionTexts(_TranslatedTexts):
    """A question of the quiz, its options in the order of the design's."""

    text: str = Field(min_length=1, max_length=1000)
    options: Listed[Annotated[str, Field(min_length=1, max_length=500)]]
    why: str = Field("", max_length=1000)


class Texts(Part):
    """The texts of a study in one language; those left out stay as they are."""

    name: str = Field("", max_length=200)
    description: str = Field("", max_length=2000, description="Shown by a panel (crowd.description).")
    question: str = Field("", max_length=500)
    instructions: str = Field("", max_length=20_000, json_schema_extra={"rows": 5})
    consent: str = Field("", max_length=20_000, json_schema_extra={"rows": 5})
    source_label: str = Field("", max_length=200, title="Heading above the source text")
    labels: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        (), title="Words of the answers, one a line", description="As many as the design has."
    )
    examples: Listed[ExampleTexts] = ()
    questions: Listed[QuestionTexts] = Field((), description="Those of the quiz (quiz.questions).")


@dataclass(frozen=True, slots=True)
class HypothesisClaim:
    """One metric is right more often than another, on pairs of a kind or on all."""

    better: str
    worse: str
    kind: str


def read_claim(text: str) -> HypothesisClaim:
    match = CLAIM.fullmatch(text)
    if match is None or match["better"] == match["worse"]:
        raise ValueError(
            gettext("the claim %(text)r cannot be checked; expected a form such as 'cider-d > rouge-l on HC'")
            % {"text": text}
        )
    return HypothesisClaim(match["better"], match["worse"], match["kind"] or "all")


class Hypothesis(Part):
    """What is expected, in words, and where it can be checked by itself, as ``cider-d > rouge-l on HC``."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    claim: Paragraph = Field("", description="Checked by McNemar's test; empty: people judge it.")

    @field_validator("claim")
    @classmethod
    def _check_claim(cls, claim: str) -> str:
        if claim:
            read_claim(claim)
        return claim


class Plan(Part):
    """What is fixed with a hash before the study opens; `register` does it."""

    hypotheses: Listed[Hypothesis] = Field(min_length=1, max_length=100, description="What is expected.")
    exclusions: Paragraph = Field("", description="Whose answers will not count, in words.")
    exclude_by: Listed[Paragraph] = Field(
        (), max_length=50, description="Detectors that may exclude people; others are deviations."
    )
    stopping: Paragraph = Field("", description="When collection stops, in words.")
    analyses: Listed[Paragraph] = Field((), max_length=100, description="What will be computed, in words.")
    metrics: Listed[Paragraph] = Field(
        (), max_length=100, description="Held against people; others are deviations. Empty: any may be."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="Of all checked hypotheses together, after Holm."
    )
