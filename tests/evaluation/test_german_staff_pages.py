"""A study's pages in German, from the draft to its findings: no English sentence is left on them, numbers are written
alike, and times are in the reader's zone."""

import html
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Worker
from annotation.quality.exclusions import exclude_worker
from annotation.quality.rules import copy_rules
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Study, Unit
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import mark_closed, mark_open
from judgments.studies.study_page import PAGES
from tests.annotation.foreign_pages import english_on
from tests.annotation.voting import joined, work
from tests.judgments.desk import do, page
from tests.studies import make_study

pytestmark = pytest.mark.django_db
# pages of the design and of people, at which tests/judgments looks
ELSEWHERE = {"change", "reuse", "hits", "people", "log", "plan", "bring-template", "replay"}
FINDINGS = (
    "results",
    "closer",
    "disputes",
    "compare",
    "register",
    "report",
    "exports",
    "releases",
    "known",
    "work",
)
RULE = {"rule": "control-accuracy", "action": "flag", "settings": {"least": 1, "alpha": 0.0}}
PLAN = {
    "hypotheses": [{"text": "Erste Hypothese", "claim": "bleu-1 > rouge-l on all"}, {"text": "Zweite"}],
    "exclude_by": ["control-accuracy"],
}


@pytest.fixture
def reader() -> Client:
    client = Client(headers={"accept-language": "de"})
    client.force_login(User.objects.create_superuser("leserin"))
    return client


def problems_at(reader: Client, addresses: Iterable[str]) -> dict[str, list[str]]:
    """Address -> the English on its page (names of licences are no sentences), numbers in another form, and times that
    are in another zone than the reader's.
    """
    found = {}
    for address in addresses:
        answer = reader.get(address)
        if answer.status_code != 200 or not answer.headers["Content-Type"].startswith("text/html"):
            continue
        shown = answer.content.decode()
        found[address] = [text for text in english_on(shown, staff=True) if not text.startswith("CC-")]
        if address.split("?")[0].rstrip("/").rsplit("/", 1)[-1] not in EXACT:
            found[address] += BADLY_WRITTEN.findall(
                STANDARD_ERRORS.sub(" ", P_VALUE.sub(" ", text_of(shown)))
            )
        found[address] += unmoved_times(reader, address, shown)
        found[address] += FOREIGN_DATES.findall(text_of(shown))
    return found


def unmoved_times(reader: Client, address: str, in_utc: str) -> list[str]:
    """Times and days on a page that are not those of a reader elsewhere, where a quarter of an hour is added too."""
    said = clocks(in_utc)
    if not said and not TODAY.search(text_of(in_utc)):
        return []
    reader.cookies["zone"] = "Asia/Kathmandu"
    elsewhere = reader.get(address).content.decode()
    del reader.cookies["zone"]
    moved, shift = clocks(elsewhere), int(KATHMANDU.total_seconds()) // 60
    return TODAY.findall(text_of(elsewhere)) + [
        f"{minute // 60:02}:{minute % 60:02}"
        for minute in said
        if not any(
            moved[(minute + shift + late) % (24 * 60)] for late in (0, 1)
        )  # the minute may have passed
    ]


# a leading zero, a third digit, or a share with more digits than its interval supports
BADLY_WRITTEN = re.compile(
    r"(?<![\w.,:])(?:[-−+]?0\.(?!0+\b)\d+(?!\d*\s?[A-Z]{3}\b)|[-−+]?\d*\.\d{3,}|\d+\.\d+\s?%|\d+%)(?![\w.])"
)
P_VALUE = re.compile(r"[pP](?:,[^<]{1,12})? (?:= |[<>] )?\.\d{3}\b|[<>]\s?\.\d{3}\b")
# of which two digits count, however small they are
STANDARD_ERRORS = re.compile(r"Standardfehler der mittleren Antwort ist (?:[^.]*\.\d+)+")
# values of a study file, sections of a regulation, a paper's tables, and parts of a score, which add up to it
EXACT = {"change", "ethics", "report", "closer-look"}
KATHMANDU = timedelta(hours=5, minutes=45)
# The clock of the test: in Kathmandu it is the next day. March is written otherwise in German than in English.
NOW = datetime(2026, 3, 5, 20, 30, tzinfo=UTC)
TODAY = re.compile(r"\b5\.\s(?:März|3\.)|2026-03-05|05\.03\.")
# Months that are not German, days without their point, and halves of the day.
FOREIGN_DATES = re.compile(
    r"\bMar(?:ch)?\b\.?\s?\d+|\b\d+\sMärz|\bMärz\s\d{1,2},|\d\s?(?:vorm|nachm|a\.m|p\.m)\.|\b[AP]M\b"
)
CLOCK = re.compile(r"(?<![\d:])([012]\d):([0-5]\d)(?![\d])")


def text_of(shown: str) -> str:
    """What is read on a page: no drawings, fields, quotations or signatures, nor what stands under its name in code."""
    main = shown.split('class="q-page"', 1)[-1]
    main = re.sub(r"<dt><code>.*?</dd>", " ", main)
    main = re.sub(
        r"<(td|p|li|small)\b[^>]* lang=\"en\".*?</\1>", " ", main, flags=re.S
    )  # quoted from the log
    main = re.sub(r"<(script|style|svg|code|pre|textarea|select)\b.*?</\1>", " ", main, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", main)))


def clocks(shown: str) -> Counter[int]:
    """Minutes of the day that a page says, and how often; in drawings too."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", shown.split('class="q-page"', 1)[-1]))
    return Counter(60 * int(hour) + int(minute) for hour, minute in CLOCK.findall(text))


def pages_of(study: Study) -> list[str]:
    return [page(study, name) for name, one in PAGES.items() if one.has_tab(study) and name not in ELSEWHERE]


def votes(unit: Unit, worker: Worker) -> int:
    """``eva`` misses every check question; the others are right on them, and differ on the rest."""
    if unit.control:
        return int(str(unit.expected)) if worker.name != "eva" else 3 - int(str(unit.expected))
    return 1 + (unit.pk + len(worker.name)) % 2


@time_machine.travel(NOW)
@pytest.mark.long
def test_every_page_of_a_study_is_in_german_with_numbers_and_times_as_its_reader_writes_them(
    reader: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = settings.REPORT_ROOT = settings.RELEASE_ROOT = tmp_path
    draft = make_study(
        opened=False, name="Tafel", slug="tafel", quiz={"preset": "hodosh-2013-english"}, access={"join": "invited"},
        crowd={"backend": "external", "reward_cents": 20, "budget_cents": 10}, panel={"preset": "prolific"},
    )  # fmt: skip
    found = problems_at(reader, pages_of(draft))
    study = make_study(
        "pairwise", opened=False, name="Tiere", slug="tiere", judgments_per_unit=2, rules=[RULE], registration=PLAN,
        crowd={"reward_cents": 20, "floor_cents_per_hour": 900}, contact="labor@example.org",
    )  # fmt: skip
    generate_hits(study=study)
    found |= problems_at(reader, [page(study, "launch"), page(study, "planning"), page(study, "register")])
    reader.post(do(study, "register"), {"page": "register", "sure": "on"})
    mark_open(study=study)
    copy_rules(study=study)
    events = ["assignment.submitted", "study.completed", "worker.excluded"]
    reader.post(
        do(study, "add-webhook"), {"page": "webhooks", "url": "https://example.org/", "events": events}
    )
    for name in ("ada", "eva", "bela"):
        work(study, joined(study, name), votes, most=2)
    exclude_worker(study=study, worker=Worker.objects.get(name="eva"), why="Rät nur.")
    replay = f"{page(study, 'replay')}?rule=control-accuracy&least=1&alpha=0"
    found |= problems_at(
        reader, [*pages_of(study), replay, reverse("admin:annotation_spendinglimit_changelist")]
    )
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1", "rouge-l"])
    mark_closed(study=study)
    sent = {"page": "exports", "format": "jsonl", "licence": "CC-BY-4.0", "version": "1.0"}
    for step in ("export", "release"):  # reports are in English, for papers
        reader.post(do(study, step), sent)
    for job in Job.objects.filter(state="queued"):
        run_job(job.pk)
    pair = study.pairs.order_by("pk")[0]
    closer = f"{page(study, 'closer-look')}?id={pair.key}&metric=bleu-1"
    found |= problems_at(reader, [*(page(study, name) for name in FINDINGS), closer])
    said = {address: texts for address, texts in found.items() if texts}
    assert said == {}
    assert len(found) > 35
