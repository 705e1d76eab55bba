"""A HIT template with its inputs, and a study of them, made through the service people use."""

import csv
from pathlib import Path
from typing import Any

from contrib.hit_templates.importing import import_template
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import mark_open

# every sort of control, as requester pages write them
TONE = """
<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>
<crowd-form>
  <crowd-instructions link-text="Wie entscheiden?">
    <short-summary><p>Lies den Text.</p></short-summary>
  </crowd-instructions>
  <h2>Ton</h2>
  <blockquote>${text}</blockquote>
  <p><label><input type="radio" name="tone" value="pos" required> Gut</label>
     <label><input type="radio" name="tone" value="neg" required> Schlecht</label></p>
  <crowd-checkbox name="flags" value="irony">Ironie</crowd-checkbox>
  <crowd-checkbox name="flags" value="rude">Unfein</crowd-checkbox>
  <label for="age">Alter</label> <input type="number" id="age" name="age" min="0" max="120">
  <label for="place">Ort</label> <select id="place" name="place">
    <option value="">Ort</option><option>Ulm</option><option>Bonn</option></select>
  <crowd-text-area name="why" label="Grund" max-length="200"></crowd-text-area>
  <input type="hidden" name="source" value="batch-${id}">
  <crowd-button form-action="submit">Senden</crowd-button>
</crowd-form>
"""
ROWS = [
    {"id": "a1", "text": "Wunderbar & <schön>", "gold": "pos"},
    {"id": "a2", "text": "Nie wieder", "gold": "neg"},
    {"id": "a3", "text": "Es regnet", "gold": "neg"},
]


def inputs_file(folder: Path, rows: list[dict[str, str]] | None = None) -> Path:
    """The rows as a CSV file."""
    wanted = ROWS if rows is None else rows
    path = folder / "inputs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(wanted[0]))
        writer.writeheader()
        writer.writerows(wanted)
    return path


def make_template_study(
    folder: Path,
    *,
    slug: str = "tone",
    source: str = TONE,
    rows: list[dict[str, str]] | None = None,
    opened: bool = True,
    **values: Any,
) -> Study:
    """A study of the template, opened."""
    study, _ = import_template(slug=slug, source=source, inputs=inputs_file(folder, rows), seed=3, **values)
    if opened:
        generate_hits(study=study)
        mark_open(study=study)
    return study
