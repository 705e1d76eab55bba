"""Studies that a panel sends people to, and the browsers they come with."""

import re
from typing import Any

from django.db.models import QuerySet
from django.test import Client

from annotation.crowds.opening import open_study
from annotation.crowds.panel.sessions import completion_code_for
from annotation.crowds.qualifications import give_qualification, workers_by_crowd_ids
from annotation.models import Assignment, CrowdSession, LedgerEntry, Publication
from annotation.money.ledger import ledger_sums, reserved_cents
from judgments.models import Study, StudyEvent
from judgments.studies.designs import design_of
from tests.annotation.casting import make_dataset, make_study
from tests.crowd import first_answers

ADA = {
    "PROLIFIC_PID": "5ed1ada00000000000000001",
    "SESSION_ID": "6f0c5e55000000000000000a",
    "STUDY_ID": "st1",
}
BOB = {
    "PROLIFIC_PID": "5ed1b0b00000000000000002",
    "SESSION_ID": "6f0c5e55000000000000000b",
    "STUDY_ID": "st1",
}
EVE = {
    "PROLIFIC_PID": "5ed1e0e00000000000000003",
    "SESSION_ID": "6f0c5e55000000000000000c",
    "STUDY_ID": "st1",
}


def panel_study(
    *,
    preset: str = "prolific",
    hits: int = 1,
    reward: int = 50,
    budget: int = 100_000,
    opened: bool = True,
    **values: Any,
) -> Study:
    """A study of one to three HITs for a panel, two judgments a unit; ``values`` are keys of the study file.

    Its links are not signed.
    """
    panel = {"preset": preset, "hits": hits, "signature": ""} | values.pop("panel", {})
    crowd = {"backend": "external", "reward_cents": reward, "budget_cents": budget, "fee_percent": 30.0}
    study = make_study(
        make_dataset(values.pop("dataset", "shapes"), pictures=False),
        opened=False,
        crowd=crowd | values.pop("crowd", {}),
        panel=panel,
        **values,
    )
    if opened:
        open_study(study=study)
        study.refresh_from_db()
    return study


def entry(study: Study, ids: dict[str, str], client: Client | None = None) -> Any:
    """The page that the panel's link leads to."""
    return (client or Client()).get(f"/s/{study.slug}/panel/", ids)


def seal_on(page: Any) -> str:
    """The hidden ids of that page."""
    found = re.search(r'name="seal" value="([^"]+)"', page.content.decode())
    assert found is not None, page.content.decode()
    return found[1]


def start(
    study: Study, ids: dict[str, str], client: Client | None = None, **fields: str
) -> tuple[Client, Any]:
    """Follow the link and press Start; the browser, and the answer."""
    client = client or Client()
    page = entry(study, ids, client)
    assert page.status_code == 200, page.content.decode()
    return client, client.post(f"/s/{study.slug}/panel/", {"seal": seal_on(page)} | fields)


def do_page(study: Study, client: Client) -> Any:
    """Answer the page of work that this browser gets, and submit it; what comes then."""
    page = client.get(f"/s/{study.slug}/work/")
    assert page.status_code == 200, (page.status_code, page.get("Location"))
    html = page.content.decode()
    found = re.search(r"/work/([0-9a-f-]{36})/submit/", html)
    assert found is not None
    return client.post(f"/s/{study.slug}/work/{found[1]}/submit/", first_answers(html), follow=True)


def session(study: Study, **filters: Any) -> CrowdSession:
    """The one session of the study."""
    return CrowdSession.objects.get(study=study, **filters)


def publication(study: Study) -> Publication:
    """What the study was put up as."""
    return Publication.objects.get(study=study)


def pages(study: Study, state: str) -> int:
    """How many of its pages of work are in a state."""
    return Assignment.objects.filter(study=study, state=state).count()


def budget_agrees(study: Study) -> None:
    """The counters, the ledger and what keeps money say the same."""
    budget = study.budgets.get()
    assert ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
    assert reserved_cents(budget) == budget.reserved_cents


def completed(study: Study) -> str:
    return completion_code_for(study, design_of(study), "completed")


def at_work(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        start(study, ids)


def done(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        client, _ = start(study, ids)
        do_page(study, client)


def rows_of(*tables: QuerySet[Any]) -> list[list[Any]]:
    return [list(table.order_by("pk").values()) for table in tables]


def everything() -> list[list[Any]]:
    """All rows that a booking could touch."""
    return rows_of(
        CrowdSession.objects.all(),
        Assignment.objects.all(),
        LedgerEntry.objects.all(),
        StudyEvent.objects.all(),
    )


def give(study: Study, *ids: str, name: str = "pilot", value: int = 1) -> None:
    give_qualification(
        study=study, workers=workers_by_crowd_ids(study=study, ids=ids), name=name, value=value
    )
