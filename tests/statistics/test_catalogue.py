"""Every statistic signs its result, and the signature leads back to the call that made it."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from quorum.numeric.signatures import BadSignature, parse
from quorum.statistics.agreement import kappa_grid, kappa_interval
from quorum.statistics.catalogue import STATISTICS, call_of
from quorum.statistics.ranking import r_precision, success_at_k
from quorum.statistics.significance import randomization_test
from tests.refusals import refuses

ONE, TWO, PEOPLE = [0.3, 2.0, 1.5, 3.1, 2.2, 0.9], [0.1, 1.0, 1.8, 2.5, 2.9, 1.9], [1.0, 2, 1, 3, 3, 1]
ITEMS, SYSTEMS, WINNERS = [1, 1, 1, 2, 2, 2], ["a", "b", "c"] * 2, [1, 2, 1, 2, 0, 1]
TABLE = [[1, 2, 3, 1, 2, 2], [1, 2, 3, 3, 2, 1], [1, 1, 3, 3, 2, 1]]
UNITS, WORKERS, VALUES = ["a", "a", "b", "b", "c", "c"], ["v", "w"] * 3, [1, 2, 2, 2, 1, 1]
PARTS, COUNTS = (UNITS, ["x"] * 6, WORKERS, VALUES), ([[0, 2], [3, 0]],)
GAMES = (list("abcabc"), list("bcacab"), WINNERS)
LISTS = ([["a", "b"], ["b", "c"]], [{"b"}, {"a", "c"}])
ORDERED = tuple([success_at_k(*LISTS, k=k), r_precision(*LISTS)] for k in (1, 2))
CHOICES = (["abc"] * 3 + ["bcd"] * 3, list("aabcbb"), list("cbcddc"))
MARKED = (UNITS, WORKERS, [9] * 6, [[(0, 3)], [(1, 4)], [], [(2, 4)], [(5, 8)], [(5, 8)]])
JUDGMENTS, REPEATED, BOTH = (UNITS, WORKERS, VALUES), (TABLE,), (ONE, TWO)
OUTPUTS, METRICS, BY_ITEM = (*BOTH, ITEMS, SYSTEMS), (*BOTH, PEOPLE, ITEMS, SYSTEMS), (ONE, PEOPLE, ITEMS)

# A signature, and the data of the call.
CALLS: dict[str, tuple[Any, ...]] = {
    "preference-strengths|model:cumulative|confidence:0.9|max_iterations:100|tolerance:1e-06|v:1.0": (
        *GAMES[:2],
        [1, -1, 1, -1, 0, 1],
    ),
    "mean-of-all-items|estimator:hajek|confidence:0.9|v:1.0": (ONE, [0.5] * 6),
    "kendall-tau-b-of-all-items|confidence:0.9|v:1.0": (ONE, TWO, [0.5] * 6),
    "rank-bands|confidence:0.9|draws:100|seed:3|v:1.0": ([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
    "soft-accuracy-of-comparisons|reassignments:100|seed:3|v:1.0": (*GAMES[:2], ONE, TWO),
    "variance-components|v:1.0": (
        [float(n % 7 + n // 5) for n in range(30)],
        [n // 5 for n in range(30)],
        [n % 5 for n in range(30)],
    ),
    "accuracy-by-references|confidence:0.8|v:1.0": ({2: (ONE, TWO)}, WINNERS),
    "adjusted-p|method:benjamini-hochberg|v:1.0": ([0.2, 0.01],),
    "agreement-by-pair|level:ordinal|weights:linear|v:1.0": REPEATED,
    "krippendorff-alpha|input:table|level:interval|confidence:0.95|resamples:50|seed:0|clusters:naive|v:1.0": REPEATED,
    "krippendorff-alpha|input:rows|level:ordinal|confidence:0.9|resamples:2000|seed:3|clusters:both|v:1.0": JUDGMENTS,
    "krippendorff-alpha|input:parts|level:ordinal|confidence:0.95|resamples:60|seed:0|clusters:both|v:1.0": PARTS,
    "accuracy-difference|confidence:0.9|v:1.0": (
        list(zip(ONE, TWO, strict=True)),
        list(zip(TWO, ONE, strict=True)),
        WINNERS,
    ),
    "correlation-difference|coefficient:spearman|missing:refuse|confidence:0.95|v:1.0": (ONE, TWO, PEOPLE),
    "soft-pairwise-accuracy|missing:leave-out|reassignments:40|seed:3|v:1.0": ([ONE, TWO], [TWO, PEOPLE]),
    "alternative-annotator|input:answers|scoring:rmse|epsilon:0.1|level:0.05|least_units:2|few:t|v:1.0": (
        *JUDGMENTS,
        [1, 1, 2, 2, 1, 1],
    ),
    "prediction-powered-mean|power:null|confidence:0.9|v:1.0": ([*ONE, *[np.nan] * 6], [*ONE, *TWO]),
    "prediction-powered-savings|sizes:[6]|draws:3|confidence:0.9|seed:2|v:1.0": ([*ONE, *TWO], [*TWO, *ONE]),
    "best-worst-scores|v:1.0": CHOICES,
    "luce-choice|prior:0.5|confidence:0.9|max_iterations:100|tolerance:1e-06|v:1.0": CHOICES[:2],
    "bootstrap|statistic:median|method:bca|confidence:0.95|resamples:50|seed:3|v:1.0": (ONE,),
    "borda|input:lists|v:1.0": (["abc", "cab"],),
    "bradley-terry|input:table|tie_model:half|prior:0|confidence:0.9|max_iterations:200|tolerance:1e-07|v:1.0": COUNTS,
    "bradley-terry|input:rows|tie_model:davidson|order_effect:true|prior:0.25"
    "|confidence:0.95|max_iterations:200|tolerance:1e-07|v:1.0": GAMES,
    "clusters|input:p-values|correction:none|level:0.001|v:1.0": ([2, 1], [[1, 0.01], [0.01, 1]]),
    "correlation|coefficient:kendall-tau-c|missing:refuse|confidence:0.95|resamples:50|seed:9|v:1.0": BOTH,
    "dawid-skene|labels:[1,2]|model:one-coin|smoothing:0.5|max_iterations:2000|tolerance:1e-10|v:1.0": JUDGMENTS,
    "glad|labels:null|restarts:2|seed:3|max_iterations:5000|tolerance:1e-05|v:1.0": JUDGMENTS,
    "item-response|prior:weak|max_iterations:5000|tolerance:1e-05|v:1.0": (
        UNITS,
        WORKERS,
        [0, 1, 1, 1, 0, 1],
    ),
    "known-groups|permutations:20|seed:1|v:1.0": (UNITS, WORKERS, VALUES, ["x", "y"] * 3),
    "mace|labels:[1,2]|training:em|restarts:2|seed:3|max_iterations:5000|tolerance:1e-05|v:1.0": JUDGMENTS,
    "rater-groups|labels:null|bootstraps:3|restarts:1|seed:0|max_iterations:500|tolerance:0.001|v:1.0": JUDGMENTS,
    "soft-label-divergence|v:1.0": ([[0.5, 0.5]], [[0.25, 0.75]]),
    "soft-labels|labels:[1,2]|correction:miller-madow|v:1.0": (UNITS, VALUES),
    "fleiss-kappa|confidence:0.95|resamples:100|seed:0|v:1.0": ([[2, 1], [0, 3], [3, 0]],),
    "grouped-correlation|coefficient:pearson|grouping:system-level|missing:refuse"
    "|confidence:0.95|resamples:50|seed:0|v:1.0": OUTPUTS,
    "gwet-ac|weights:quadratic|categories:[1,2,3,4]|confidence:0.95|resamples:99|seed:0|clusters:rater|v:1.0": REPEATED,
    "kappa-grid|first_thresholds:[0.5,0.8]|second_thresholds:[2,3]|missing:refuse"
    "|confidence:0.95|resamples:20|seed:0|v:1.0": BOTH,
    "cohen-kappa|weights:linear|labels:[1,2,3,5]|confidence:0.95|resamples:2000|seed:7|v:1.0": (
        TABLE[0],
        TABLE[1],
    ),
    "majority-vote|labels:[2,1]|ties:random|seed:9|v:1.0": (UNITS, VALUES),
    "mcnemar|input:counts|v:1.0": (5, 9),
    "mcnemar|input:outcomes|v:1.0": ([1, 0, 1], [0, 0, 1]),
    "mean-grade|v:1.0": (UNITS, VALUES),
    "median-rank|unjudged:count|v:1.0": LISTS,
    "pair-accuracy|confidence:0.9|v:1.0": (ONE, TWO, WINNERS),
    "pair-winners|triplet_ties:count|v:1.0": (UNITS, WINNERS),
    "pairwise-accuracy|epsilon:calibrate|missing:refuse"
    "|confidence:0.95|resamples:50|max_pairs:10000000|seed:0|v:1.0": BY_ITEM,
    "pairwise-accuracy|epsilon:0.25|missing:refuse"
    "|confidence:0.95|resamples:50|max_pairs:10000000|seed:0|v:1.0": BY_ITEM,
    'percent-agreement|weights:linear|categories:["no","1"]|confidence:0.9|resamples:99|seed:0|clusters:both|v:1.0': (
        [["1", "no"], ["no", "no"]],
    ),
    "r-precision|unjudged:refuse|v:1.0": LISTS,
    "order-correlation|coefficient:kendall-tau-b|v:1.0": ORDERED,
    "randomization|statistic:median|alternative:two-sided|reassignments:200|seed:4|v:1.0": BOTH,
    "recall-at|k:5|unjudged:leave-out|v:1.0": LISTS,
    "relevance-vote|at_least_share:[1,2]|v:1.0": (UNITS, [1, 0] * 3),
    "best-worst-split-half|splits:10|seed:7|v:1.0": ("ttuuvv", *CHOICES),
    "span-alpha-u|confidence:0.95|resamples:50|seed:2|v:1.0": MARKED,
    "span-f1|confidence:0.9|resamples:50|seed:0|v:1.0": MARKED,
    "standardised-mean|v:1.0": JUDGMENTS,
    "success-at|k:1|unjudged:count|v:1.0": LISTS,
    "threshold-kappa|first_at_least:0.6|second_at_least:2.5|missing:no"
    "|confidence:0.95|resamples:2000|seed:0|v:1.0": BOTH,
    "tournament|ties:no-win|confidence:0.95|resamples:200|seed:4|v:1.0": GAMES,
    "weighted-mean|v:1.0": (UNITS, VALUES, ONE),
    "confidence-vote|labels:null|v:1.0": (*JUDGMENTS, [1, 2, 3, 3, 2, 1]),
    "weighted-vote|labels:null|ties:lowest|seed:0|v:1.0": (UNITS, VALUES, ONE),
}


@pytest.mark.parametrize("signature", CALLS)
def test_a_signature_names_every_option_and_gives_the_same_result_again(signature: str) -> None:
    call = call_of(signature)
    first, again = call.function(*CALLS[signature], **call.options), call(*CALLS[signature])
    results, repeated = (one if isinstance(one, dict) else {"": one} for one in (first, again))
    assert {one.signature for one in results.values()} == {signature} == {str(parse(signature))}
    for key, one in results.items():
        np.testing.assert_equal(asdict(repeated[key]), asdict(one))


def test_every_statistic_is_among_these_calls() -> None:
    assert {call_of(signature).function for signature in CALLS} == set(STATISTICS)


def test_options_from_numpy_are_written_as_pythons_are() -> None:
    made = kappa_interval(TABLE[0], TABLE[1], labels=np.array([1, 2, 3, 4]), seed=np.int64(7), resamples=50)
    assert (
        made.signature
        == "cohen-kappa|weights:null|labels:[1,2,3,4]|confidence:0.95|resamples:50|seed:7|v:1.0"
    )


def test_each_cell_of_a_grid_has_the_signature_of_its_own_call() -> None:
    for cell in kappa_grid(ONE, TWO, resamples=30).cells:
        assert repr(call_of(cell.signature)(ONE, TWO, clusters="naive")) == repr(cell)  # nan is not nan


def test_a_function_or_a_running_stream_is_left_to_the_caller() -> None:
    def largest(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.max(axis=1))

    made = randomization_test(ONE, TWO, largest, reassignments=99, seed=np.random.default_rng(5))
    call = call_of(made.signature)
    assert call.missing_options == ("statistic", "seed")
    with refuses(BadSignature, "statistic", "seed"):
        call(ONE, TWO)
    assert call(ONE, TWO, statistic=largest, seed=np.random.default_rng(5)) == made


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("krippendorff-alpha", "is no signature"),
        ("krippendorff-alpha|input:table|v:0.1", "version 0.1, expected version 1.0"),
        (
            "krippendorff-alpha|input:rows|levels:ordinal|v:1.0",
            "levels.*krippendorff-alpha",
        ),
        ("krippendorffs-alpha|v:1.0", "accuracy"),
    ],
)
def test_a_signature_of_something_else_is_refused_with_the_reason(signature: str, reason: str) -> None:
    with pytest.raises(BadSignature, match=reason):
        call_of(signature)
