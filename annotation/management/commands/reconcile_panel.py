"""Compare a panel's list with the study's sessions."""

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from annotation.crowds.panel.reconciling import (
    KINDS,
    as_csv,
    book_list,
    compare,
    payment_list,
    read_submissions,
)
from common.commands import QuorumCommand
from common.files import check_place, whole_file, write_json
from judgments.importers.textio import read_whole
from judgments.studies.studies import design_of, find_study

WORDS = {
    "pay": "to pay",
    "no": "not to pay",
    "wait": "under way",
    "paid": "paid",
    "only-there": "only in the list",
    "only-here": "only here",
}


class Command(QuorumCommand):
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
        counts = Counter(one.verdict for one in compared)
        for verdict, words in WORDS.items():
            if counts[verdict]:
                self.say(f"{counts[verdict]:,} {words}")
        for one in compared:
            if one.odd:
                self.say(f"  look at {one.raw or (one.here and one.here.worker)}: {one.reason}")
        if options["output"]:
            write_json(
                options["output"], {"study": study.slug, "submissions": [_as_json(one) for one in compared]}
            )
        if options["payments"]:
            with whole_file(options["payments"]) as file:
                file.write_text(as_csv(payment_list(study, compared)))
        if options["book"]:
            booked = book_list(study=study, submissions=submissions, approve=options["approve"])
            self.say(f"Booked: {booked.approved} approved, {booked.rejected} rejected, {booked.ended} ended.")


def _as_json(one: Any) -> dict[str, Any]:
    return {
        "worker": one.here.worker.name if one.here else None,
        "id": one.raw,
        "submission": one.there.session if one.there else None,
        "here": one.here.status if one.here else None,
        "there": one.there.panel_status if one.there else None,
        "code": one.there.code if one.there else None,
        "verdict": one.verdict,
        "reason": one.reason,
        "books": one.books,
        "odd": one.odd,
    }
