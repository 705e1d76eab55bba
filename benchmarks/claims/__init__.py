"""Compare each sentence about a study, on its results, dashboard and report, with the study's rows, by plain code.

Each pattern stands above the function that checks it. A text that no pattern matches is an error, so whoever writes a
new sentence must also write its checker.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.test import Client

from benchmarks.claims import agreement, counts, dashboard, definitions, report, verdicts
from benchmarks.claims.patterns import check_sentences
from benchmarks.claims.rows import METRICS, Rows
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.dashboard.staleness import has_dashboard
from evaluation.errors import EvaluationError
from evaluation.presentation.content import Section
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Study
from tests.evaluation.drawn_studies import drawn_study
from tests.judgments.desk import page

SUBJECTS = (
    counts,
    agreement,
    verdicts,
    dashboard,
    report,
    definitions,
)  # imported because the modules register their checkers


def plain_text(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup))).strip().replace(" ;", ";")


def texts_of_page(content: str) -> Iterator[str]:
    """Yield the texts of a page: its paragraphs, and its facts, each after its name."""
    found = re.search(r"<main.*</main>", content, re.S)
    assert found is not None
    main = re.sub(
        r"<(script|style|svg|form|nav|table|code|header|h3|h4|details)\b.*?</\1>", " ", found[0], flags=re.S
    )
    for name, fact, about in re.findall(
        r"<div><span>(.*?)</span>\s*(?:<b.*?>(.*?)</b>)?(.*?)</div>", main, re.S
    ):
        yield f"{plain_text(name)}: {plain_text(fact)}"
        yield from (
            f"{plain_text(name)}> {plain_text(text)}" for text in re.findall(r"<em>(.*?)</em>", about, re.S)
        )
    for name, fact in re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", main, re.S):
        yield f"{plain_text(name)}: {plain_text(fact)}"
    yield from map(plain_text, re.findall(r"<(?:p|li)\b[^>]*>(.*?)</(?:p|li)>", main, re.S))


def texts_of_section(section: Section) -> Iterator[str]:
    yield from section.shown_sentences
    yield from (plot.sentence for plot in section.plots)


def said_of(study: Study, designer: Client) -> Iterator[tuple[str, str]]:
    """Yield the texts about a study, each after its place: "results", "dashboard" or "report"."""
    for text in texts_of_page(designer.get(page(study, "results")).content.decode()):
        yield "results", text
    if has_dashboard(study):
        store_snapshot(compute_snapshot(study=study))
        for text in texts_of_page(designer.get(page(study, "board")).content.decode()):
            yield "dashboard", text
    for section in build_report(study, metrics=[]).sections:
        for text in texts_of_section(section):
            yield "report", text


def check_study(seed: int, designer: Client, folder: Path) -> tuple[Counter[str], list[str]]:
    """Draw a study with the seed, and check the sentences about it.

    Return the number of checked sentences by place and by subject, and descriptions of the false sentences.
    """
    study = drawn_study(seed, folder)
    aggregate_study(study=study)
    with suppress(EvaluationError):
        evaluate_study(study=study, metrics=METRICS)
    rows, counts, wrong = Rows(study), Counter[str](), []
    for door, text in said_of(study, designer):
        for sentence, subject, true in check_sentences(text, rows):
            counts.update((f"on {door}", subject))
            if not true:
                wrong.append(f"study {seed} ({study.protocol}, {study.source}), {door}: {sentence}")
    return counts, wrong
