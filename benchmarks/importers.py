"""Measure the speed of the readers, and the memory that they need in addition to the rows that they yield.

    python -m benchmarks.importers ../shared/data
    python -m benchmarks.importers            # generated files only

The rows are discarded. Other benchmarks measure the time to store them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from judgments.importers import ColumnMapping, open_candidates, open_dataset, open_judgments

LINES = 200_000


def print_throughput(label: str, rows: Callable[[], Iterator[object]]) -> None:
    """Print rows, seconds and rows per second of one pass, and the peak memory of another pass."""
    start = time.perf_counter()
    count = sum(1 for _ in rows())
    seconds = time.perf_counter() - start
    tracemalloc.start()
    for _ in rows():
        continue
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"{label:34} {count:9,} rows {seconds:7.2f} s {count / seconds:12,.0f} rows/s {peak:8.1f} MB peak")


def import_published_sets(data: Path) -> None:
    coco = data / "coco-captions"
    flickr, pascal, abstract = data / "flickr8k", data / "pascal-50s", data / "abstract-50s"
    print_throughput("flickr8k captions", lambda: open_dataset("flickr8k", flickr).references())
    print_throughput("flickr8k expert grades", lambda: open_judgments("flickr8k-expert", flickr).judgments())
    print_throughput("flickr8k crowd judgments", lambda: open_judgments("flickr8k-crowd", flickr).judgments())
    print_throughput(
        "coco captions", lambda: open_dataset("coco", coco / "captions_karpathy_test4.json").references()
    )
    print_throughput(
        "coco results", lambda: open_candidates("coco", coco / "human_results.json").candidates()
    )
    print_throughput("pascal-50s references", lambda: open_dataset("pascal-50s", pascal).references())
    print_throughput("pascal-50s pairs", lambda: open_dataset("pascal-50s", pascal).pairs())
    print_throughput(
        "pascal-50s pairwise votes",
        lambda: open_judgments("pascal-50s", pascal, protocol="pairwise").judgments(),
    )
    print_throughput("abstract-50s triplets", lambda: open_judgments("abstract-50s", abstract).judgments())


def import_generated_files(folder: Path, lines: int) -> None:
    """Write tables of `lines` records, with five captions per image and three judgments per unit."""
    captions, judgments = folder / "d.jsonl", folder / "j.csv"
    with captions.open("w", encoding="utf-8") as stream:
        for n in range(lines):
            row = {"image": f"{n // 5:08}.jpg", "caption": f"A dog runs through the snow {n}"}
            stream.write(json.dumps(row) + "\n")
    with judgments.open("w", encoding="utf-8") as stream:
        stream.write("unit,worker,protocol,image,first,value\n")
        for n in range(lines):
            stream.write(f"u{n // 3},w{n % 3},relevance,{n // 30}.jpg,c{n // 3},{n % 2}\n")
    results = folder / "results.csv"
    with results.open("w", encoding="utf-8") as stream:
        stream.write("HITId,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,Input.image,Answer.choice\n")
        for n in range(lines):
            when = "Wed Nov 20 21:03:26 PST 2019"
            stream.write(f"h{n // 3},a{n},w{n % 3},Approved,{when},{n // 3}.jpg,{n % 2}\n")
    chosen = ColumnMapping(columns={"image": "Input.image", "value": "Answer.choice"})
    print_throughput(
        "mturk judgments",
        lambda: open_judgments("mturk", results, protocol="relevance", mapping=chosen).judgments(),
    )
    print_throughput("jsonl dataset", lambda: open_dataset("jsonl", captions).references())
    print_throughput("csv judgments", lambda: open_judgments("csv", judgments).judgments())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of the published data sets")
    if data := parser.parse_args().data:
        import_published_sets(data)
    with tempfile.TemporaryDirectory() as scratch:
        import_generated_files(Path(scratch), LINES)
