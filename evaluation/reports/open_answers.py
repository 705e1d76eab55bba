"""The sections about open answers: what their kinds compute beyond consensus, as tables and plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.reports.content import Dots, Figure, Level, Panel, Plot, Section, coefficient, plain_table
from evaluation.reports.gathered import Gathered

MOST_CAPTIONS = 25


def sections(gathered: Gathered) -> list[Section]:
    """One for each thing that the kind says of a study."""
    figures: Mapping[str, Any] = gathered.aggregation.result.get("figures", {})
    made = {
        "leave_one_out": _leave_one_out,
        "captions": _captions,
        "pairwise_f1": _keywords,
        "content_selection": _content,
        "questions": _questions,
    }
    return [make(figures) for name, make in made.items() if name in figures]


def _leave_one_out(figures: Mapping[str, Any]) -> Section:
    """WG16 §4: each caption against the others of its image."""
    title = "What people reach by the metrics"
    found = figures["leave_one_out"]
    if not found["metrics"]:
        return Section("leave-one-out", title, empty=found["reason"])
    rows = [
        (name, Figure(one["macro"], one["low"], one["high"], found["images"]), _floor(one), one["micro"],
         one["median"], one["deviation"], one["least"], one["most"])
        for name, one in found["metrics"].items()
    ]  # fmt: skip
    table = plain_table(
        "leave-one-out",
        "Each caption against the others of its image",
        [("metric", "text"), ("mean over images", "coefficient"), ("another image's caption", "coefficient"),
         ("mean over captions", "coefficient"),
         ("median", "coefficient"), ("deviation", "coefficient"), ("least", "coefficient"), ("most", "coefficient")],
        rows,
        f"{found['captions']:,} captions of {found['images']:,} images (WG16 §4); 95 % bootstrap intervals over "
        "images. Another image's caption: a random one held against the same captions, the lower bound (WG16 §5).",
    )  # fmt: skip
    sentence = (
        f"Each of {found['captions']:,} captions is held against the others of its image: what a metric gives "
        "people is the "
        "most that a machine can be expected to get from it."
    )
    # metrics have scales of their own, those from 0 to 1 share an axis
    unit = [row for row in rows if row[1].value is not None and row[1].value <= 1]
    plots: tuple[Plot, ...] = ()
    if unit:
        right = Panel("one person", tuple(row[1] for row in unit))
        wrong = Panel("a caption of another image", tuple(row[2] for row in unit))
        there = any(one.value is not None for one in wrong.figures)
        drawing = Dots(
            tuple(row[0] for row in unit),
            (right, wrong) if there else (right,),
            "mean score over images, 95 % interval",
        )
        said = f"{sentence} " + (
            "Ceiling: one person; floor: a random caption of another image, held against the same captions."
            if there
            else "No floor is drawn: there is no other image to take captions from."
        )
        plots = (Plot("leave-one-out", title, said, drawing, table),)
    return Section("leave-one-out", title, (sentence, *found["warnings"]), plots, (table,))


def _floor(one: Mapping[str, Any]) -> Figure:
    return Figure(one.get("floor"), one.get("floor_low"), one.get("floor_high"))


def _captions(figures: Mapping[str, Any]) -> Section:
    """Best-worst scores of captions."""
    rows = sorted(figures["captions"], key=lambda row: (-row["score"], row["image"], row["text"]))
    half = figures.get("split_half", {})
    reliable = half.get("spearman")
    ends = rows if len(rows) <= 2 * MOST_CAPTIONS else rows[:MOST_CAPTIONS] + rows[-MOST_CAPTIONS:]
    note = "Score: share of best minus share of worst, from -1 to 1."
    if len(ends) < len(rows):
        note += f" The first and the last {MOST_CAPTIONS} of {len(rows):,}."
    table = plain_table(
        "captions",
        "Best-worst scores of captions",
        [("caption", "text"), ("image", "text"), ("score", "coefficient"), ("best", "count"), ("worst", "count"),
         ("shown", "count")],
        [(row["text"], row["image"], row["score"], row["best"], row["worst"], row["shown"]) for row in ends],
        note,
    )  # fmt: skip
    sentence = f"{len(rows):,} captions have a score."
    if reliable is not None:
        sentence += (
            f" Scores from two random halves of the answers correlate by {coefficient(reliable)} (Spearman, mean of "
            f"{half['splits']} splits)."
        )
    return Section("captions", "Scores of captions", (sentence,), (), (table,))


def _keywords(figures: Mapping[str, Any]) -> Section:
    """How far two people's keywords overlap."""
    named = (("keywords as words", "pairwise_f1"), ("one stem merged", "pairwise_f1_of_stems"))
    found = [(name, figures[key]) for name, key in named if key in figures]
    if found[0][1]["value"] is None:
        return Section("keywords", "Overlap of keywords", empty=found[0][1]["reason"])
    table = plain_table(
        "keywords",
        "Overlap of two people's keywords",
        [
            ("keywords", "text"),
            ("F1", "coefficient"),
            ("with another image's", "coefficient"),
            ("images", "count"),
            ("pairs of answers", "count"),
        ],
        [(name, _figure(one), one.get("floor"), one["n"], one["pairs_of_answers"]) for name, one in found],
        "Mean F1 over every two answers of an image, then over images; 95 % bootstrap intervals over images. With "
        "another image's: between the answers of two images, the floor.",
    )
    sentence = (
        f"Two people's keywords overlap by F1 {coefficient(found[0][1]['value'])}; 1 is the same keywords."
    )
    floor = found[0][1].get("floor")
    said = f"{sentence} " + (
        "No floor is drawn: there is no other image whose keywords could be taken."
        if floor is None
        else f"Floor: the overlap with keywords of another image, {coefficient(floor)}."
    )
    levels = (
        *(() if floor is None else (Level("another image's", floor),)),
        Level("the same keywords", 1.0, dashed=False),
    )
    drawing = Dots(
        tuple(name for name, _ in found),
        (Panel("", tuple(_figure(one) for _, one in found), levels),),
        "F1, 95 % interval",
    )
    return Section(
        "keywords",
        "Overlap of keywords",
        (sentence,),
        (Plot("keywords", table.title, said, drawing, table),),
        (table,),
    )


def _content(figures: Mapping[str, Any]) -> Section:
    """WG15 §5: how well people select content, by leave-one-out."""
    title = "Content selection by people"
    found = figures["content_selection"]
    known = found["upper_bound"]
    if not any(one["value"] is not None for one in known.values()):
        return Section("content", title, empty=found["reason"] or "No image has two descriptions to compare.")
    table = plain_table(
        "content",
        title,
        [
            ("figure", "text"),
            ("mean", "coefficient"),
            ("deviation", "coefficient"),
            ("random boxes", "coefficient"),
            ("images", "count"),
        ],
        [(name, one["value"], one["deviation"], one.get("floor"), one["n"]) for name, one in known.items()],
        "Each description's boxes against those of the image's others (WG15 §5). Random boxes: as many as a "
        "description names, drawn from the image's (WG15 §4).",
    )
    sentence = (
        "Boxes that one person's description names, against the other people's: the upper bound for machines."
    )
    people = Panel("one person", tuple(_figure(one) for one in known.values()))
    chance = Panel("random boxes", tuple(Figure(one.get("floor")) for one in known.values()))
    there = any(one.value is not None for one in chance.figures)
    drawing = Dots(
        tuple(name for name in known), (people, chance) if there else (people,), "mean over images"
    )
    said = f"{sentence} Ceiling: one person against the others" + (
        "; floor: as many random boxes of the image."
        if there
        else ". No floor is drawn: these figures were computed without one."
    )
    return Section("content", title, (sentence,), (Plot("content", title, said, drawing, table),), (table,))


def _questions(figures: Mapping[str, Any]) -> Section:
    """The questions of a form: what was answered, and how far people agree on each."""
    title = "Questions of the form"
    found = figures["questions"]
    if not any(one["answered"] for one in found):
        return Section("questions", title, empty="Nobody answered a question of the form yet.")
    table = plain_table(
        "questions",
        "Agreement on each question",
        [
            ("question", "text"),
            ("answers", "count"),
            ("level", "text"),
            ("alpha", "coefficient"),
            ("rows", "count"),
        ],
        [
            (one["name"], one["answered"], one["alpha"]["level"], _figure(one["alpha"]), one["alpha"]["n"])
            for one in found
            if "alpha" in one
        ],
        "Krippendorff's alpha: nominal for choices and boxes, interval for numbers; 95 % bootstrap intervals.",
    )
    votes = plain_table(
        "answers",
        "Answers to closed questions",
        [("question", "text"), ("answer", "text"), ("votes", "count")],
        [(one["name"], value, count) for one in found for value, count in one.get("votes", {}).items()],
        "Over all rows; of boxes, how often each was ticked.",
    )
    numbers = plain_table(
        "numbers",
        "Answers to questions for a number",
        [("question", "text"), ("answers", "count"), ("mean", "coefficient"), ("median", "coefficient"),
         ("deviation", "coefficient"), ("least", "coefficient"), ("most", "coefficient")],
        [
            (one["name"], one["answered"], one["mean"], one["median"], one["deviation"], one["low"], one["high"])
            for one in found
            if "mean" in one
        ],
        "Over all rows; the deviation is that of a sample (n - 1).",
    )  # fmt: skip
    texts = plain_table(
        "texts",
        "Texts that people wrote",
        [("question", "text"), ("text", "text")],
        [(one["name"], text) for one in found for text in one.get("texts", ())],
        "Different ones, the first of each question.",
    )
    sentence = (
        f"The form asks {len(found)} question{'' if len(found) == 1 else 's'}; each is aggregated by itself."
    )
    drawn = [one for one in found if one.get("alpha", {}).get("value") is not None]
    plots: tuple[Plot, ...] = ()
    if drawn:
        levels = (Level("chance", 0.0), Level("full agreement", 1.0, dashed=False))
        drawing = Dots(
            tuple(one["name"] for one in drawn),
            (Panel("", tuple(_figure(one["alpha"]) for one in drawn), levels),),
            "Krippendorff's alpha, 95 % interval",
        )
        plots = (Plot("questions", table.title, sentence, drawing, table),)
    tables = tuple(one for one in (table, votes, numbers, texts) if one.rows)
    return Section("questions", title, (sentence,), plots, tables)


def _figure(one: Mapping[str, Any]) -> Figure:
    return Figure(one["value"], one.get("low"), one.get("high"), one.get("n"))
