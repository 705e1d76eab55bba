"""List the payments that staff upload at a panel. A panel with an API gets them by outbox messages."""

from __future__ import annotations

from collections.abc import Sequence

from common.amounts import spell_cents
from contrib.panel_lists.comparison import ComparedSubmission
from judgments.models import Study


def payment_list(study: Study, submissions: Sequence[ComparedSubmission]) -> list[list[object]]:
    """Return the rows of a CSV file with the submissions to pay at the panel, header first."""
    publications = {publication.pk: publication for publication in study.publications.all()}
    rows: list[list[object]] = [
        ["participant id", "submission id", "amount", "status there", "code there", "why"]
    ]
    for submission in submissions:
        session, line = submission.session, submission.panel_line
        if submission.verdict != "pay" or session is None or line is None:
            continue
        amount = spell_cents(publications[session.publication_id].reward_cents)
        rows.append([line.worker, line.session, amount, line.panel_status, line.code, submission.reason])
    return rows
