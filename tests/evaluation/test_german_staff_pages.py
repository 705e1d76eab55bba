"""A study's pages in German, from the draft to its findings: no English sentence is left on them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import Worker
from annotation.quality.flags import exclude_worker
from annotation.quality.rules import copy_rules
from annotation.webhooks.webhooks import EVENTS
from evaluation.dashboard.snapshot import compute_snapshot, store_snapshot
from evaluation.results.aggregation import aggregate_study
from evaluation.results.meta_evaluation import evaluate_study
from judgments.jobs import run_job
from judgments.models import Job, Study, Unit
from judgments.studies.generation import generate_hits
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


def english_at(reader: Client, addresses: Iterable[str]) -> dict[str, list[str]]:
    """Address -> the English on its page; names of licences are no sentences."""
    found = {}
    for address in addresses:
        answer = reader.get(address)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            said = english_on(answer.content.decode(), staff=True)
            found[address] = [text for text in said if not text.startswith("CC-")]
    return found


def pages_of(study: Study) -> list[str]:
    return [page(study, name) for name, one in PAGES.items() if one.shown(study) and name not in ELSEWHERE]


def votes(unit: Unit, worker: Worker) -> int:
    """``eva`` misses every check question; the others are right on them, and differ on the rest."""
    if unit.control:
        return int(str(unit.expected)) if worker.name != "eva" else 3 - int(str(unit.expected))
    return 1 + (unit.pk + len(worker.name)) % 2


def test_no_page_of_a_study_says_anything_in_english(reader: Client, settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_ROOT = settings.REPORT_ROOT = settings.RELEASE_ROOT = tmp_path
    draft = make_study(
        opened=False, name="Tafel", slug="tafel", quiz={"preset": "hodosh-2013-english"}, access={"join": "invited"},
        crowd={"backend": "external", "reward_cents": 20, "budget_cents": 10}, panel={"preset": "prolific"},
    )  # fmt: skip
    found = english_at(reader, pages_of(draft))
    study = make_study(
        "pairwise", opened=False, name="Tiere", slug="tiere", judgments_per_unit=2, rules=[RULE], registration=PLAN,
        crowd={"reward_cents": 20, "floor_cents_per_hour": 900}, contact="labor@example.org",
    )  # fmt: skip
    generate_hits(study=study)
    found |= english_at(reader, [page(study, "launch"), page(study, "planning"), page(study, "register")])
    reader.post(do(study, "register"), {"page": "register", "sure": "on"})
    mark_open(study=study)
    copy_rules(study=study)
    reader.post(
        do(study, "add-webhook"), {"page": "webhooks", "url": "https://example.org/", "events": list(EVENTS)}
    )
    for name in ("ada", "eva", "bela"):
        work(study, joined(study, name), votes, most=2)
    store_snapshot(compute_snapshot(study=study))
    exclude_worker(study=study, worker=Worker.objects.get(name="eva"), why="Rät nur.")
    replay = f"{page(study, 'replay')}?rule=control-accuracy&least=1&alpha=0"
    found |= english_at(
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
    found |= english_at(reader, [*(page(study, name) for name in FINDINGS), closer])
    said = {address: texts for address, texts in found.items() if texts}
    assert said == {}
    assert len(found) > 35
