"""Commands about crowds, what they may cost, and webhooks."""

import json
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from annotation.crowds.base import CrowdProblem
from annotation.crowds.operations import sync
from annotation.crowds.panel.reconciling import (
    KINDS,
    as_csv,
    book_list,
    compare,
    payment_list,
    read_submissions,
)
from annotation.crowds.prolific.notifications import subscribe
from annotation.money.limits import SET_LIMITS, set_limits
from annotation.money.operations import LimitsRequest
from annotation.webhooks.webhooks import send_webhooks
from common.commands import QuorumCommand
from common.errors import QuorumError
from common.files import check_place, whole_file, write_json
from judgments.importers.textio import read_whole
from judgments.management.base import OperationCommand, add_parameters, as_text
from judgments.studies.studies import design_of, find_study


class SyncCrowd(OperationCommand):
    operation = sync
    help = "Bring a study and its crowd together; may be run at any time, any number of times."
    example = "manage.py sync_crowd triplets-50 --output report.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="PATH", type=Path, help="the report as JSON")
        parser.add_argument(
            "--thorough",
            action="store_true",
            help="look at all work, also where nothing seems to have happened",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        synced = self.operation.run(study, {}, by=None, thorough=options["thorough"]).value
        if options["output"]:
            text = json.dumps(synced.as_json(), indent=2, ensure_ascii=False) + "\n"
            options["output"].write_text(text, encoding="utf-8")
        states = ", ".join(f"{count} {state}" for state, count in synced.assignments.items()) or "none"
        self.say(f"{synced.hits} HITs at the crowd; assignments: {states}.")
        for discrepancy in synced.discrepancies:
            self.say(f"{discrepancy.kind}: {discrepancy.words}")


class SubscribeProlific(QuorumCommand):
    help = (
        "Let Prolific call this server when a submission or a study changed; print the secret that signs it."
    )
    example = "manage.py subscribe_prolific"
    named_errors = (QuorumError, CrowdProblem)

    def handle(self, *args: Any, **options: Any) -> None:
        secret, new = subscribe()
        self.say(f"Subscribed to {', '.join(new)}." if new else "Everything was subscribed to before.")
        if secret != settings.PROLIFIC_HOOK_SECRET:
            self.say(f"Set this and restart: PROLIFIC_HOOK_SECRET={secret}")


class SetLimits(QuorumCommand):
    help = "Set all limits of an account, or of the installation, in one currency (docs/roles.md)."
    example = "manage.py set_limits --by root --currency USD --day-cents 50000 --confirm-cents 10000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--by",
            required=True,
            metavar="NAME",
            help="account that may set limits; the admin's history has it",
        )
        add_parameters(parser, LimitsRequest())

    def handle(self, *args: Any, **options: Any) -> None:
        values = LimitsRequest.read(as_text(LimitsRequest(), options))
        by = User.objects.filter(username=options["by"], is_active=True).first()
        if by is None or not by.has_perms(SET_LIMITS):
            raise CommandError(f"Nothing was changed: no account {options['by']!r} may set limits.")
        self.say(f"The limits are set: {set_limits(by=by, **values)}.")


VERDICT_TEXTS = {
    "pay": "to pay",
    "no": "not to pay",
    "wait": "under way",
    "paid": "paid",
    "only-there": "only in the list",
    "only-here": "only here",
}


class ReconcilePanel(QuorumCommand):
    help = "Compare a panel's list of submissions (CSV) with what people did here: whom to pay, and why not."
    example = "manage.py reconcile_panel triplets-50 prolific_export.csv --payments pay.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("submissions", type=Path, help="the panel's CSV")
        for kind in KINDS:
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
        for name in ("output", "payments"):
            if options[name]:
                check_place(options[name])
        study = find_study(options["study"])
        columns = {kind: options[f"{kind}_column"] for kind in KINDS}
        text = read_whole(options["submissions"])
        submissions = read_submissions(text, design_of(study).panel, columns=columns)
        compared = compare(study=study, submissions=submissions)
        counts = Counter(submission.verdict for submission in compared)
        for verdict, verdict_text in VERDICT_TEXTS.items():
            if counts[verdict]:
                self.say(f"{counts[verdict]:,} {verdict_text}")
        for submission in compared:
            if submission.odd:
                self.say(
                    f"  look at {submission.raw or (submission.here and submission.here.worker)}: {submission.reason}"
                )
        if options["output"]:
            write_json(
                options["output"],
                {"study": study.slug, "submissions": [_as_json(submission) for submission in compared]},
            )
        if options["payments"]:
            with whole_file(options["payments"]) as file:
                file.write_text(as_csv(payment_list(study, compared)))
        if options["book"]:
            booked = book_list(study=study, submissions=submissions, approve=options["approve"])
            self.say(f"Booked: {booked.approved} approved, {booked.rejected} rejected, {booked.ended} ended.")


def _as_json(submission: Any) -> dict[str, Any]:
    return {
        "worker": submission.here.worker.name if submission.here else None,
        "id": submission.raw,
        "submission": submission.there.session if submission.there else None,
        "here": submission.here.status if submission.here else None,
        "there": submission.there.panel_status if submission.there else None,
        "code": submission.there.code if submission.there else None,
        "verdict": submission.verdict,
        "reason": submission.reason,
        "books": submission.books,
        "odd": submission.odd,
    }


class SendWebhooks(QuorumCommand):
    help = "Send now what is due to webhooks; the background worker does so by itself."
    example = "manage.py send_webhooks"

    def handle(self, *args: Any, **options: Any) -> None:
        delivered = send_webhooks()
        self.say(f"{delivered:,} message{'' if delivered == 1 else 's'} delivered.")
