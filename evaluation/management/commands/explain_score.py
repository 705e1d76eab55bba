"""Explain a metric's score of one caption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from common.commands import QuorumCommand
from common.errors import QuorumError
from common.files import write_json
from evaluation.error_analysis.analysis import explain_metric, find_inspected, newest_evaluation
from evaluation.metrics import MetricsError
from evaluation.metrics.registry import EXPLAINED, explain
from evaluation.metrics.text import TOKENIZERS
from judgments.studies.studies import find_study

if TYPE_CHECKING:
    from evaluation.metrics.explanation import Explanation

HELP = f"""\
Where a metric's score of a caption comes from: each n-gram with how often it is matched, which references hold
it, what it weighs and what it adds, and the factors of the whole. What is added sums to the score.

Either a caption and its references are given, or a STUDY with the id of a pair or unit of it, whose stored
scores are then taken apart, document frequencies and all. Metrics: {", ".join(EXPLAINED)}.

CIDEr weighs n-grams by how many images' references hold them. Beside a caption alone there are no other
images, so that every n-gram weighs 0: --documents PATH names a file of references to count in.
"""
SHOWN = 20  # n-grams; the JSON has all


class Command(QuorumCommand):
    help = HELP
    example = 'manage.py explain_score --candidate "A dog runs" --reference "The dog is running"'
    named_errors = (QuorumError, MetricsError)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?", metavar="STUDY", help="slug of a study with computed metrics")
        parser.add_argument(
            "--id", metavar="ID", help="a candidate pair of the study, or an image-caption unit"
        )
        parser.add_argument("--candidate", metavar="TEXT", help="the caption")
        parser.add_argument(
            "--reference",
            metavar="TEXT",
            action="append",
            default=[],
            help="what a person wrote; may be repeated",
        )
        parser.add_argument(
            "--documents", type=Path, metavar="PATH", help="references of many images, as score takes them"
        )
        parser.add_argument(
            "--metrics",
            metavar="LIST",
            help="names with commas between them (default bleu-4; of a study all)",
        )
        parser.add_argument(
            "--tokenizer",
            metavar="NAME",
            default="ptb",
            help=f"{', '.join(TOKENIZERS)} (default %(default)s)",
        )
        self.add_output(parser, metavar="PATH", help="write the JSON here")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path | None = options["output"]
        given = [name.strip() for name in (options["metrics"] or "").split(",") if name.strip()]
        if bool(options["study"]) == bool(options["candidate"]):
            raise CommandError("Either STUDY with --id, or --candidate with --reference is expected.")
        found = list(
            _of_study(options, given) if options["study"] else _of_texts(options, given or ["bleu-4"])
        )
        if output is not None:
            rows = [{"caption": text, **asdict(one)} for text, one in found]
            write_json(output, {"explanations": rows})
            self.stdout.write(f"Written to {output}.")
            return
        for text, one in found:
            self.stdout.write("\n".join(_lines(text, one)))


def _of_texts(options: dict[str, Any], metrics: list[str]) -> Iterator[tuple[str, Explanation]]:
    if not options["reference"]:
        raise CommandError("--candidate needs at least one --reference.")
    documents = None
    if options["documents"] is not None:
        from evaluation.metrics.files import read_references

        documents = list(read_references(options["documents"]).values())
    for metric in metrics:
        yield (
            options["candidate"],
            explain(
                options["candidate"],
                options["reference"],
                metric,
                tokenizer=options["tokenizer"],
                documents=documents,
            ),
        )


def _of_study(options: dict[str, Any], metrics: list[str]) -> Iterator[tuple[str, Explanation]]:
    study = find_study(options["study"])
    if not options["id"]:
        raise CommandError("STUDY needs --id: a candidate pair, or an image-caption unit.")
    analysis = newest_evaluation(study)
    if analysis is None:
        raise CommandError(f"Study {study.slug!r} has no stored scores; run evaluate {study.slug} first.")
    inspection = find_inspected(study, options["id"])
    for metric in metrics or [name for name in analysis.result["metrics"] if name in EXPLAINED]:
        found = explain_metric(study, analysis, inspection, metric)
        if found.why_not:
            raise CommandError(found.why_not)
        for caption, one in zip(inspection.captions, found.explanations, strict=True):
            yield caption.text, one


def _lines(text: str, one: Explanation) -> Iterator[str]:
    yield f"{one.metric} {one.score:.6f}  {text}"
    yield f"  {one.words}"
    for warning in one.warnings:
        yield f"  Note: {warning}."
    yield f"  {'adds':>10}  {'matched':>9}  {'idf':>6}  references  n-gram"
    parts = sorted(one.parts, key=lambda part: -part.contribution)
    for part in parts[:SHOWN]:
        matched = f"{part.matched:g} of {part.count}" if part.count else ""
        idf = "" if part.idf is None else f"{part.idf:.3f}"
        held = ",".join(str(at + 1) for at in part.references[:4]) + ("…" if len(part.references) > 4 else "")
        note = f"  ({part.note})" if part.note else ""
        yield f"  {part.contribution:10.6f}  {matched:>9}  {idf:>6}  {held:<10}  {part.words}{note}"
    if len(parts) > SHOWN:
        yield f"  and {len(parts) - SHOWN} more, in the JSON of --output"
    for factor in one.factors:
        yield f"  {factor.name}: {factor.value:.4f} ({factor.words})"
