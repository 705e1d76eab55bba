"""Audited filters and named units: what is drawn beyond what passes, and drawn again."""

from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.drawing.material import Batch
from judgments.kinds import KINDS
from tests.judgments.material import CROSSED, animals, batch_of, made_up, units_of
from tests.refusals import refuses

FILTER = {"bleu_pre": 0.25, "fill_to": 10}


def drawn(protocol: str = "relevance", audit: int = 0, **values: Any) -> Batch:
    return batch_of(animals(), protocol, sampling=CROSSED, filter={**FILTER, "audit": audit}, **values)


def audited(batch: Batch) -> list[str]:
    return [unit.key for unit in units_of(batch) if unit.audited]


@pytest.mark.parametrize("protocol", ["relevance", "graded"])
def test_so_many_of_those_left_out_are_judged_all_the_same(protocol: str) -> None:
    plain, batch = drawn(protocol), drawn(protocol, 7)
    assert len(audited(batch)) == 7
    assert batch.notes["audited"] == 7
    assert "audited" not in plain.notes
    passed = {unit.key for unit in units_of(plain) if not unit.filtered}
    assert not passed & set(audited(batch))
    assert {unit.key for unit in units_of(batch) if not unit.filtered and not unit.audited} == passed
    assert not any(unit.filtered for unit in units_of(batch) if unit.audited)
    assert len({unit.key for unit in units_of(batch)}) == len(units_of(batch))


def test_the_sample_comes_from_the_seed() -> None:
    assert drawn(audit=7) == drawn(audit=7)
    assert audited(drawn(audit=7, seed=3)) != audited(drawn(audit=7))


def test_more_than_there_are_gives_all_of_them() -> None:
    batch = drawn(audit=10_000)
    assert len(audited(batch)) == batch.notes["candidate_pairs"] - batch.notes["passed_filter"]


def test_an_audit_of_no_filter_is_refused() -> None:
    with refuses(DesignError, "filter.audit is 5", "filter.bleu_pre", field="filter.audit"):
        make_design({"name": "x", "dataset": "x", "protocol": "relevance", "filter": {"audit": 5}})


@pytest.mark.parametrize("protocol", ["relevance", "graded", "pairwise", "triplet"])
def test_only_what_is_named_is_drawn_and_is_the_same_as_before(protocol: str) -> None:
    material = made_up()
    whole = batch_of(material, protocol, filter={"fill_to": 0})
    pairs = bool(whole.pairs)
    names = [pair.key for pair in whole.pairs] if pairs else [unit.key for unit in units_of(whole)]
    chosen = sorted(names)[:3]
    batch = batch_of(material, protocol, sampling={"only": chosen}, filter={"fill_to": 0})
    assert (
        sorted({pair.key for pair in batch.pairs} if pairs else {unit.key for unit in units_of(batch)})
        == chosen
    )
    before = {unit.key: unit for unit in units_of(whole)}
    assert all(before[unit.key] == unit for unit in units_of(batch))


@pytest.mark.parametrize("protocol", ["relevance", "pairwise"])
def test_what_the_design_does_not_draw_cannot_be_named(protocol: str) -> None:
    with refuses(DesignError, field="sampling.only"):
        batch_of(made_up(), protocol, sampling={"only": ["nonsense"]})


def test_kinds_without_units_to_choose_refuse_names() -> None:
    with refuses(DesignError, 1, field="sampling.only"):
        make_design({"name": "x", "dataset": "x", "protocol": "caption", "sampling": {"only": ["a"]}})
    assert sum(kind.supports_unit_ids for kind in KINDS.values()) == 6
