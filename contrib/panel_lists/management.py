"""The command ``reconcile_panel``. It imports its modules when it runs, so that other commands start fast."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.commands import QuorumCommand
from common.files import atomic_write, check_writable_path, write_json
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study

if TYPE_CHECKING:
    from contrib.panel_lists.comparison import ComparedSubmission

# the verdicts on the lines of a panel's list, in the order in which the command prints their numbers
VERDICT_TEXTS = {
    "pay": "to pay",
    "no": "not to pay",
    "wait": "in progress",
    "paid": "paid",
    "only-there": "only in the list",
    "only-here": "only here",
}


class ReconcilePanel(QuorumCommand):
    help = "Compare a panel's list of submissions (CSV) with what people did here: whom to pay, and why not."
    example = "manage.py reconcile_panel triplets-50 prolific_export.csv --payments pay.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        from contrib.panel_lists.submission_list import LIST_COLUMNS

        parser.add_argument("study")
        parser.add_argument("submissions", type=Path, help="the panel's CSV")
        for kind in LIST_COLUMNS:
            parser.add_argument(
                f"--{kind}-column", default="", metavar="NAME", help=f"the column that holds the {kind}"
            )
        parser.add_argument("--output", type=Path, metavar="PATH", help="write every line as JSON")
        parser.add_argument("--payments", type=Path, metavar="PATH", help="write whom to pay as CSV")
        parser.add_argument("--book", action="store_true", help="book what the panel decided")
        parser.add_argument(
            "--approve", action="store_true", help="with --book: approve here, too, all that are to pay"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from annotation.crowds.panel.payouts import as_csv
        from contrib.panel_lists import booking, comparison, payments, submission_list
        from judgments.importers.textio import read_whole

        for name in ("output", "payments"):
            if options[name]:
                check_writable_path(options[name])
        study = find_study(options["study"])
        columns = {kind: options[f"{kind}_column"] for kind in submission_list.LIST_COLUMNS}
        text = read_whole(options["submissions"])
        submissions = submission_list.read_submissions(text, design_of(study).panel, columns=columns)
        compared_submissions = comparison.compare_panel_list(study=study, submissions=submissions)
        verdict_counts = Counter(submission.verdict for submission in compared_submissions)
        for verdict, verdict_text in VERDICT_TEXTS.items():
            if verdict_counts[verdict]:
                self.say(f"{verdict_counts[verdict]:,} {verdict_text}")
        for submission in compared_submissions:
            if submission.is_contradictory:
                session = submission.session
                person = submission.panel_worker_id or (session and session.worker)
                self.say(f"  look at {person}: {submission.reason}")
        if options["output"]:
            write_json(
                options["output"],
                {"study": study.slug, "submissions": list(map(_as_json, compared_submissions))},
            )
        if options["payments"]:
            with atomic_write(options["payments"]) as file:
                file.write_text(as_csv(payments.payment_list(study, compared_submissions)))
        if options["book"]:
            totals = booking.book_list(study=study, submissions=submissions, approve=options["approve"])
            self.say(
                f"Recorded: {totals.approved} approved, {totals.rejected} rejected, {totals.ended} ended."
            )


def _as_json(submission: ComparedSubmission) -> dict[str, Any]:
    """Return a compared submission as ``--output`` writes it. "here" is its status in Quorum, "there" at the panel."""
    session, panel_line = submission.session, submission.panel_line
    return {
        "worker": session.worker.name if session else None,
        "id": submission.panel_worker_id,
        "submission": panel_line.session if panel_line else None,
        "here": session.status if session else None,
        "there": panel_line.panel_status if panel_line else None,
        "code": panel_line.code if panel_line else None,
        "verdict": submission.verdict,
        "reason": submission.reason,
        "books": submission.new_status,  # the status that ``--book`` gives the session; "" if it stays
        "odd": submission.is_contradictory,
    }
