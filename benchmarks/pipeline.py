"""Measure the commands from a dataset to its HITs, as whole processes, and compare them with their limits.

    python -m benchmarks.pipeline ../shared/data

The database is an SQLite database in a temporary folder, or that of DATABASE_URL. The program leaves no files.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def time_command(label: str, at_most: float | None, *arguments: str, folder: Path) -> None:
    """Run one command. Print its wall and CPU seconds, and its limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATA_DIR": str(folder)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    limit = f"at most {at_most:g} s" if at_most else ""
    print(f"{label:52} {wall:7.2f} s wall {cpu:7.2f} s CPU  {limit}")


def write_pool(flickr8k: Path, path: Path) -> None:
    """Write H13's candidate pool: caption number 2 of each test image, as the output of one system."""
    test = set((flickr8k / "Flickr_8k.testImages.txt").read_text().split())
    with (flickr8k / "Flickr8k.token.txt").open() as captions, path.open("w") as out:
        for line in captions:
            key, text = line.rstrip("\n").split("\t")
            image, number = key.split("#")
            if number == "2" and image in test:
                out.write(json.dumps({"image": image, "caption": text}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the published data sets")
    flickr8k = parser.parse_args().data / "flickr8k"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        time_command("migrate", None, "migrate", "-v0", folder=folder)
        time_command(
            "40,460 captions", 15, "import_dataset", "flickr8k", str(flickr8k), "--name", "f", folder=folder
        )
        for what, limit in (("crowd", 15.0), ("expert", None)):
            time_command(
                f"{what} judgments", limit, "import_judgments", f"flickr8k-{what}", str(flickr8k),
                "--dataset", "f", "--study", what, folder=folder,
            )  # fmt: skip
        write_pool(flickr8k, folder / "pool.jsonl")
        time_command(
            "1,000 candidates", None, "import_candidates", "jsonl", str(folder / "pool.jsonl"),
            "--dataset", "f", "--system", "pool", folder=folder,
        )  # fmt: skip
        # a number of the 1,000 images that gives 100,000 pairs: those above the threshold, and further ones
        study = folder / "relevance.toml"
        study.write_text(
            'name = "Relevance"\ndataset = "f"\npreset = "hodosh-2013-relevance"\n'
            '[sampling]\npairs_from = "crossed"\nimages = 660\n'
        )
        time_command("create the study", None, "create_study", str(study), folder=folder)
        time_command("100,000 units, Bleu-pre included", 20, "generate_hits", "relevance", folder=folder)


if __name__ == "__main__":
    main()
