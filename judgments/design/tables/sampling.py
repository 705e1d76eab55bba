"""The study-file tables about what is drawn from a dataset.

V15 is Vedantam et al. 2015, H13 is Hodosh et al. 2013. In ``json_schema_extra``, ``words`` and ``keys`` are the form's
labels of values and of keys, and ``rows`` is the height of a text field.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from judgments.design.tables.base import AllOrCount, Count, DesignTable, Listed

PairKind = Literal["HC", "HI", "HM", "MM"]
PAIR_KINDS: tuple[str, ...] = get_args(PairKind)
SIDES = ("first", "second")  # the candidates of a pair, as in names of columns and attributes
CROSSED = "crossed"  # the value of ``pairs_from`` by which each text is judged for each image


class ItemSampling(DesignTable):
    """The settings of what is drawn from the dataset. ``split`` is ignored if no image has a split."""

    omitted = frozenset({"not_in"})  # from stored designs while empty, as designs of earlier releases lack it

    pairs: dict[PairKind, Count] = Field(
        default_factory=dict,
        description="Candidate pairs of each kind (V15 §3); empty: 100 of each, or as many as there are.",
        json_schema_extra={
            "keys": {
                "HC": ["Two people", "Both texts are by people, for the same item (HC)."],
                "HI": ["Different items", "Both texts are by people. One of them is for another item (HI)."],
                "HM": ["Person and system", "One text is by a person, the other by a system (HM)."],
                "MM": ["Two systems", "Both texts are by systems (MM)."],
            }
        },
    )
    references: AllOrCount = Field(
        "all",
        title="References of each item",
        description="'all', or the size of a random sample. The seed determines the sample.",
    )
    images: AllOrCount = Field(
        "all",
        title="Items",
        description="'all', or the size of a random sample. The seed determines the sample.",
    )
    pairs_from: Literal["outputs", "top-k", "references", "crossed", "list"] = Field(
        "outputs",
        title="Texts judged for each item",
        description="Equal texts are judged only once.",
        json_schema_extra={
            "words": {
                "outputs": "The text of each system",
                "top-k": "The first k texts of the systems' ranked lists (Hodosh et al. 2013)",
                "references": "People's texts, and texts of other items as foils",
                "list": "The pairs listed below",
                "crossed": "All texts of the split",
            }
        },
    )
    k: Annotated[int, Field(ge=1, le=10_000)] = Field(
        10,
        title="Texts per ranked list (k)",
        description="Number of texts to judge from the top of each ranked list.",
    )
    task: Literal["annotation", "search", "both"] = Field(
        "both",
        title="Task of the ranked lists",
        description="Used only if the texts are from ranked lists.",
        json_schema_extra={
            "words": {
                "both": "Both",
                "annotation": "Annotation: each list ranks texts for an item",
                "search": "Search: each list ranks items for a text",
            }
        },
    )
    foils: Annotated[int, Field(ge=0, le=1000)] = Field(
        1,
        title="Foils (texts of other items) for each item",
        description="Foils are used only if people's texts are judged.",
    )
    listed: Listed[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        (),
        title="Pairs",
        description="One pair per line: an item, a tab, and a text or the id of a text. The list is used "
        "only if “The pairs listed below” is chosen.",
        json_schema_extra={"rows": 6},
    )
    split: str = Field(
        "test",
        max_length=20,
        title="Split to judge",
        description="The split is not used if the dataset has no splits.",
    )
    options: Literal["all"] | Annotated[int, Field(ge=3, le=8)] = Field(
        4,
        title="Texts shown together",
        description="A number from 3 to 8, or 'all'. 'all' shows one text of "
        "each system, but at most 8 texts.",
    )
    appearances: Annotated[int, Field(ge=1, le=100)] = Field(
        4,
        title="Number of items per text",
        description="Each text of a system is shown in this number of items, or in all items if there are "
        "fewer.",
    )
    source: Literal["auto", "published", "references"] = Field(
        "auto",
        title="Source of pairs",
        json_schema_extra={
            "words": {
                "auto": "Published pairs if the dataset has any, otherwise sampled pairs",
                "published": "The dataset's published pairs",
                "references": "Sampled from references and systems",
            }
        },
    )
    only: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        title="Use only these items",
        description="Ids of items (candidate pairs), one per line. Empty: all items.",
        json_schema_extra={"rows": 2},
    )
    not_in: Listed[Annotated[str, Field(min_length=1, max_length=80)]] = Field(
        (),
        title="Do not use items of these studies",
        description="Short names of studies, one per line. Items of these studies are not used again.",
        json_schema_extra={"rows": 2},
    )


class ItemSelection(DesignTable):
    """The rule that selected the items of ``sampling.only``, and the probability of each item (docs/choosing.md).

    The operation `select_items` writes this table. Results weight each item by the inverse of its probability.
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
        description="Whether candidate pairs were chosen, or items with all their texts."
    )
    budget: Annotated[int, Field(ge=1)] = Field(description="How many of them were chosen.")
    population: Annotated[int, Field(ge=1)] = Field(description="How many there were.")
    chances: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        description="Of each id in sampling.only, that it would be chosen."
    )


class Arena(DesignTable):
    """The settings of an arena, which draws pairs of systems by the answers so far (contrib/arena/README.md)."""

    pages: Count = Field(
        0,
        title="Number of pages of work generated during the study",
        description="The pairs of these pages are sampled when a participant takes the page. The "
        "most informative pairs of systems are sampled more often. 0: all pages are "
        "generated in advance.",
    )
    even: Annotated[float, Field(ge=0.01, le=1)] = Field(
        0.2,
        title="Share of pairs sampled uniformly",
        description="Between 0.01 and 1. The other pairs are sampled by how informative they are. 1: all "
        "pairs of systems are equally probable.",
    )


class HandChange(DesignTable):
    """A manual change of a drawn item: the item is removed, shown differently, or moved to a page made by hand."""

    item: Annotated[str, Field(min_length=1, max_length=80)] = Field(
        description="The id of the item, as drawn or as the changes before left it."
    )
    out: bool = Field(False, description="Whether it is pulled out.")
    hit: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="The page written by hand that it is put on, from 1; 0: it stays on its page."
    )
    image: str = Field("", max_length=200, description="Another item, by its name in the dataset.")
    texts: dict[str, Annotated[str, Field(max_length=20_000)]] = Field(
        default_factory=dict,
        description="Other texts by name: reference, first, second, text, option1 ..., or an input of a template.",
    )


class Filter(DesignTable):
    """The settings of H13's Bleu-pre filter.

    A pair below the threshold is judged only to fill the last group (``fill_to``) or to audit the filter (``audit``).
    """

    bleu_pre: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, title="Minimum score of judged texts", description="Between 0 and 1. 0: no filter."
    )
    fill_to: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        title="Minimum size of the last group",
        description="If the last group of texts is smaller, texts that the filter left out are added. "
        "Their judgments show which good texts the filter misses.",
    )
    audit: Count = Field(
        0,
        title="Number of left-out pairs to judge (audit)",
        description="The pairs are sampled from those that the filter left out. Their judgments show how "
        "many good texts the filter misses. 0: no sample.",
    )
    order: Literal["stop-first", "stem-first"] = Field(
        "stop-first",
        title="Preparation of words",
        json_schema_extra={
            "words": {
                "stop-first": "Remove stop words, then stem (like the ROUGE script)",
                "stem-first": "Stem, then remove stop words (closer to the published figures of H13)",
            }
        },
    )
