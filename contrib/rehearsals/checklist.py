"""The points about a rehearsal on the launch checklist, and the warning of low power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from annotation.crowds.opening import add_opening_warning
from annotation.launch.views.launch import ChecklistItem, Launch, Readiness
from annotation.launch.views.points import add_check, add_launch_jobs
from common.amounts import coefficient, percent, thousands
from contrib.rehearsals.answers.base import find_rehearsal
from contrib.rehearsals.copies import rehearsals_of
from evaluation.models import Analysis
from evaluation.presentation.content import join_names
from judgments.models import Job, Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.frame_page import jobs_to_show
from judgments.studies.study_page import PAGES
from judgments.templatetags.judgments_tags import cents
from quorum.statistics.power import CONVENTIONAL_POWER

TENTATIVE = 0.667  # the least alpha for tentative conclusions (Krippendorff 2004)
# with less power, a study is more likely to miss even the largest difference than to find it
MIN_POWER = 0.5


def _rehearsal_points(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield the point of the launch checklist about the newest rehearsal."""
    if find_rehearsal(kind_of(launch.study)) is None or launch.study.simulated:
        return
    rehearsal = _newest_visible(launch.study, launch.user)
    if rehearsal is None:
        yield launch.point(
            _("Rehearsal"),
            Readiness.MISSING,
            _(
                "The design has not been rehearsed. Simulated participants can answer a copy of "
                "the study first."
            ),
            page="rehearsal",
            link_words=_("Rehearse the study"),
        )
        if launch.design.judgments_per_unit > 1:
            yield launch.point(
                _("Agreement expected"), Readiness.UNKNOWN, _("A rehearsal can estimate the agreement.")
            )
        return
    recovered_share, alpha = rehearsal.result["recovered"], rehearsal.result["agreement"]
    yield launch.point(
        _("Rehearsal"),
        Readiness.READY,
        _("The consensus of simulated participants found %(share)s of the right answers.")
        % {"share": percent(recovered_share["value"])},
        page="rehearsal",
        link_words=_("See the rehearsal"),
    )
    if alpha["value"] is not None:
        sentence = _(
            "In the rehearsal, Krippendorff's alpha was %(alpha)s. Expect a similar value if people "
            "answer like the simulated participants."
        )
        sentence %= {"alpha": coefficient(alpha["value"])}
        readiness = Readiness.READY if alpha["value"] >= TENTATIVE else Readiness.MISSING
        if readiness is Readiness.MISSING:
            sentence += " " + _(
                "Below .67 the consensus of single items is uncertain. A clearer question or more "
                "judgments per item help."
            )
        yield launch.point(_("Agreement expected"), readiness, sentence)
    elif launch.design.judgments_per_unit > 1:
        sentence = _("The rehearsal was too small to estimate the agreement.")
        yield launch.point(_("Agreement expected"), Readiness.UNKNOWN, sentence)
    if rows := _power_rows(rehearsal, launch.design.purpose):
        yield _power_point(launch, rows)


def power_rows_of(rehearsal: Analysis) -> list[Mapping[str, Any]]:
    """Return the rows of ``simulate_power``, one for each difference; [] for a rehearsal of an earlier release."""
    return [row for row in rehearsal.result["power"] if "difference" in row]


def _power_rows(rehearsal: Analysis, purpose: str) -> list[Mapping[str, Any]]:
    """Return the rows about systems or about metrics, by the study's purpose (a key of PURPOSES).

    Without a purpose, return those of the two with the lower power; [] if labels of items are the purpose.
    """
    topic = "systems" if purpose == "ranking" else purpose
    rows = power_rows_of(rehearsal)
    groups = [
        [row for row in rows if row["what"] == noun] for noun in ("systems", "metrics") if topic in ("", noun)
    ]
    # a row's power is None if it could not be computed
    return min(filter(None, groups), key=lambda group: _main_row(group)["power"] or 0.0, default=[])


def _main_row(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the row of the main difference. Its power decides whether a study is ready; only it has "needed"."""
    return next(row for row in rows if row["main"])


def _power_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence about the power at each difference. All rows are about systems, or all about metrics."""
    # by whether pairs are compared, and by what is ranked; power for metrics is computed only for pairs
    sentences = {
        (True, "systems"): _(
            "Suppose that the better of two systems wins %(differences)s of the pairs. Then %(powers)s of "
            "100 studies like this one would find it (numbers in the same order)."
        ),
        (True, "metrics"): _(
            "Suppose that the better of two metrics is right on %(differences)s more of the pairs. Then "
            "%(powers)s of 100 studies like this one would find it (numbers in the same order)."
        ),
        (False, "systems"): _(
            "Suppose that the means of two systems differ by %(differences)s. Then %(powers)s of 100 "
            "studies like this one would find the better system (numbers in the same order)."
        ),
    }
    has_pairs = "pairs" in rows[0]  # rows of means have no number of pairs
    return sentences[has_pairs, rows[0]["what"]] % {
        "powers": join_names([str(round(100 * (row["power"] or 0.0))) for row in rows]),
        "differences": join_names(
            [percent(row["difference"]) if has_pairs else coefficient(row["difference"]) for row in rows]
        ),
    }


def _newest_visible(study: Study, user: User | None) -> Analysis | None:
    """Return the study's newest rehearsal that the user may see. If ``user`` is None, return the newest of all."""
    copies = rehearsals_of(study)
    copies = copies.filter(pk__in=Study.objects.visible_to(user)) if user else copies
    return (
        Analysis.objects.filter(study__in=copies, what=Analysis.Kind.REHEARSAL)
        .order_by("-created_at")
        .first()
    )


def _power_doubt(study: Study, by: User | None) -> str:
    """Return the warning before a study is opened whose power is low even for the largest difference; else ""."""
    rehearsal = _newest_visible(study, by)
    rows = _power_rows(rehearsal, design_of(study).purpose) if rehearsal else []
    return _power_sentence(rows) if rows and _power_at_largest_difference(rows) < MIN_POWER else ""


def _power_at_largest_difference(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the power at the largest difference, which is the highest power of the rows."""
    return max(row["power"] or 0.0 for row in rows)


def _power_point(launch: Launch, rows: Sequence[Mapping[str, Any]]) -> ChecklistItem:
    """Return the point about how often the study finds the better system or metric, and what it needs to."""
    title, sentence, row = _("Power"), _power_sentence(rows), _main_row(rows)
    power = row["power"] or 0.0
    if power >= CONVENTIONAL_POWER:
        if row.get("alike"):  # missing in rehearsals of earlier releases
            doubt = _("In this rehearsal no system was better than another.")
            return launch.point(title, Readiness.UNKNOWN, f"{sentence} {doubt}")
        return launch.point(title, Readiness.READY, sentence)
    needed_pairs = row["needed"]
    if needed_pairs is None:  # a study of means, or too many pairs
        remedy = _("More items or more participants increase the power.")
    else:
        remedy = _(
            "So that %(enough)s of 100 studies would find the difference, the study needs more pairs (about "
            "%(needed)s instead of %(pairs)s)."
        ) % {
            "enough": round(100 * CONVENTIONAL_POWER),
            "needed": thousands(needed_pairs),
            "pairs": thousands(row["pairs"]),
        }
        if launch.forecast and launch.forecast.cents:
            cost = cents(launch.forecast.cents * needed_pairs // row["pairs"], launch.design.currency)
            remedy += " " + _("This costs about %(cost)s.") % {"cost": cost}
            if budget := launch.design.crowd.budget_cents:
                remedy += " " + _("The budget is %(budget)s.") % {
                    "budget": cents(budget, launch.design.currency)
                }
    page = "planning" if "planning" in PAGES else ""  # of a feature that can be off
    readiness = Readiness.MISSING if _power_at_largest_difference(rows) >= MIN_POWER else Readiness.DOUBTFUL
    return launch.point(title, readiness, f"{sentence} {remedy}", page=page, link_words=_("Plan the study"))


def _jobs_of_newest_copy(study: Study) -> list[Job]:
    """Return the queued, running or failed jobs of the newest rehearsal."""
    return [job for copy in rehearsals_of(study)[:1] for job in jobs_to_show(copy)]


add_check(30, _rehearsal_points)

add_launch_jobs(_jobs_of_newest_copy)
add_opening_warning(_power_doubt)
