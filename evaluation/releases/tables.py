"""The files of rows in a bundle: what each column is. Croissant's metadata and the README come from this. Pure."""

from __future__ import annotations

TEXT, WHOLE, NUMBER, FLAG, MOMENT = "sc:Text", "sc:Integer", "sc:Float", "sc:Boolean", "sc:DateTime"

# file -> (what a row is, column -> (type, what it says)); columns whose values are lists or objects have no type
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "judgments.jsonl": (
        "One person's answer on one unit.",
        {
            "study": (TEXT, "Short name of the study."),
            "unit": (TEXT, "Id of the unit, derived from its content."),
            "protocol": (TEXT, "What was asked."),
            "image": (TEXT, "Name of the image in its dataset."),
            "reference": (TEXT, "Id of the reference caption, where one was shown."),
            "first": (TEXT, "Id of the first caption, in the unit's order."),
            "second": (TEXT, "Id of the second caption, in the unit's order."),
            "kind": (TEXT, "Kind of the candidate pair: HC, HI, HM, MM."),
            "pair": (TEXT, "Id of the candidate pair."),
            "worker": (TEXT, "Pseudonym of the person, made for this release alone."),
            "assignment": (TEXT, "Pseudonym of the piece of work."),
            "hit": (TEXT, "Id of the page of work."),
            "value": (NUMBER, "The answer in the unit's order, whatever side it was shown on."),
            "control": (FLAG, "Whether the unit is a control item."),
            "used": (FLAG, "Whether the answer counts."),
            "presented": (TEXT, "Which option stood on the left: first-left or second-left."),
            "simulated": (FLAG, "Whether a simulated crowd gave it."),
            "accepted_at": (MOMENT, "When the work was taken, ISO 8601 in UTC."),
            "submitted_at": (MOMENT, "When it was handed in, ISO 8601 in UTC."),
            "seconds": (NUMBER, "Active time on the unit."),
            "invalidated": (TEXT, "Why the answer was taken out, where it was."),
        },
    ),
    "units.jsonl": (
        "What is judged, and control items.",
        {
            "unit": (TEXT, "Id of the unit."),
            "kind": (TEXT, "Kind of the candidate pair."),
            "pair": (TEXT, "Id of the candidate pair."),
            "image": (TEXT, "Name of the image."),
            "reference": (TEXT, "Id of the reference caption."),
            "first": (TEXT, "Id of the first caption."),
            "second": (TEXT, "Id of the second caption."),
            "control": (FLAG, "Whether it is a control item."),
            "control_kind": (TEXT, "Kind of control item."),
            "struck": (FLAG, "Whether the control item was taken out by the designer."),
        },
    ),
    "consensus.jsonl": (
        "What the counted judgments of a unit, or of a candidate pair's units, say together.",
        {
            "unit": (TEXT, "Id of the unit; empty where the row is of a pair."),
            "pair": (TEXT, "Id of the candidate pair."),
            "kind": (TEXT, "Kind of the candidate pair."),
            "n": (WHOLE, "Counted judgments; of a pair: its units with a winner or a tie."),
            "value": (NUMBER, "The winner, or the mean; empty on a tie."),
            "share": (NUMBER, "Share of the winning answer."),
            "margin": (NUMBER, "Share of the winner less that of the runner-up."),
            "tie": (FLAG, "Whether no answer has the most votes."),
            "source": (TEXT, "judgments, adjudicated or published."),
        },
    ),
    "workers.jsonl": (
        "A person who judged.",
        {
            "worker": (TEXT, "Pseudonym."),
            "judgments": (WHOLE, "Judgments on units."),
            "used_judgments": (WHOLE, "Those that count."),
            "controls_seen": (WHOLE, "Control items answered."),
            "controls_right": (WHOLE, "Control items answered right."),
            "seconds": (NUMBER, "Median time on a unit."),
            "left_share": (NUMBER, "How often the option on the left was chosen."),
        },
    ),
}
OTHER_FILES = {
    "pairs.jsonl": "candidate pairs with their systems and references",
    "proposals.jsonl": "the systems' lists of captions for images and of images for captions, with places from 1",
    "captions.jsonl": "captions and references by id",
    "scores.jsonl": "each metric's score of each candidate",
    "analyses.json": "agreement, counts and metrics against people",
    "design.toml": "the study file, without codes that let people in",
    "registration.json": "what was registered before the study opened",
    "outcomes.json": "what became of the registered hypotheses, and what was done otherwise",
    "report/": "the report of these rows: figures, tables, methods paragraph and bibliography; begin at index.html",
    "manifest.json": "versions, seed, signature, and each file's SHA-256 and rows",
    "SHA256SUMS": "hashes of all files; `sha256sum --check SHA256SUMS`",
    "datasheet.md": "how the data came about (Gebru et al. 2021)",
    "croissant.json": "machine-readable metadata (Croissant 1.0)",
    "CITATION.cff": "how to cite it",
    "LICENSE": "what may be done with it",
}
