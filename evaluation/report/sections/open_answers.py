"""Results of open answers as tables and plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.report.content import Dots, Estimate, Level, Panel, Plot, Section, estimate_of
from evaluation.report.inputs import ReportInputs
from evaluation.report.wording import plot, say, section, table

MOST_CAPTIONS = 25
FULL_AGREEMENT = Level("full agreement", 1.0, dashed=False)


def sections(inputs: ReportInputs) -> list[Section]:
    figures: Mapping[str, Any] = inputs.aggregation.result.get("figures", {})
    made = {
        "leave_one_out": _leave_one_out,
        "captions": _captions,
        "pairwise_f1": _keywords,
        "content_selection": _content,
        "questions": _questions,
    }
    return [make(figures) for name, make in made.items() if name in figures]


def _leave_one_out(figures: Mapping[str, Any]) -> Section:
    """Show each caption against the others of its image (WG16 §4)."""
    found = figures["leave_one_out"]
    if not found["metrics"]:
        return section("leave-one-out", empty=found["reason"])
    rows = [
        (name, Estimate(one["macro"], one["low"], one["high"], found["images"]),
         Estimate(one.get("floor"), one.get("floor_low"), one.get("floor_high")),
         *(one[figure] for figure in ("micro", "median", "deviation", "least", "most")))
        for name, one in found["metrics"].items()
    ]  # fmt: skip
    data = table("leave-one-out", rows, captions=found["captions"], images=found["images"])
    sentence = say("leave-one-out", captions=found["captions"])
    plots: list[Plot] = []
    # Metrics have their own scales; those from 0 to 1 share an axis.
    unit = [row for row in rows if row[1].value is not None and row[1].value <= 1]
    if unit:
        people = Panel("one person", tuple(row[1] for row in unit))
        floor = Panel("a caption of another image", tuple(row[2] for row in unit))
        with_floor = any(one.value is not None for one in floor.estimates)
        drawing = Dots(
            tuple(row[0] for row in unit),
            (people, floor) if with_floor else (people,),
            "mean score over images, 95 % interval",
        )
        caption = f"{sentence} {say('leave-one-out-floor' if with_floor else 'leave-one-out-no-floor')}"
        plots.append(plot(caption, drawing, data, title="What people reach by the metrics"))
    return section("leave-one-out", [sentence, *found["warnings"]], plots, [data])


def _captions(figures: Mapping[str, Any]) -> Section:
    rows = sorted(figures["captions"], key=lambda row: (-row["score"], row["image"], row["text"]))
    ends = rows if len(rows) <= 2 * MOST_CAPTIONS else rows[:MOST_CAPTIONS] + rows[-MOST_CAPTIONS:]
    data = table(
        "captions",
        [[row[name] for name in ("text", "image", "score", "best", "worst", "shown")] for row in ends],
        captions=len(rows),
        ends=MOST_CAPTIONS if len(ends) < len(rows) else 0,
    )
    half = figures.get("split_half", {})
    half = half if half.get("spearman") is not None else None
    return section("captions", [say("captions", captions=len(rows), half=half)], tables=[data])


def _keywords(figures: Mapping[str, Any]) -> Section:
    named = {"keywords as words": "pairwise_f1", "one stem merged": "pairwise_f1_of_stems"}
    found = {name: figures[key] for name, key in named.items() if key in figures}
    words = figures["pairwise_f1"]
    if words["value"] is None:
        return section("keywords", empty=words["reason"])
    data = table(
        "keywords",
        [
            (name, estimate_of(one), one.get("floor"), one["n"], one["pairs_of_answers"])
            for name, one in found.items()
        ],
    )
    sentence, floor = say("keywords", value=words["value"]), words.get("floor")
    levels = [] if floor is None else [Level("another image's", floor)]
    levels.append(Level("the same keywords", 1.0, dashed=False))
    panel = Panel("", tuple(estimate_of(one) for one in found.values()), tuple(levels))
    drawing = Dots(tuple(found), (panel,), "F1, 95 % interval")
    caption = f"{sentence} {say('keywords-floor', floor=floor)}"
    return section("keywords", [sentence], [plot(caption, drawing, data)], [data])


def _content(figures: Mapping[str, Any]) -> Section:
    """Show people's content selection, by leave-one-out (WG15 §5)."""
    found = figures["content_selection"]
    known = found["upper_bound"]
    if all(one["value"] is None for one in known.values()):
        return section("content", empty=found["reason"] or "No image has two descriptions to compare.")
    data = table(
        "content",
        [(name, one["value"], one["deviation"], one.get("floor"), one["n"]) for name, one in known.items()],
    )
    people = Panel("one person", tuple(estimate_of(one) for one in known.values()))
    chance = Panel("random boxes", tuple(Estimate(one.get("floor")) for one in known.values()))
    with_floor = any(one.value is not None for one in chance.estimates)
    drawing = Dots(tuple(known), (people, chance) if with_floor else (people,), "mean over images")
    sentence = say("content")
    caption = f"{sentence} {say('content-floor', floor=with_floor)}"
    return section("content", [sentence], [plot(caption, drawing, data)], [data])


def _questions(figures: Mapping[str, Any]) -> Section:
    found = figures["questions"]
    if not any(one["answered"] for one in found):
        return section("questions", empty="Nobody answered a question of the form yet.")
    data = table(
        "questions",
        [
            (
                one["name"],
                one["answered"],
                one["alpha"]["level"],
                estimate_of(one["alpha"]),
                one["alpha"]["n"],
            )
            for one in found
            if "alpha" in one
        ],
    )
    votes = table("answers", [(one["name"], *vote) for one in found for vote in one.get("votes", {}).items()])
    columns = ("name", "answered", "mean", "median", "deviation", "low", "high")
    numbers = table("numbers", [[one[name] for name in columns] for one in found if "mean" in one])
    texts = table("texts", [(one["name"], text) for one in found for text in one.get("texts", ())])
    sentence = say("questions", n=len(found))
    plots: list[Plot] = []
    drawn = [one for one in found if one.get("alpha", {}).get("value") is not None]
    if drawn:
        alphas = tuple(estimate_of(one["alpha"]) for one in drawn)
        drawing = Dots(
            tuple(one["name"] for one in drawn),
            (Panel("", alphas, (Level("chance", 0.0), FULL_AGREEMENT)),),
            "Krippendorff's alpha, 95 % interval",
        )
        plots.append(plot(sentence, drawing, data))
    return section("questions", [sentence], plots, [one for one in (data, votes, numbers, texts) if one.rows])
