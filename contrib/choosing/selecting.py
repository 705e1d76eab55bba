"""Choose items of a draft by their scores, and store them with their probabilities in the design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from common.amounts import thousands
from common.errors import WrongState
from contrib.choosing.loading import check_items_can_be_chosen, population_of_draft
from contrib.choosing.population import Population, ScoredPopulation, score_population
from evaluation.errors import EvaluationError, as_sentence
from evaluation.models import DEFAULT_TOKENIZER
from judgments.access.study_log import note_event
from judgments.design.reading.checking import make_design
from judgments.drawing.draws import rng_for
from judgments.models import Study
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import change_design
from quorum.numeric.arrays import Floats
from quorum.statistics import choosing
from quorum.statistics.choosing import FLOOR, METHODS, draw_items, inclusion_probabilities
from quorum.statistics.inputs import StatisticsError, one_of

# Methods of selection besides METHODS: a uniform sample, and all items, which undoes an earlier selection.
UNIFORM, ALL_ITEMS = "even", "all"
ITEM_LABELS = {"pairs": gettext_noop("candidate pairs"), "images": gettext_noop("items")}

# These metrics reward different properties, and take only seconds for thousands of captions.
USUAL_METRICS = ("bleu-4", "rouge-l", "cider-d")
MAX_IDS = 100_000  # number of ids in a design


def usefulness_of(method: str, population: Population, scores: ScoredPopulation | None) -> Floats:
    """Return the (I,) usefulness of the items for a method of selection. More useful items are drawn more often.

    Args:
        scores: the scores of the items and of their rows (pairs or captions); None only for a uniform sample.

    Raises:
        EvaluationError: the scores do not suit the method.
    """
    if method == UNIFORM:
        return np.ones(population.size)
    assert scores is not None
    try:
        one_of(method, METHODS, "method")  # the job may come from an earlier version that had another method
        if method == "disagreement":
            return choosing.order_disagreement(scores.item_scores)
        if population.pairs:
            return choosing.comparison_information(scores.row_scores)
        return choosing.score_information(scores.item_scores)
    except StatisticsError as error:
        raise EvaluationError(as_sentence(error)) from None


def check_draft_for_choosing(study: Study) -> None:
    """Raise WrongState if items cannot be chosen, because the study is no draft or its kind does not support this."""
    check_items_can_be_chosen(study)
    if study.state != Study.State.DRAFT:
        raise WrongState(
            pgettext("staff", "Study %(slug)r is %(state)s; items can be chosen only in a draft.")
            % {"slug": study.slug, "state": _(study.state)}
        )


def compute_choice(
    *,
    study: Study,
    method: str,
    budget: int,
    metrics: Sequence[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    floor: float | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Sample items. Return what the design will store: its table ``chosen``, and ``only`` of its table ``sampling``.

    Args:
        method: a method of selection, but not ALL_ITEMS.
        floor: the least probability of an item, as a fraction of that in a uniform sample.

    Raises:
        WrongState: the study is not a draft, or its kind does not support choosing.
        EvaluationError: the budget or a metric is not suitable.
    """
    check_draft_for_choosing(study)
    progress(0.05, "drawing")
    population = population_of_draft(study)
    if budget > population.size:
        raise EvaluationError(
            pgettext(
                "staff",
                "“budget” is %(budget)s, but the design has only %(n)s %(what)s; expected at most this number.",
            )
            % {
                "budget": thousands(budget),
                "n": thousands(population.size),
                "what": _(ITEM_LABELS[population.per]),
            }
        )
    if method == UNIFORM:
        scores, floor = None, 1.0
    else:
        progress(0.2, "scoring captions")
        scores = score_population(study, population, metrics, tokenizer)
        floor = FLOOR if floor is None else floor
    progress(0.7, "choosing")
    try:
        chance = inclusion_probabilities(usefulness_of(method, population, scores), budget, floor=floor)
    except StatisticsError as error:
        raise EvaluationError(as_sentence(error)) from None
    drawn_indices = set(draw_items(chance, seed=rng_for(seed, "chosen items")).tolist())
    chances = {  # of the pairs or captions of drawn items, by their ids in the design
        key: float(chance[item])
        for key, item in zip(population.keys, population.item.tolist(), strict=True)
        if item in drawn_indices
    }
    if len(chances) > MAX_IDS:
        raise EvaluationError(
            pgettext(
                "staff",
                "This would choose too many items (%(n)s); expected at most %(most)s, the "
                "limit for a design.",
            )
            % {"n": thousands(len(chances)), "most": thousands(MAX_IDS)}
        )
    choice = {
        "method": method,
        "scores": dict(scores.signatures) if scores else {},
        "seed": seed,
        "floor": floor,
        "per": population.per,
        "budget": budget,
        "population": population.size,
        "chances": chances,
    }
    return {"chosen": choice, "only": sorted(chances)}


@transaction.atomic
def store_choice(*, study: Study, choice: dict[str, Any] | None, by: User | None = None) -> Study:
    """Store a choice of items in a draft's design.

    Args:
        choice: a result of ``compute_choice``; None to judge all items again.
    """
    values = study.design | {
        "sampling": study.design["sampling"] | {"only": choice["only"] if choice else []},
    }
    values.pop("chosen", None)
    if choice:
        values["chosen"] = choice["chosen"]
    elif study.design.get("chosen") is None:
        return study
    changed_study = change_design(study=study, design=make_design(values))
    sentence = "All items are judged again."
    if choice:
        record = choice["chosen"]
        sentence = (
            f"Chosen {record['per']}: {record['budget']:,} of {record['population']:,} (by {record['method']}, seed "
            f"{record['seed']})."
        )
    note_event(study=changed_study, what="items-chosen", sentence=sentence, by=by)
    return changed_study


def describe_choice(choice: dict[str, Any] | None) -> str:
    if not choice:
        return _("The choice of items was undone. All items will be judged.")
    record = choice["chosen"]
    return pgettext("staff", "Chosen %(what)s: %(budget)s of %(n)s (%(method)s, seed %(seed)s).") % {
        "budget": thousands(record["budget"]),
        "n": thousands(record["population"]),
        "what": _(ITEM_LABELS[record["per"]]),
        "method": record["method"],
        "seed": record["seed"],
    }
