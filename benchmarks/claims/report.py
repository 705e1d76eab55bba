# ruff: noqa: E501 (a sentence is one line)
"""Check sentences of the report about the collection, systems and ceilings."""

from collections import Counter, defaultdict
from itertools import combinations
from statistics import mean

from benchmarks.claims.contrasts import won_by
from benchmarks.claims.correlations import of_name, tau_b
from benchmarks.claims.halves import of_pairs
from benchmarks.claims.one_judge import against_others, ends_against_others
from benchmarks.claims.patterns import is_near, names_in, number, says_ends, sentences_about, spread
from benchmarks.claims.rankings import precision_by_system
from benchmarks.claims.rows import METRICS, PAIRED, Rows, mirrored_choice
from benchmarks.claims.thresholds import best_of_judge, best_of_metric
from benchmarks.claims.verdicts import ends_of_share, figure_of
from judgments.models import Output

says = sentences_about("collection, systems and ceilings of the report")


@says(
    "{Anonymous people|<people:N> {person|people}} gave <n:N> judgment{s|}; <decided:N> of <units:N> unit{s|} {has|have} a consensus."
)
def _(rows: Rows, people: str | None, n: str, decided: str, units: str) -> bool:
    who = rows.anonymous if people is None else number(people) == len(rows.people)
    return who and (number(n), number(decided), number(units)) == (
        len(rows.rows),
        rows.decided_count,
        len(rows.units),
    )


@says("There is no judgment that counts, so there is nothing to report.")
def _(rows: Rows) -> bool:
    return not rows.rows


@says(
    "<n:N> worker{s|} judged; <share:PC> of <seen:N> answers to control items are right, and the judgments of <aside:N> worker{s|} are set aside."
)
def _(rows: Rows, n: str, share: str, seen: str, aside: str) -> bool:
    counts = (number(n), number(seen), number(aside)) == (
        len(rows.people),
        rows.seen.total(),
        len(rows.unused_people),
    )
    return counts and is_near(share, rows.right.total() / rows.seen.total())


@says(
    "<n:N> worker{s|} judged; none of them answered a control item[, and the judgments of <aside:N> worker{s|} are set aside]."
)
def _(rows: Rows, n: str, aside: str | None) -> bool:
    return number(n) == len(rows.people) and not rows.seen and number(aside or "0") == len(rows.unused_people)


@says("{Guessing would get <share:PC>.|What guessing would reach is not known for this kind.}")
def _(rows: Rows, share: str | None) -> bool:
    return share is not None and is_near(share, mean(rows.guessed))


def shared_texts(rows: Rows) -> dict[tuple[str, str], list[bool]]:
    same = defaultdict(list)
    for votes in rows.votes.values():
        for (one, first), (other, second) in combinations(sorted(votes), 2):
            same[one, other].append(first == second)
    return same


@says(
    "<n:N> pair{ of workers shares|s of workers share} units; between the workers shown, the share of equal answers goes "
    "from <range:RANGE>. By chance it would be <chance:PC>; over all of them it is <all:PC>."
)
def _(rows: Rows, n: str, range: str, chance: str, all: str) -> bool:
    same = shared_texts(rows)
    shares = [mean(map(float, own)) for own in same.values()]
    values = Counter(value for votes in rows.votes.values() for _, value in votes)
    if rows.protocol in PAIRED:
        values += Counter({mirrored_choice(value): count for value, count in values.items()})
    alike = sum((count / values.total()) ** 2 for count in values.values())
    together = mean(float(one) for own in same.values() for one in own)
    return (
        number(n) == len(same) and spread(range, shares) and is_near(chance, alike) and is_near(all, together)
    )


@says(
    "No system is ahead of all others: <leaders:NAMES> share the top, winning <won:RANGE> of their comparisons by people's "
    "consensus, a tie half (t tests, Holm's correction); <n:N> systems met <times:N> time{s|}."
)
def _(rows: Rows, leaders: str, won: str, n: str, times: str) -> bool:
    shares = [figure_of(rows, name) for name in names_in(leaders)]
    met = sum(map(len, rows.systems.values())) / 2
    return spread(won, shares) and (number(n), number(times)) == (len(rows.systems), met)


@says(
    "<leader:NAMES> wins <won:PC> of its comparisons by people's consensus, a tie half[ (95 % interval <ends:ENDS>)]; "
    "<n:N> systems met <times:N> time{s|}."
)
def _(rows: Rows, leader: str, won: str, ends: str | None, n: str, times: str) -> bool:
    share = figure_of(rows, leader)
    met = sum(map(len, rows.systems.values())) / 2
    return (
        is_near(won, share)
        and says_ends(ends or "undefined", ends_of_share(won_by(rows, leader)))
        and (number(n), number(times)) == (len(rows.systems), met)
    )


@says("No ceiling is drawn: no texts that people wrote took part.")
def _(rows: Rows) -> bool:
    return not {"people", "human"} & set(rows.systems)


@says("Ceiling: texts that people wrote.")
def _(rows: Rows) -> bool:
    return "people" in rows.systems


@says(
    "Bradley-Terry log-strengths; a difference of 1 means that the stronger wins 73 % of the comparisons that one of them wins."
)
def _(rows: Rows) -> bool:
    return True  # 1 / (1 + exp(-1))


@says(
    "No ceiling is drawn: no pair has votes enough for two halves that name a winner, so what people reach is not known."
)
def _(rows: Rows) -> bool:
    return not of_pairs(rows)


@says("No ceiling is drawn: people choose between texts here, and score none.")
def _(rows: Rows) -> bool:
    return rows.protocol in PAIRED


@says(
    "No ceiling is drawn: what one judge reaches against the mean of the others is undefined, as too few have others, or "
    "all say the same."
)
def _(rows: Rows) -> bool:
    return rows.protocol not in PAIRED and (
        tau_b(*against_others(rows)) is None or best_of_judge(rows, *against_others(rows)) is None
    )


@says("One judge against the mean of the others reaches tau-b <tau:CO>;")
def _(rows: Rows, tau: str) -> bool:
    value = tau_b(*against_others(rows))
    return value is not None and is_near(tau, value)


@says(
    "<name:WHY> between metrics, over all judged candidates; 0: unrelated.[ People: the mean of all judges.][ One judge "
    "against the mean of the others reaches <value:CO>[ (95 % interval <ends:ENDS>)].]"
)
def _(rows: Rows, name: str, value: str | None, ends: str | None) -> bool:
    own = None if rows.protocol in PAIRED else of_name(name, *against_others(rows))
    if value is None or own is None:
        return value is own is None
    return is_near(value, own) and says_ends(ends or "undefined", ends_against_others(rows, name))


@says(
    "Each cut where it agrees best with people, metrics reach a kappa of <kappa:RANGE>; 0 is chance, 1 full agreement."
)
def _(rows: Rows, kappa: str) -> bool:
    best = [best_of_metric(rows, name) for name in rows.scores]
    return spread(kappa, [value for value in best if value is not None])


@says("Kappa is undefined at every pair of thresholds.")
def _(rows: Rows) -> bool:
    return all(best_of_metric(rows, name) is None for name in rows.scores)


@says("One judge against the mean of the others, both cut alike, reaches <kappa:CO> at most.")
def _(rows: Rows, kappa: str) -> bool:
    value = best_of_judge(rows, *against_others(rows))
    return value is not None and is_near(kappa, value)


def flat(rows: Rows, metric: str) -> list[float]:
    return [one for both in rows.scores[metric].values() for one in both if one is not None]


@says("bleu-1 and rouge-l order the <n:N> candidates most alike (tau-b <tau:CO>).")
def _(rows: Rows, n: str, tau: str) -> bool:
    first, second = (flat(rows, name) for name in METRICS)
    value = tau_b(first, second)
    return value is not None and is_near(tau, value) and number(n) == len(first)


@says("No two metrics can be correlated: all, or all but one, give every candidate the same score.")
def _(rows: Rows) -> bool:
    return any(len(set(flat(rows, name))) == 1 for name in METRICS)


def firsts(rows: Rows) -> dict[str, list[float]]:
    of_unit = {(unit.item_id, unit.first_id): pk for pk, unit in rows.units.items() if pk in rows.votes}
    means_by_system: dict[str, list[float]] = defaultdict(list)
    outputs = (
        Output.objects.filter(item__dataset=rows.study.dataset).select_related("system").order_by("-rank")
    )
    first = {(output.system.name, output.item_id): output.caption_id for output in outputs}
    for (system, item), text in first.items():
        if (item, text) in of_unit:
            means_by_system[system].append(rows.people_of(of_unit[item, text]))
    return means_by_system


def share_above(values: list[float], cut: float) -> float:
    return mean(float(value >= cut - 1e-9) for value in values)


@says(
    "{No system is ahead of all others: <leaders:NAMES> share the top, where <range:RANGE> of first texts reach a mean "
    "grade of <cut:CUT> (t tests of mean grades, Holm's correction).|<leader:NAMES> is highest: <share:PC> of its <n:N> "
    "first text{s|} reach a mean grade of <at:CUT>.} Floor: a text drawn at random from those judged for an item, "
    "<floor:PC>; ceiling: the best of them, <ceiling:PC>."
)
def _(
    rows: Rows,
    leaders: str | None,
    range: str | None,
    cut: str | None,
    leader: str | None,
    share: str | None,
    n: str | None,
    at: str | None,
    floor: str,
    ceiling: str,
) -> bool:
    reached = float(cut or at or "0")
    own = {name: share_above(values, reached) for name, values in firsts(rows).items()}
    of_item = defaultdict(list)
    for unit in rows.votes:
        of_item[rows.units[unit].item_id].append(rows.people_of(unit))
    bounds = is_near(floor, mean(share_above(values, reached) for values in of_item.values()))
    bounds &= is_near(ceiling, mean(share_above([max(values)], reached) for values in of_item.values()))
    if leaders:
        return bounds and spread(range or "", [own[name] for name in names_in(leaders)])
    best = max(firsts(rows).items(), key=lambda row: mean(row[1]))
    return (
        bounds
        and best[0] == leader
        and is_near(share or "", own[best[0]])
        and number(n or "") == len(best[1])
    )


@says("No system can be ranked: R-precision is undefined for all.")
def _(rows: Rows) -> bool:
    return not precision_by_system(rows)


@says(
    "{No system ranks best: <leaders:NAMES> share the top by R-precision, <range:RANGE> (t tests by item, Holm's correction)|<leader:NAMES> ranks best by R-precision: <share:PC>|Of <one:NAMES> alone R-precision is defined: <own:PC>}."
)
def _(
    rows: Rows,
    leaders: str | None,
    range: str | None,
    leader: str | None,
    share: str | None,
    one: str | None,
    own: str | None,
) -> bool:
    values = precision_by_system(rows)
    if one:
        return list(values) == [one] and is_near(own or "", values[one])
    top, names = max(values.values()), names_in(leader or leaders or "")
    first = len(values) > 1 and top == max(values[name] for name in names)
    return first and (
        is_near(share or "", top) if leader else spread(range or "", [values[name] for name in names])
    )
