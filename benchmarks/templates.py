"""Measure the seconds and the memory of each step with a HIT template that has many rows of inputs.

    python -m benchmarks.templates                    # 10,000 rows, three questions each
    python -m benchmarks.templates --rows 100000

The database is an empty SQLite database in a temporary folder. Each step runs in a new process, so that its peak memory
is its own. The steps are importing, generating, opening, a page of work, a simulated crowd (30,000 pages of work: a
quarter of an hour), exporting, and pages of the study.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.export import peak_memory, set_up

STEPS = ("import", "generate", "hits page", "units list", "hits list", "preview", "open", "rehearse",
         "export jsonl", "aggregate")  # fmt: skip
PAGE = """<p>${text}</p><p><a href="${link}">Source</a></p>
<fieldset><legend>Does it make sense?</legend>
<label><input type="radio" name="sense" value="yes" required> Yes</label>
<label><input type="radio" name="sense" value="no" required> No</label></fieldset>
<label>How fluent is it? <input type="number" name="fluency" min="1" max="5" required></label>
<label>Why? <textarea name="why"></textarea></label>"""


def step(name: str, folder: Path, rows: int) -> None:
    """Run one step, and print its seconds and memory."""
    set_up()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client, override_settings
    from django.urls import reverse

    from judgments.models import Study
    from judgments.studies.study_page import study_page_address

    if name == "import":
        call_command("migrate", verbosity=0)
        (folder / "template.html").write_text(PAGE)
        with (folder / "inputs.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("text", "link"))
            writer.writerows(
                (f"Two dogs run through the snow, number {at}.", f"https://example.org/{at}")
                for at in range(rows)
            )
        User.objects.create_superuser("designer")
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username="designer"))
    study = Study.objects.filter(slug="forms").first()
    addresses = {
        "units list": reverse("admin:judgments_unit_changelist"),
        "hits list": reverse("admin:judgments_hit_changelist"),
    }
    if study is not None:
        addresses |= {"hits page": study_page_address(study, "hits"), "preview": f"/s/{study.slug}/preview/"}
    commands = {
        "import": ("import_template", "forms", str(folder / "template.html"), str(folder / "inputs.csv")),
        "generate": ("generate_hits", "forms"),
        "open": ("open_study", "forms"),
        "rehearse": ("rehearse", "forms", "--seed", "1"),
        "export jsonl": (
            "export_judgments",
            "forms",
            "--format",
            "jsonl",
            "--output",
            str(folder / "j.jsonl"),
        ),
        "aggregate": ("aggregate", "forms"),
    }
    before = peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    if name in addresses:
        with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
            answer = client.get(addresses[name])
        assert answer.status_code == 200, (name, answer.status_code)
    else:
        call_command(*commands[name], stdout=io.StringIO())
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    print(f"| {name} | {seconds:.2f} | {processor:.2f} | {peak_memory() - before:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.folder, options.rows)
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DATA_DIR"] = scratch
        print(
            f"{options.rows:,} rows\n\n| step | s | processor s | MiB at the peak |\n|---|---|---|---|",
            flush=True,
        )
        for name in STEPS:
            command = [sys.executable, "-m", "benchmarks.templates", "--step", name, "--folder", scratch]
            subprocess.run([*command, "--rows", str(options.rows)], check=True)


if __name__ == "__main__":
    main()
