"""Measure the processor time and the memory that sampling and storing the HITs of a study take.

    python -m benchmarks.generating                                # a million units of each protocol
    python -m benchmarks.generating --units 100000 --only triplet

``graded`` and ``relevance`` combine as many images as captions, with five references each. ``triplet`` samples pairs of
images with twenty references and three systems. Each HIT has a control item or a control image. The database is an
SQLite database in a temporary folder, or the empty database of DATABASE_URL (with scripts/with-services: PostgreSQL),
without the time of the server. Each study is generated in a new process, and memory in use before is subtracted.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.export import peak_memory, set_up

PROTOCOLS = ("graded", "relevance", "triplet")
WORDS = tuple(f"word{number}" for number in range(400))
CROSSED_REFERENCES, TRIPLET_REFERENCES = 5, 20
SYSTEMS = ("one", "two", "three")
PAIRS = {"HM": 0.75, "MM": 0.25}


def design_of(protocol: str, units: int) -> dict[str, Any]:
    design: dict[str, Any] = {"name": protocol, "dataset": protocol, "protocol": protocol, "seed": 1}
    design |= {"controls": {"per_hit": 1}}
    if protocol == "triplet":
        pairs = units // TRIPLET_REFERENCES
        return design | {"sampling": {"pairs": {kind: int(pairs * share) for kind, share in PAIRS.items()}}}
    return design | {"sampling": {"pairs_from": "crossed"}}


def fill_dataset(protocol: str, units: int) -> None:
    """Make the dataset and the draft. A tenth of the images become control items."""
    import numpy as np

    from common.rows.writing import insert_rows
    from judgments.design.reading.checking import make_design
    from judgments.models import Caption, Dataset, Item, Output, System
    from judgments.studies.studies import create_study

    rng = np.random.default_rng(1)
    triplet = protocol == "triplet"
    images = units // (TRIPLET_REFERENCES * 4) + 1 if triplet else math.isqrt(units)
    images += images // 9 + 1
    references, systems = (TRIPLET_REFERENCES, SYSTEMS) if triplet else (CROSSED_REFERENCES, SYSTEMS[:1])
    dataset = Dataset.objects.create(name=protocol, source_format="jsonl", fingerprint="")
    names = [f"{at:06}.jpg" for at in range(images)]
    insert_rows(
        Item, ("dataset_id", "name", "position"), ((dataset.pk, name, at) for at, name in enumerate(names))
    )
    items = dict(Item.objects.filter(dataset=dataset).values_list("name", "pk"))

    def sentence(*tags: int) -> str:
        picked = rng.integers(0, len(WORDS), size=8).tolist()
        return f"{' '.join(WORDS[at] for at in picked)} {' '.join(map(str, tags))} ."

    insert_rows(
        Caption,
        ("dataset_id", "item_id", "key", "text", "role", "position"),
        (
            (dataset.pk, items[name], f"{name}#{n}", sentence(at, n), "reference", n)
            for at, name in enumerate(names)
            for n in range(references)
        ),
    )
    insert_rows(
        Caption,
        ("dataset_id", "key", "text", "role"),
        (
            (dataset.pk, f"c-{at:06}-{n}", sentence(at, n), "candidate")
            for at in range(images)
            for n in range(len(systems))
        ),
    )
    captions = dict(Caption.objects.filter(dataset=dataset, role="candidate").values_list("key", "pk"))
    made = System.objects.bulk_create(System(dataset=dataset, name=name) for name in systems)
    insert_rows(
        Output,
        ("system_id", "item_id", "caption_id"),
        (
            (system.pk, items[name], captions[f"c-{at:06}-{n}"])
            for at, name in enumerate(names)
            for n, system in enumerate(made)
        ),
    )
    create_study(design=make_design(design_of(protocol, units)))


def step(protocol: str, units: int) -> None:
    """Generate the HITs of a study, and print the time and memory that sampling and storing take."""
    set_up()
    from django.core.management import call_command

    from judgments.studies.generation.hits import draw_hits, store_hits
    from judgments.studies.studies import find_study

    call_command("migrate", verbosity=0)
    fill_dataset(protocol, units)
    study, before = find_study(protocol), peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    batch = draw_hits(study=study)
    drawn = time.process_time() - processor
    store_hits(study=study, batch=batch)
    processor, seconds = time.process_time() - processor, time.perf_counter() - start
    print(
        f"{protocol:10} {batch.unit_count:,} units, {batch.control_count:,} control items: {processor:.1f} s of "
        f"processor ({drawn:.1f} drawing), {seconds:.1f} s, {peak_memory() - before:,.0f} MiB more",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--only", choices=PROTOCOLS, nargs="*", default=PROTOCOLS)
    parser.add_argument("--step", choices=PROTOCOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.units)
        return
    for protocol in options.only:
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                "-m",
                "benchmarks.generating",
                "--units",
                str(options.units),
                "--step",
                protocol,
            ]
            subprocess.run(command, check=True, env={**os.environ, "DATA_DIR": str(Path(folder))})


if __name__ == "__main__":
    main()
