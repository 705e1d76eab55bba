"""The whole HTTP interface held to its own description, with requests that Schemathesis makes up.

The requests are the same at each run: what is found here is found again. ``QUORUM_SCHEMA_EXAMPLES`` makes up more, of
requests that the description allows, and of a third as many that break it. Of Schemathesis's checks these are left out:

- positive_data_acceptance: what is allowed may be refused all the same, as OpenAPI can describe neither cursors nor
  rules over two members;
- ignored_auth, missing_required_header, unsupported_method, allow_header_conformance: they send requests of their own;
  tests/test_strangers.py and test_api_hostile.py ask the same of every address;
- use_after_free, ensure_resource_availability, object_level_authorization: these are of chains of calls, which the
  command makes (docs/api.md).
"""

import os
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotation.work.claims import claim_assignment
from annotation.work.sheet import units
from config.wsgi import application
from evaluation.results.aggregation import aggregate_study
from judgments.access.tokens import SCOPES, create_token
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("QUORUM_SCHEMA_EXAMPLES", "4"))
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
SHARES = 6  # tests that the calls are dealt out to


@pytest.fixture(scope="module")
def operations(module_db: None) -> list[APIOperation]:
    """Every call that is described. Read when it is needed: each process of a run collects this module."""
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    found = [
        operation
        for one in schema.get_all_operations()
        if isinstance(one, Ok) and isinstance(operation := one.ok(), APIOperation)
    ]
    assert len(found) > 60
    return found


@dataclass(frozen=True)
class Scene:
    """What requests are about, and who sends them."""

    real: dict[str, list[str]]  # values that are there, by the name of a parameter
    held: str  # the id of an assignment
    staff: dict[str, str]
    worker: dict[str, str]


@pytest.fixture(scope="module")
def scene(module_db: None) -> Scene:
    study = make_study(controls={"per_hit": 1})
    draft = make_study("graded", opened=False)
    worker, of_worker = make_worker(study)
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    aggregate_study(study=study)
    user = User.objects.create_superuser("designer")
    _, key = create_token(user=user, name="all", scopes=list(SCOPES))
    real = {
        "slug": [study.slug, draft.slug],
        "study": [study.slug, draft.slug],
        "name": ["animals"],
        "dataset": ["animals"],
        "worker": [worker.name],
    }
    return Scene(real, str(claim.assignment.pk), {"Authorization": f"Token {key}"}, of_worker)


@pytest.mark.long
@pytest.mark.parametrize("share", range(SHARES))
def test_every_call_answers_as_described(share: int, operations: list[APIOperation], scene: Scene) -> None:
    for operation in operations[share::SHARES]:
        with transaction.atomic():
            try:
                _check(operation, scene)
            except Exception as error:
                error.add_note(f"It was asked for {operation.label}.")
                raise
            transaction.set_rollback(True)
        units._cached_units.cache_clear()  # of HITs whose ids are given again


def _check(operation: APIOperation, scene: Scene) -> None:
    tags = (operation.definition.raw or {}).get("tags", [])
    headers = scene.worker if "worker" in tags else scene.staff

    def answers_as_described(case: Any, data: Any) -> None:
        for part in (case.path_parameters, case.query, case.body):
            for name in part if isinstance(part, dict) else ():
                if name in scene.real and data.draw(st.booleans()):
                    part[name] = data.draw(st.sampled_from(scene.real[name]))
        if "id" in (case.path_parameters or {}) and data.draw(st.booleans()):
            case.path_parameters["id"] = scene.held if "assignments" in operation.label else "1"
        case.call_and_validate(headers=headers, checks=CHECKS)

    _try(operation, GenerationMode.POSITIVE, EXAMPLES, answers_as_described)
    if operation.query or operation.body:  # any text can stand in an address, or in a header
        _try(operation, GenerationMode.NEGATIVE, max(1, EXAMPLES // 3), answers_as_described)


def _try(operation: Any, mode: GenerationMode, examples: int, holds: Any) -> None:
    """Calls ``holds(case=..., data=...)`` with requests that the description allows, or with some that break it."""
    same = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    same(given(case=operation.as_strategy(generation_mode=mode), data=st.data())(holds))()
