"""Replicate a paper's experiment, from files to a report."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings

from common.commands import QuorumCommand, progress_bar
from evaluation.errors import ReplicationError
from evaluation.reports.replication.packs import Pack, pack_named, shipped_packs
from evaluation.reports.replication.running import check_output, run_packs, write_replications
from evaluation.reports.replication.verdicts import tally

ALL = "all"


class Command(QuorumCommand):
    workers_option = "--workers"
    help = (
        "Run a protocol pack: an experiment of a paper again, from its data files to a report with a verdict for\n"
        "every published number. PACK is a shipped one (--list), the path of a folder with pack.toml and pack.py,\n"
        "or all for every shipped one (docs/replication.md). No database is needed."
    )
    example = "manage.py replicate v15-accuracy --data ../shared/data --output v15"
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "pack", metavar="PACK", nargs="?", default="", help="name or folder of a pack, or all"
        )
        parser.add_argument(
            "--output", type=Path, metavar="DIR", help="folder of the report and verdicts.json"
        )
        parser.add_argument(
            "--data", type=Path, metavar="DIR", help="folder of the data (default: replication in DATA_DIR)"
        )
        parser.add_argument(
            "--list", action="store_true", help="say what every pack, or PACK, needs and whether it is there"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        data: Path = options["data"] or Path(settings.DATA_DIR) / "replication"
        name, output = options["pack"], options["output"]
        if options["list"]:
            for pack in shipped_packs() if name in ("", ALL) else [pack_named(name)]:
                self._describe(pack, data)
            return
        if not name or output is None:
            raise ReplicationError("replicate needs a pack and --output DIR, or --list.")
        packs = list(shipped_packs()) if name == ALL else [pack_named(name)]
        check_output(output)
        with progress_bar() as progress:
            done = run_packs(packs, data, progress)
            write_replications(done, output)
        for one in done:
            self.say(f"{one.pack.name}: {tally(one.verdicts)}")
        self.say(f"Written to {output}: report.html, verdicts.json, figures and tables.")

    def _describe(self, pack: Pack, folder: Path) -> None:
        self.say(f"{pack.name}: {pack.contents.title} ({len(pack.numbers)} published numbers)")
        for name, data in pack.contents.data.items():
            inside = folder / (data.path or name)
            there = all((inside / file).is_file() for file in data.files)
            state = "there" if there else "not there, and not required" if data.optional else "NOT THERE"
            self.say(f"  {inside}: {', '.join(data.files)}; {state}")
            self.say(f"    {data.what}, from {data.source}")
