"""Designs that 0.5.0 stored: they read as crossed, and draw the same units."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from judgments.design.study_design import make_design
from judgments.models import SavedPreset, Study
from judgments.studies.generation import build_batch
from judgments.studies.studies import create_study, design_of
from tests.annotation.casting import make_dataset

BEFORE, AFTER = "0013_inputs_of_items", "0014_outputs_by_task"
NEW_KEYS = ("pairs_from", "k", "task", "foils", "listed")


def migrated(name: str) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate([("judgments", name)])
    return executor.loader.project_state([("judgments", name)]).apps


@pytest.mark.django_db(transaction=True)
def test_stored_designs_and_presets_read_as_crossed_and_keep_their_units() -> None:
    dataset = make_dataset(images=8, pictures=False)
    crossed = {"sampling": {"pairs_from": "crossed"}}
    expected = {}
    for protocol in ("relevance", "graded", "slider", "triplet"):
        values = {"name": protocol, "dataset": dataset.name, "protocol": protocol, "seed": 5}
        study = create_study(design=make_design(values | (crossed if protocol != "triplet" else {})))
        expected[protocol] = build_batch(design_of(study), dataset)
        for key in NEW_KEYS:
            study.design["sampling"].pop(key)
        study.save()
    SavedPreset.objects.create(
        slug="ours", title="Ours", values={"protocol": "graded", "sampling": {"images": 3}}
    )
    try:
        migrated(BEFORE)
        migrated(AFTER)
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    for protocol, batch in expected.items():
        study = Study.objects.get(slug=protocol)
        assert design_of(study).sampling.pairs_from == ("outputs" if protocol == "triplet" else "crossed")
        assert build_batch(design_of(study), dataset) == batch
    assert expected["graded"].unit_count == 6 * 12
    assert SavedPreset.objects.get().values["sampling"] == {"images": 3, "pairs_from": "crossed"}
