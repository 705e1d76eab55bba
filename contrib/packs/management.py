"""The command that replicates a paper's experiment."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from common.commands import QuorumCommand, progress_bar

if TYPE_CHECKING:
    from contrib.packs.reading import Pack

ALL_PACKS = "all"


class Replicate(QuorumCommand):
    workers_option = "--workers"  # the number of processes
    help = (
        "Run a protocol pack: an experiment of a paper again, from its data files to a report with a verdict for\n"
        "every published number. PACK is a shipped one (--list), the path of a folder with pack.toml and pack.py,\n"
        "or all for every shipped one (contrib/packs/README.md). No database is needed."
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
        from contrib.packs.reading import ReplicationError, pack_named, shipped_packs

        data: Path = options["data"] or Path(settings.DATA_DIR) / "replication"
        name, output = options["pack"], options["output"]
        if options["list"]:
            for pack in shipped_packs() if name in ("", ALL_PACKS) else [pack_named(name)]:
                self._describe_pack(pack, data)
            return
        if not name or output is None:
            raise ReplicationError("replicate needs a pack and --output DIR, or --list.")
        packs = list(shipped_packs()) if name == ALL_PACKS else [pack_named(name)]
        from contrib.packs import report, running, verdict_tables

        report.check_output(output)
        with progress_bar() as progress:
            replications = running.run_packs(packs, data, progress)
            report.write_replications(replications, output)
        for replication in replications:
            self.say(
                f"{replication.pack.name}: {verdict_tables.describe_verdict_counts(replication.verdicts)}"
            )
        count_without_tables = sum(
            verdict.why == running.NO_METEOR_TABLES
            for replication in replications
            for verdict in replication.verdicts
        )
        if count_without_tables:
            self.say(f"{count_without_tables} numbers more with {running.METEOR_TABLES_HELP}")
        self.say(f"Written to {output}: report.html, verdicts.json, figures and tables.")

    def _describe_pack(self, pack: Pack, folder: Path) -> None:
        self.say(f"{pack.name}: {pack.contents.title} ({len(pack.numbers)} published numbers)")
        for name, data in pack.contents.data.items():
            data_folder = folder / (data.path or name)
            is_there = all((data_folder / file).is_file() for file in data.files)
            state = "there" if is_there else "not there, and not required" if data.optional else "NOT THERE"
            if not data.has_known_format:
                state += f", NOT READABLE without the format {data.format}"
            self.say(f"  {data_folder}: {', '.join(data.files)}; {state}")
            self.say(f"    {data.what}, from {data.source}")
