"""Commands about designs: create a study from a file, write a study's file, and compare two designs.

To start fast, they load no serializers, and load importers only for options that need them.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from common.commands import QuorumCommand, progress_bar
from common.files import write_lines
from judgments.design.named_designs import find_design
from judgments.design.reading.checking import make_design
from judgments.design.reading.comparing import compare_designs
from judgments.design.reading.study_files import toml_values, write_toml
from judgments.design.saved_presets import load_saved_presets
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.studies import create_study, find_study

TYPICAL_TITLES = 5_000_000  # at this number of titles, the estimate of progress is a half


class CreateStudy(QuorumCommand):
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
            from judgments.importers.tables.inputs import read_pairs

            sampling = values.setdefault("sampling", {})
            if isinstance(sampling, dict):  # another value is refused below
                pairs = [list(pair) for pair in read_pairs(options["pairs"])]
                sampling |= {"pairs_from": "list", "listed": pairs}
        design = make_design(values, saved_presets=load_saved_presets())
        if options["titles"] is not None:
            design = self._with_titles(design, options["titles"])
        study = create_study(design=design)
        self.say(f"Study {study.slug} created as a draft. Next: generate its pages of work.")

    def _with_titles(self, design: StudyDesign, path: Path) -> StudyDesign:
        from judgments.design.editing.titles import with_titles
        from judgments.importers.textio import read_lines

        with progress_bar() as report:
            new_design = with_titles(
                design=design,
                titles=(line.rstrip("\r\n") for _, line in read_lines(path)),
                # the length of the list is unknown, so the fraction is an estimate
                progress=lambda count: report(count / (count + TYPICAL_TITLES), f"{count:,} titles"),
            )
        count = len(new_design.keywords.titles)
        self.say(f"{count:,} title{'' if count == 1 else 's'} of {path} stand in a text of {design.dataset}.")
        return new_design


class ExportStudy(QuorumCommand):
    help = "Write a study's design as TOML, to a file or to standard output."
    example = "manage.py export_study demo-triplet --output triplet.toml"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--output", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        text = write_toml(design_of(find_study(options["study"]))).rstrip("\n")
        if options["output"] is None:
            self.say(text)
        else:
            write_lines(options["output"], text.split("\n"))


class DiffDesigns(QuorumCommand):
    help = (
        "Compare two designs. Each is the slug of a study, SLUG@NUMBER for its design before that entry of its\n"
        "log, the name of a preset, or a study file that ends in .toml."
    )
    example = "manage.py diff_designs demo-triplet vedantam-2015-triplet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("first", metavar="A")
        parser.add_argument("second", metavar="B")
        parser.add_argument("--unified", action="store_true", help="as a unified diff of the two study files")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["first"], options["second"]
        first, second = (find_design(name, studies=Study.objects.all(), files=True) for name in names)
        # a preset has no name, dataset and seed, so these are left out if one of the designs is a preset
        difference = compare_designs(
            first.comparable_values(second), second.comparable_values(first), names=names
        )
        if options["unified"]:
            for line in difference.diff_lines:
                self.say(line)
            return
        if not difference.difference_count:
            self.say("The two designs are the same, key for key.")
        for rows in difference.tables.values():
            for row in rows:
                self.say(row.key)
                self._say_value("-", row.first_value)
                self._say_value("+", row.second_value)

    def _say_value(self, sign: str, value: str) -> None:
        for line in value.splitlines():
            self.say(f"  {sign} {line}")
