# ruff: noqa: E501 (a sentence is one line)
"""Check sentences and notes of the dashboard."""

from annotation.models import Assignment, ProblemReport
from benchmarks.claims.patterns import number, sentences_about
from benchmarks.claims.rows import Rows

says = sentences_about("dashboard and notes")


@says("Too few judgments to test for side bias.")
def _(rows: Rows) -> bool:
    return len({row.presented for row in rows.counted if row.value in (1, 2)}) < 2


@says("No work that counts was submitted yet.")
def _(rows: Rows) -> bool:
    return not rows.rows


@says("No judgments yet.")
def _(rows: Rows) -> bool:
    return not rows.counted


@says("No page of work is in progress.")
def _(rows: Rows) -> bool:
    return not Assignment.objects.filter(study=rows.study, state="accepted").exists()


@says("No problems yet. Participants report them with “Report a problem” on the page of work.")
def _(rows: Rows) -> bool:
    return not ProblemReport.objects.filter(assignment__study=rows.study).exists()


@says(
    "These answers come from the rehearsal crowd, not from people.[ They show how the design works, but they say nothing "
    "about the texts.]"
)
def _(rows: Rows) -> bool:
    return rows.study.simulated


@says(
    "The judges are anonymous places in published totals, or in a file that does not name them, not persons; nothing can be said about each of them."
)
def _(rows: Rows) -> bool:
    return rows.anonymous


@says(
    "HC: two texts by people for the same item. HI: two texts by people, one of them for another item. HM: one text by a person, one by a system. MM: two texts by systems. The table shows the share of pairs on which the metric and people name the same winner, with 95 % intervals. A tie of the metric counts as wrong. Chance is 50 %. Pairs without a consensus are left out: <n:N>."
)
def _(rows: Rows, n: str) -> bool:
    return number(n) == sum(not winner for winner in rows.pairs.values())
