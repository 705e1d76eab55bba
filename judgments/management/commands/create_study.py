"""Create a study from a study file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from judgments.datasets.importing import with_titles
from judgments.design.reading import make_design, toml_values
from judgments.design.saved_presets import saved_presets
from judgments.design.study_design import StudyDesign
from judgments.importers import read_pairs
from judgments.importers.textio import read_lines
from judgments.studies.studies import create_study


class Command(QuorumCommand):
    help = "Create a study from a TOML file (docs/study-files.md)."
    example = "manage.py create_study demo/studies/triplet.toml"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--titles",
            type=Path,
            metavar="PATH",
            help="keywords: a list of titles, one a line, may be gzipped; those whose words stand in a text of the "
            "dataset are kept in the design and offered as phrases",
        )
        parser.add_argument(
            "--pairs",
            type=Path,
            metavar="PATH",
            help="relevance, graded, slider: the pairs that are judged, JSON lines or CSV with the columns image and "
            "caption (a caption's id or text)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        values = toml_values(path.read_text(encoding="utf-8-sig"), source=str(path))
        if options["pairs"] is not None:
            values["sampling"] = values.get("sampling", {}) | {
                "pairs_from": "list",
                "listed": [list(pair) for pair in read_pairs(options["pairs"])],
            }
        design = make_design(values, saved=saved_presets())
        if options["titles"] is not None:
            design = self._with_titles(design, options["titles"])
        study = create_study(design=design)
        self.say(f"Study {study.slug} created as a draft. Next: generate its HITs.")

    def _with_titles(self, design: StudyDesign, path: Path) -> StudyDesign:
        with progress_bar() as report:
            found = with_titles(
                design=design,
                titles=(line.rstrip("\r\n") for _, line in read_lines(path)),
                # how long the list is nobody knows before its end
                progress=lambda read: report(read / (read + 5_000_000), f"{read:,} titles"),
            )
        count = len(found.keywords.titles)
        self.say(f"{count:,} title{'' if count == 1 else 's'} of {path} stand in a text of {design.dataset}.")
        return found
