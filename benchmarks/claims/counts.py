"""Check sentences with counts of people, answers and items."""

from collections import defaultdict
from statistics import median

from benchmarks.claims.agreement import ends_of_alpha
from benchmarks.claims.patterns import is_near, number, says_ends, sentences_about
from benchmarks.claims.rows import Rows

says = sentences_about("counts")


@says("Judgments: <n:N>[ of <wanted:N>]")
def _(rows: Rows, n: str, wanted: str | None) -> bool:
    sizes = [(hit, hit.places.count()) for hit in rows.study.hits.all()]
    whole = bool(sizes) and all(rows.work.filter(hit=hit).count() >= max(hit.required, 1) for hit, _ in sizes)
    asked = len(rows.rows) if whole else sum(hit.required * size for hit, size in sizes)
    return number(n) == len(rows.rows) and (wanted is None or number(wanted) == asked)


@says("Judgments> pages of work submitted: <n:N>")
def _(rows: Rows, n: str) -> bool:
    return number(n) == rows.work.count()


@says("{Judgments> imported|Pages of work complete> none, as the judgments were imported}")
def _(rows: Rows) -> bool:
    return not rows.designed


@says("{Judgments|Pages of work complete}> the study is closed")
def _(rows: Rows) -> bool:
    return rows.study.state == "closed"


def count_complete_hits(rows: Rows) -> int:
    return sum(0 < rows.work.filter(hit=hit).count() >= hit.required for hit in rows.study.hits.all())


@says("Pages of work complete: <done:N> of <all:N>")
def _(rows: Rows, done: str, all: str) -> bool:
    return number(done) == count_complete_hits(rows) and number(all) == rows.study.hits.count()


@says("Judgments: <n:N> of <wanted:N> (<share:PC>). Pages of work complete: <done:N> of <pages:N>.")
def _(rows: Rows, n: str, wanted: str, share: str, done: str, pages: str) -> bool:
    whole = number(done) == count_complete_hits(rows) and number(pages) == rows.study.hits.count()
    return whole and number(n) == len(rows.rows) and number(share) == 100 * number(n) // number(wanted)


@says("There are no judgments yet. Judgments that the study needs: <wanted:N>; pages of work: <pages:N>.")
def _(rows: Rows, wanted: str, pages: str) -> bool:
    return not rows.rows and number(pages) == rows.study.hits.count() and number(wanted) > 0


@says("Agreement: <value:CO> alpha, {nominal|interval}")
def _(rows: Rows, value: str) -> bool:
    return rows.alpha is not None and is_near(value, rows.alpha)


@says("Agreement> {95 % interval <ends:ENDS>|no interval}; items: <n:N>")
def _(rows: Rows, ends: str | None, n: str) -> bool:
    return (
        number(n) == len(rows.pairable)
        and rows.alpha is not None
        and says_ends(ends or "undefined", ends_of_alpha(rows))
    )


@says(
    "{Agreement> no item has two judgments yet|No item has two judgments yet.|Agreement is shown "
    "when an item has two judgments.|Agreement is not available: no item has two judgments.|"
    "Agreement is not measured: no item has two judgments.}"
)
def _(rows: Rows) -> bool:
    return not rows.pairable


@says(
    "[Agreement> ][Agreement is {undefined|not available|not measured}: ]every judgment that can be compared has the "
    "same value[.]"
)
def _(rows: Rows) -> bool:
    return bool(rows.pairable) and rows.alpha is None


@says("Check questions: <share:PC> right")
def _(rows: Rows, share: str) -> bool:
    return is_near(share, rows.right.total() / rows.seen.total())


@says("Check questions> right answers: <right:N> of <seen:N>")
def _(rows: Rows, right: str, seen: str) -> bool:
    return (number(right), number(seen)) == (rows.right.total(), rows.seen.total())


@says("; participants below the pass mark of <share:PC>: <below:N> of <people:N>")
def _(rows: Rows, below: str, people: str, share: str) -> bool:
    low = sum(rows.right[name] / seen < rows.threshold for name, seen in rows.seen.items())
    return number(below) == low > 0 and number(people) == len(rows.seen) and is_near(share, rows.threshold)


@says("; judgments not used: <n:N>")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.on_items) - len(rows.counted) > 0


@says("Check questions> no check question answered[ yet]")
def _(rows: Rows) -> bool:
    return not rows.seen


@says("{Agreement|Check questions|Pages of work complete}: –")
def _(rows: Rows) -> bool:
    return True  # the sentences after this one give the reasons


@says("Answers that are not used: <n:N> of <all:N> (<share:PC>). The reason: ")
def _(rows: Rows, n: str, all: str, share: str) -> bool:
    gone = [row for row in rows.gone if not row.unit.control]
    unused = len(rows.on_items) - len(rows.counted) + len(gone)
    whole = len(rows.on_items) + len(gone)
    return number(n) == unused > 0 and number(all) == whole and is_near(share, unused / whole)


@says("[, and ]<n:N> participant{s|} answered too few check questions right (<answers:N>)[.]")
def _(rows: Rows, n: str, answers: str) -> bool:
    theirs = [row for row in rows.on_items if row.assignment.worker.name in rows.below]
    return number(answers) == len(theirs) and number(n) == len({row.assignment.worker_id for row in theirs})


@says("[, and ]<n:N> participant{ was|s were} excluded (<answers:N>)[.]")
def _(rows: Rows, n: str, answers: str) -> bool:
    theirs = [row for row in rows.gone if not row.unit.control]
    return number(answers) == len(theirs) and number(n) == len({row.assignment.worker_id for row in theirs})


@says("[, and ]the crowd or the source of the data did not confirm the answers (<answers:N>)[.]")
def _(rows: Rows, answers: str) -> bool:
    kept = [row for row in rows.on_items if row.assignment.worker.name not in rows.below]
    return number(answers) == sum(row.set_aside for row in kept)


@says("Items with a consensus: <n:N> of <all:N>.")
def _(rows: Rows, n: str, all: str) -> bool:
    return (number(n), number(all)) == (rows.decided_count, len(rows.units))


@says("Items with a consensus: <n:N> of <all:N>[; <tied:N> tied]")
def _(rows: Rows, n: str, all: str, tied: str | None) -> bool:
    return (number(n), number(all), number(tied or "0")) == (
        rows.decided_count,
        len(rows.units),
        rows.tie_count,
    )


@says("Pairs with a winner: <n:N> of <all:N>[; <tied:N> tied]")
def _(rows: Rows, n: str, all: str, tied: str | None) -> bool:
    winners = list(rows.pairs.values())
    won = sum(bool(winner) for winner in winners)
    return (number(n), number(tied or "0")) == (won, winners.count(0)) and number(all) == len(winners)


@says("Judgments used: on items: <n:N>[; on check questions: <checks:N>]")
def _(rows: Rows, n: str, checks: str | None) -> bool:
    return (number(n), number(checks or "0")) == (len(rows.counted), rows.seen.total())


@says("Not used: <n:N> (kept and marked)")
def _(rows: Rows, n: str) -> bool:
    gone = sum(not row.unit.control for row in rows.gone)
    return number(n) == len(rows.on_items) - len(rows.counted) + gone


@says("<n:N> participant{s|}. None of them answered a check question.")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.people) and not rows.seen


@says(
    "<n:N> participant{s|}. Participants who reached the pass mark of <share:PC>: <reached:N> of <seen:N> who answered "
    "check questions."
)
def _(rows: Rows, n: str, seen: str, reached: str, share: str) -> bool:
    high = sum(rows.right[name] / of >= rows.threshold for name, of in rows.seen.items())
    counts = (number(n), number(seen), number(reached)) == (len(rows.people), len(rows.seen), high)
    return counts and is_near(share, rows.threshold)


@says("The judgments of <n:N> participant{s|} are not used.")
def _(rows: Rows, n: str) -> bool:
    return number(n) == len(rows.unused_people) > 0


@says("The median participant takes <seconds:CO> s per item.")
def _(rows: Rows, seconds: str) -> bool:
    own = defaultdict(list)
    for row in rows.rows:
        if row.seconds is not None:
            own[row.assignment.worker.name].append(row.seconds)
    if len(own) < len(rows.people):  # the times of other people are those between two pages
        return number(seconds) > 0
    return abs(number(seconds) - median(median(times) for times in own.values())) <= 0.051
