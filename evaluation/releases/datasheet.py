"""datasheet.md: the questions of Gebru et al., "Datasheets for Datasets" (CACM 64:12, 2021, arXiv:1803.09010), in
short, with what the platform knows as answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.releases.findings import Findings
from evaluation.releases.papers import About, one_line

BLANK = "_To be filled in by the authors._"


def datasheet(about: About, findings: Findings, design: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The datasheet of a release.

    Args:
        design: the study's design as JSON.
        facts: ``collected`` (first and last day), ``minutes`` (median of a piece of work), ``places`` (how many),
            ``exclusions`` (rule -> how many people).
    """
    counts, sections = findings.counts, []
    pairs = f" of {counts['pairs']:,} candidate pairs" if counts["pairs"] else ""
    standing = counts["judgments"] - counts["invalidated"]
    sections.append(
        ("Motivation", [
            ("For what purpose was the dataset created?", _question(design)),
            ("Who created it, and who paid for it?", BLANK),
        ])
    )  # fmt: skip
    sections.append(
        ("Composition", [
            ("What do the instances represent, and how many are there?",
             f"{counts['judgments']:,} judgments by {counts['workers']:,} people on {counts['units']:,} units"
             f"{pairs}; {counts['control_items']:,} control items besides. {counts['counted']:,} judgments on units "
             "count."),
            ("Is it a sample of a larger set?", _sampling(design)),
            ("Is anything missing?",
             "Texts of captions are left out; their ids stand in their place." if not about.texts else
             "What people wrote freely is left out unless it is the answer itself."),
            ("Are there errors, noise or redundancies?",
             f"{counts['invalidated']:,} of {counts['judgments']:,} judgments were invalidated; {standing:,} stand. "
             f"{_alpha(findings)}"),
            ("Does it relate to people, or hold anything confidential?",
             "People stand under pseudonyms that were made for this release with a secret that was thrown away."),
        ])
    )  # fmt: skip
    sections.append(
        ("Collection", [
            ("How was the data acquired?", _acquired(design)),
            ("Who was involved, and how were they paid?", _pay(design, facts)),
            ("Over what time?", facts["collected"] or BLANK),
            ("How were sides and order balanced?", _sides(about)),
            ("How was the work controlled?", _controls(design)),
            ("Who was excluded, and why?", _exclusions(facts)),
            ("Did people consent?", "They read and accepted a consent text, which stands in design.toml."
             if design.get("consent") else BLANK),
            ("Was there an ethical review?", BLANK),
        ])
    )  # fmt: skip
    sections.append(
        ("Preprocessing", [
            ("Was the data cleaned or labelled?",
             "Raw judgments are complete: those that do not count are marked, never removed."),
            ("Is the software available?", f"Quorum; `manage.py verify` computes all figures again. {about.signature}"),
        ])
    )  # fmt: skip
    sections.append(
        ("Uses", [
            ("Has it been used already? For what else could it be used?", BLANK),
            ("Are there tasks for which it should not be used?", "Telling who the people are." if not about.simulated
             else "Any statement about people: the answers are simulated."),
        ])
    )  # fmt: skip
    sections.append(
        ("Distribution", [
            ("How, when and under what licence is it given away?",
             f"As version {about.version}, on {about.on}, under {about.licence}."),
            ("Do others hold rights in the data that was judged?", about.attribution or BLANK),
        ])
    )  # fmt: skip
    sections.append(
        ("Maintenance", [
            ("Who maintains it, and how can they be reached?", one_line(str(design.get("contact") or "")) or BLANK),
            ("Will it be updated?", "A later version is a release of its own; `compare_releases` says what changed."),
        ])
    )  # fmt: skip
    lines = [f"# Datasheet: {one_line(about.title)} {about.version}", ""]
    if about.simulated:
        lines += ["**The answers are simulated. No person gave them.**", ""]
    for title, questions in sections:
        lines += [f"## {title}", ""]
        for question, answer in questions:
            lines += [f"**{question}** {answer}", ""]
    return "\n".join(lines)


def _question(design: Mapping[str, Any]) -> str:
    asked = one_line(str(design.get("question") or ""))
    return f"People were asked: {asked} {BLANK}" if asked else BLANK


def _sampling(design: Mapping[str, Any]) -> str:
    sampling = design.get("sampling") or {}
    said = ", ".join(f"{key} = {value}" for key, value in sampling.items() if value not in (None, "", {}))
    return f"Drawn from {design['dataset']} with seed {design['seed']}: {said or 'everything'}."


def _alpha(findings: Findings) -> str:
    alpha = findings.agreement.get("alpha", {})
    if alpha.get("value") is None:
        return "Agreement is undefined."
    return (
        f"Krippendorff's alpha is {alpha['value']:.3f} (95 % interval {_three(alpha['low'])} to "
        f"{_three(alpha['high'])})."
    )


def _three(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _acquired(design: Mapping[str, Any]) -> str:
    return (
        f"By protocol {design['protocol']}, {design['judgments_per_unit']} judgments a unit, through the crowd "
        f"{design['crowd']['backend']}. Instructions and question stand in design.toml."
    )


def _pay(design: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    cents, minutes = design["crowd"]["reward_cents"], facts["minutes"]
    if not cents:
        return f"No reward is set in the design. {BLANK}"
    said = f"{cents} cents for a page of work"
    if minutes:
        said += f", whose median time is {minutes:.1f} minutes: {cents * 60 / minutes / 100:.2f} an hour"
    return f"{said}. {BLANK}"


def _sides(about: About) -> str:
    sides = next((part for part in about.signature.split("|") if part.startswith("sides:")), "sides:none")
    share = sides.removeprefix("sides:")
    if share == "none":
        return "Units have no sides."
    return (
        f"Sides were drawn for each piece of work; the first option stood on the left in a share of {share}."
    )


def _controls(design: Mapping[str, Any]) -> str:
    controls = design["controls"]
    if not controls["per_hit"]:
        return "There were no control items."
    return (
        f"{controls['per_hit']} control items a page of work; answers of people with a share right below "
        f"{controls['threshold']:g} are marked as not used."
    )


def _exclusions(facts: Mapping[str, Any]) -> str:
    if not facts["exclusions"]:
        return "Nobody was excluded beyond the control rule."
    said = ", ".join(f"{rule or 'by a person'}: {count}" for rule, count in facts["exclusions"].items())
    return f"By rule: {said}."
