"""Measure how many careless people the detectors find, after how many answers, and how many honest people they flag.

    python -m benchmarks.quality false-alarms           # simulated histories, no database; about two minutes
    python -m benchmarks.quality submissions            # what the rules cost the server; about a minute
    python -m benchmarks.quality rehearsals --figure docs/figures/quality.svg    # some ten minutes

The tables are those of docs/quality.md, whose captions have the seeds. Rehearsals use the services that people use, on
a database in a temporary folder, and leave no files. Everything is simulated: the tables show what the detectors do
with such people, not that there are such people.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# use a separate database; settings are read as soon as a detector is imported
os.environ["DATA_DIR"] = tempfile.mkdtemp()
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
os.environ.pop("DATABASE_URL", None)

from annotation.quality.detectors import RULES, make_rule
from annotation.quality.detectors.history import AnswerFormat, OwnJudgment
from contrib.replays.page_replays import replay_detectors
from contrib.replays.submitted_pages import SubmittedPage
from evaluation.presentation.plots.canvas import (
    ACCENT,
    INK,
    SMALL,
    SOFT_OPACITY,
    WARNING_COLOUR,
    new_figure,
    style_axes,
    to_svg,
)
from quorum.statistics.meta import wilson_interval

SEEDS = (1, 2)
SPAMMERS = 0.3
SORTS = ("random", "one-sided", "alternating", "fast")
RULE_SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("too-fast", {}),
    ("straight-lining", {}),
    ("side-bias", {}),
    ("alternation", {}),
    ("disagreement", {"of_crowd": 0.5}),
    ("control-accuracy", {"least": 4, "threshold": 0.7}),
)
STUDIES: dict[str, dict[str, Any]] = {
    "triplet": {
        "units_per_hit": 20,
        "controls": {"per_hit": 2},
        "sampling": {"pairs": {"HC": 100, "HI": 100, "MM": 20}, "references": 6},
    },
    "relevance": {
        "images_per_hit": 6,
        "captions_per_image": 10,
        "controls": {"per_hit": 1},
        "sampling": {"pairs_from": "crossed"},
    },
}
DATASET_SIZES: dict[str, dict[str, int]] = {
    "triplet": {"images": 40, "references": 8, "systems": 2},
    "relevance": {"images": 16, "references": 5, "systems": 12},
}
WORKERS = {"triplet": 20, "relevance": 10}
COLOUR_STYLE = "<style>svg{color:#1d2230}@media(prefers-color-scheme:dark){svg{color:#e7e9ee}}</style>"


# --- false alarms ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A simulated study: numbers of pages, units per page and control items per page, and how often yes is right."""

    name: str
    has_sides: bool
    page: int
    controls: int
    yes_share: float


SHAPES = (Shape("triplet", True, 20, 2, 0.5), Shape("relevance", False, 60, 10, 0.2))


def honest_work(
    shape: Shape, *, workers: int, pages_each: int, spam: float, seed: int
) -> list[SubmittedPage]:
    """Return pages in the order of submission, with three workers per page.

    The first ``spam`` workers answer at random. The others are right with a chance from .7 to .95.
    """
    rng = np.random.default_rng(seed)
    pages = workers * pages_each // 3
    units = pages * shape.page
    truth = (rng.random(units) < shape.yes_share).astype(int)
    chance, pace = rng.uniform(0.7, 0.95, workers), 6 * rng.lognormal(-0.08, 0.4, workers)
    turns = [(rng.random(), page, int(who)) for page in range(pages) for who in rng.permutation(workers)[:3]]
    made = []
    for number, (_, page, who) in enumerate(sorted(turns)):
        places = rng.permutation(np.arange(page * shape.page, (page + 1) * shape.page))
        flips = rng.permutation(np.arange(shape.page) % 2 == 0) & shape.has_sides
        right = rng.random(shape.page) < (chance[who] if who >= spam * workers else 0.5)
        value = np.where(right, truth[places], 1 - truth[places])
        seen = np.where(flips, 1 - value, value)
        seconds = pace[who] * rng.lognormal(-0.08, 0.4, shape.page)
        given = [
            OwnJudgment(
                number,
                unit,
                float(seen[place]) + shape.has_sides,
                float(value[place]) + shape.has_sides,
                float(seen[place] == 0) if shape.has_sides else float("nan"),
                float(seconds[place]),
                float(right[place]) if unit % shape.page < shape.controls else float("nan"),
            )
            for place, unit in enumerate(places.tolist())
        ]
        made.append(SubmittedPage(who, given))
    return made


def print_false_alarms() -> None:
    """Print how many honest participants each detector ever flagged."""
    workers, pages_each, repeats = 45, 15, 4
    rules = [make_rule(name, settings) for name, settings in RULE_SETTINGS]
    plain = make_rule("control-accuracy", {"least": 4, "threshold": 0.7, "alpha": 0.0})
    print(
        f"\nHonest workers that a rule ever accused, of {repeats} x {workers} with {pages_each} pages each (seeds "
        f"1 to {repeats}); in brackets the 95 % interval of the share.\n"
    )
    print(
        "| rule | "
        + " | ".join(f"{shape.name}, {spam:.0%} spammers" for shape in SHAPES for spam in (0, 0.3))
    )
    print("|---|" + "---|" * 2 * len(SHAPES))
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for shape in SHAPES:
        for spam in (0.0, 0.3):
            accused: Counter[str] = Counter()
            honest = 0
            answers = AnswerFormat.from_values(
                (1, 2) if shape.has_sides else (0, 1), level="nominal", has_sides=shape.has_sides
            )
            for seed in range(1, repeats + 1):
                pages = honest_work(shape, workers=workers, pages_each=pages_each, spam=spam, seed=seed)
                good = set(range(round(spam * workers), workers))
                honest += len(good)
                for name, given in (("", rules), ("plain threshold", [plain])):
                    found = replay_detectors(pages, rules=given, answer_format=answers)
                    for who in good & set(found):
                        accused.update(name or rule for rule in found[who])
                        accused["any of the rules"] += not name
            for name in [*(rule.name for rule in rules), "any of the rules", "plain threshold"]:
                low, high = wilson_interval(accused[name], honest)
                applies = name not in RULES or RULES[name].applies_to(answers)
                cell = f"{accused[name]} of {honest} ({low:.1%} to {high:.1%})" if applies else "–"
                rows[name].append(cell)
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


# --- rehearsals --------------------------------------------------------------------------------


@dataclass
class Outcome:
    """Rehearsals of one protocol, with all seeds together.

    ``stop_points``: by sort of people, (answers, whether a detector stopped the person after them) of each person.
    ``included_counts``, ``judgments``: numbers by sort. ``accuracy``: by seed, without and with the detectors, and
    what the detectors cost.
    """

    stop_points: defaultdict[str, list[tuple[int, bool]]] = field(default_factory=lambda: defaultdict(list))
    judgments: Counter[str] = field(default_factory=Counter)
    included_counts: Counter[str] = field(default_factory=Counter)
    without: list[float] = field(default_factory=list)
    with_rules: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    by_rule: Counter[tuple[str, str]] = field(default_factory=Counter)


def set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def rehearse_all(protocol: str) -> Outcome:
    from contrib.rehearsals.simulation.crowd import RehearsalCrowd
    from contrib.rehearsals.simulation.run import rehearse
    from judgments.models import Dataset
    from tests import studies

    dataset = f"animals-{protocol}"
    if not Dataset.objects.filter(name=dataset).exists():
        studies.make_dataset(dataset, **DATASET_SIZES[protocol])
    outcome = Outcome()
    for seed in SEEDS:
        crowd = RehearsalCrowd(workers=WORKERS[protocol], spammers=SPAMMERS, sorts=",".join(SORTS), seed=seed)
        for watched in (False, True):
            rules = [
                {"rule": name, "action": "exclude", "settings": settings} for name, settings in RULE_SETTINGS
            ]
            study = _study(protocol, dataset, seed, rules if watched else [])
            report = rehearse(study=study, crowd=crowd)
            (outcome.with_rules if watched else outcome.without).append(report.recovered)
            print(
                f"{protocol}, seed {seed}, {'with' if watched else 'without'} rules: {report.recovered:.3f} of "
                f"{report.units} units, {report.workers} people, {report.judgments + report.invalidated} judgments",
                file=sys.stderr,
            )
            if watched:
                outcome.cost.append(report.invalidated / report.judgments)
                _count_stops(outcome, study)
    return outcome


def _study(protocol: str, dataset: str, seed: int, rules: list[dict[str, Any]]) -> Any:
    from judgments.design.reading.checking import make_design
    from judgments.studies.generation.hits import generate_hits
    from judgments.studies.studies import create_study

    name = f"{protocol} {seed} {'with' if rules else 'without'}"
    values = {"name": name, "dataset": dataset, "protocol": protocol, "seed": seed, "rules": rules}
    study = create_study(design=make_design(values | STUDIES[protocol]))
    generate_hits(study=study)
    return study


def _count_stops(outcome: Outcome, study: Any) -> None:
    """Count when each person was stopped, from the rows of the rehearsal."""
    from annotation.models import Case, Judgment
    from contrib.rehearsals.simulation.crowd import RehearsalCrowd, create_people

    notes = {name: value for name, value in study.notes["rehearsal"].items() if name != "owner"}
    sort_of = {
        person.worker.pk: person.sort or "careful" for person in create_people(study, RehearsalCrowd(**notes))
    }
    total: Counter[int] = Counter()
    kept_pages: Counter[int] = Counter()
    for who, state in Judgment.objects.of_study(study).values_list(
        "assignment__worker_id", "assignment__state"
    ):
        total[who] += 1
        kept_pages[who] += state != "invalidated"
    first: dict[int, tuple[int, str]] = {}
    for who, answers, rule in (
        Case.objects.filter(study=study).order_by("answers", "pk").values_list("worker_id", "answers", "rule")
    ):
        first.setdefault(who, (answers, rule))
    for who, answers in total.items():
        sort = sort_of[who]
        outcome.stop_points[sort].append((first[who][0], True) if who in first else (answers, False))
        outcome.judgments[sort] += answers
        outcome.included_counts[sort] += kept_pages[who]
        if who in first:
            outcome.by_rule[(sort, first[who][1])] += 1


def print_outcome(protocol: str, outcome: Outcome) -> None:
    print(
        f"\n**{protocol}**, {WORKERS[protocol]} people at the start, {SPAMMERS:.0%} of them spammers of four sorts in "
        f"equal shares, newcomers alike; seeds {', '.join(map(str, SEEDS))} together.\n"
    )
    print(
        "| sort | people | stopped | after answers: median (middle half) | first found by | of their judgments count |"
    )
    print("|---|---|---|---|---|---|")
    for sort in ("careful", *SORTS):
        stops = outcome.stop_points[sort]
        took = [answers for answers, stopped in stops if stopped]
        low, middle, high = np.quantile(took, [0.25, 0.5, 0.75]) if took else (0, 0, 0)
        when = f"{middle:.0f} ({low:.0f} to {high:.0f})" if took else "–"
        found = sorted(
            ((count, rule) for (which, rule), count in outcome.by_rule.items() if which == sort), reverse=True
        )
        by = ", ".join(f"{rule} {count}" for count, rule in found) or "–"
        share = outcome.included_counts[sort] / max(1, outcome.judgments[sort])
        print(
            f"| {sort} | {len(stops)} | {len(took)} ({len(took) / max(1, len(stops)):.0%}) | {when} | {by} | "
            f"{outcome.included_counts[sort]:,} of {outcome.judgments[sort]:,} ({share:.0%}) |"
        )
    by_seed = "; ".join(
        f"{before:.1%} → {after:.1%}"
        for before, after in zip(outcome.without, outcome.with_rules, strict=True)
    )
    print(
        f"\nUnits whose truth the consensus recovers, without → with rules, seed by seed: {by_seed}. Invalidated and "
        f"filled anew: {np.mean(outcome.cost):.0%} more judgments."
    )


def at_work(stops: Sequence[tuple[int, bool]]) -> Iterator[tuple[int, float]]:
    """Yield the share of people who are still at work after each number of answers (Kaplan & Meier 1958).

    People who end without being stopped leave without counting.
    """
    share, left = 1.0, len(stops)
    yield 0, 1.0
    for answers in sorted({answers for answers, _ in stops}):
        here = [stopped for when, stopped in stops if when == answers]
        share *= 1 - sum(here) / left
        left -= len(here)
        yield answers, share


def draw_plots(outcomes: dict[str, Outcome], path: Path) -> None:
    """Draw how long people of each sort stay at work, with a panel for each protocol."""
    figure = new_figure(3.0)
    panels = figure.subplots(1, len(outcomes), sharey=True)
    styles = {"careful": (ACCENT, "solid"), "random": (INK, "solid"), "fast": (INK, "dashed")}
    styles |= {"one-sided": (WARNING_COLOUR, "solid"), "alternating": (WARNING_COLOUR, "dashed")}
    for axes, (protocol, outcome) in zip(np.atleast_1d(panels), outcomes.items(), strict=True):
        style_axes(axes)
        axes.set_title(protocol, fontsize=SMALL + 1, color=INK, loc="left")
        line_ends: list[tuple[float, float, str]] = []
        for sort, (colour, line) in styles.items():
            xs, ys = zip(*at_work(outcome.stop_points[sort]), strict=True)
            axes.step(xs, ys, where="post", color=colour, linestyle=line, linewidth=1.8, label=sort)
            line_ends.append((ys[-1], xs[-1], sort))
        axes.set_ylim(-0.02, 1.04)
        axes.set_xlim(0, None)
        axes.set_xlabel("answers", fontsize=SMALL, color=INK, alpha=SOFT_OPACITY)
        axes.set_yticks([0, 0.5, 1.0], ["0 %", "50 %", "100 %"])
    legend = np.atleast_1d(panels)[-1].legend(
        frameon=False, fontsize=SMALL - 1, labelcolor=INK, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    legend.set_in_layout(False)
    figure.subplots_adjust(left=0.075, right=0.84, bottom=0.17, top=0.9, wspace=0.12)
    words = "Share of the people of each sort whom no rule has stopped, by the number of answers they gave."
    text = to_svg(
        figure, name="quality", title="How long careless people stay", description=words, simulated=True
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("\n", f"\n{COLOUR_STYLE}\n", 1), encoding="utf-8")


# --- what a submission pays --------------------------------------------------------------------


def print_submissions() -> None:
    """Print the processor time of a submission of twenty triplets, with all detectors and with none."""
    from annotation.work.claims import claim_assignment
    from annotation.work.joining import join_study
    from annotation.work.submissions import submit_assignment
    from judgments.studies.studies import mark_open
    from tests import studies

    studies.make_dataset("animals", images=40, references=12, systems=0)
    design = {"pairs": {"HC": 300}, "references": 2}
    print("\n| rules | submissions | mean ms | median ms | 95 % below ms | longest ms |")
    print("|---|---|---|---|---|---|")
    for watched in (False, True):
        study = studies.make_study(
            "triplet", name=f"Watched {watched}", units_per_hit=20, sampling=design, controls={"per_hit": 1}
        )
        if watched:
            _watch_all(study)
        people = [join_study(study=study, name=f"w-{watched}-{number}").worker for number in range(3)]
        took = []
        rng = np.random.default_rng(1)
        mark_open(study=study)
        while claims := [claim for who in people if (claim := claim_assignment(study=study, worker=who))]:
            for claim in claims:
                answers = [
                    {"position": place.position, "value": int(rng.integers(1, 3)), "seconds": 5.0}
                    for place in claim.page_units
                ]
                start = time.process_time()
                submit_assignment(assignment=claim.assignment, answers=answers)
                took.append(1000 * (time.process_time() - start))
        cells = [np.mean(took), np.median(took), np.quantile(took, 0.95), max(took)]
        print(
            f"| {'all' if watched else 'none'} | {len(took)} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"
        )


def _watch_all(study: Any) -> None:
    """Let every detector flag people, but stop nobody, so that all submissions are equal."""
    from annotation.quality.rules import store_rule

    for name in RULES:
        settings = dict(RULE_SETTINGS).get(name, {})
        store_rule(study=study, rule=name, settings=settings, action="flag", enabled=True)


def main() -> None:
    atexit.register(shutil.rmtree, os.environ["DATA_DIR"])
    parser = argparse.ArgumentParser(description="Measure the rules of behaviour on simulated people.")
    parser.add_argument("part", choices=("false-alarms", "submissions", "rehearsals"))
    parser.add_argument("--protocols", nargs="*", default=list(STUDIES), choices=list(STUDIES))
    parser.add_argument("--figure", type=Path, help="write the figure of the rehearsals here")
    given = parser.parse_args()
    if given.part == "false-alarms":
        print_false_alarms()
        return
    set_up()
    if given.part == "submissions":
        print_submissions()
        return
    outcomes = {protocol: rehearse_all(protocol) for protocol in given.protocols}
    for protocol, outcome in outcomes.items():
        print_outcome(protocol, outcome)
    if given.figure:
        draw_plots(outcomes, given.figure)


if __name__ == "__main__":
    main()
