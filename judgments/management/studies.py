"""The command that generates a study's pages of work."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.amounts import with_noun
from common.commands import progress_bar
from common.errors import WrongState
from common.files import check_writable_path, write_lines
from judgments.drawing.material import Batch
from judgments.management.base import OperationCommand
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch
from judgments.studies.generation.lines import batch_lines
from judgments.studies.operations import generate


class GenerateHits(OperationCommand):
    operation = generate
    help = "Generate a study's pages of work, with its items and check questions."
    example = "manage.py generate_hits triplets-50 --output hits.jsonl"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", type=Path, help="also write them as canonical JSON lines")

    def handle(self, *args: Any, **options: Any) -> None:
        study, values = self.study_and_values(options)
        output: Path | None = options["output"]
        if output is not None:
            check_writable_path(output)
        was_generated = study.state != Study.State.DRAFT and study.source == Study.Source.DESIGNED
        if was_generated and output is not None:
            batch = self._draw_again(study)
            self.say(
                f"Study {study.slug} has its pages of work already; they are written again, nothing was generated."
            )
        else:
            with progress_bar() as progress:
                batch = self.operation.run(study, values, by=None, progress=progress).value
        if output is not None:
            write_lines(output, batch_lines(batch, design_of(study)))
        self.say(
            f"Study {study.slug}: {with_noun(len(batch.hits), 'page')} of work, {with_noun(batch.unit_count, 'item')}, "
            f"{with_noun(batch.control_count, 'check question')}."
        )

    def _draw_again(self, study: Study) -> Batch:
        """Return the batch of a generated study. Raise WrongState if its dataset would now give another batch."""
        batch = build_batch(design_of(study), study.dataset, maker=study.created_by_id)
        stored_keys = study.hits.order_by("position").values_list("key", flat=True)
        if list(stored_keys) != [hit.key for hit in batch.hits]:
            raise WrongState(
                f"Study {study.slug!r} was generated before its dataset changed; its pages of work cannot be "
                "generated again."
            )
        return batch
