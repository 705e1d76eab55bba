"""A worker's client over HTTP: the calls of docs/api.md, and the problem documents they may give."""

import json
from typing import Any

from django.test import Client

from judgments.models import Study
from tests.studies import make_worker

Headers = dict[str, str]


def post(path: str, body: Any = None, headers: Headers | None = None) -> Any:
    return _send("post", path, body, headers)


def patch(path: str, body: Any, headers: Headers | None = None) -> Any:
    return _send("patch", path, body, headers)


def _send(method: str, path: str, body: Any, headers: Headers | None) -> Any:
    extra = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    return getattr(Client(), method)(path, headers=headers or {}, **extra)


def join(study: Study, **body: Any) -> Any:
    return post(f"/api/studies/{study.slug}/join/", {"worker": "w-0007"} | body)


def begin(study: Study, name: str = "w-0007") -> tuple[Headers, dict[str, Any]]:
    """Headers of a worker who joined, and the HIT that they accepted."""
    _, headers = make_worker(study, name)
    return headers, accept(study, headers).json()


def accept(study: Study, headers: Headers) -> Any:
    return post(f"/api/studies/{study.slug}/assignments/", headers=headers)


def submit(assignment: Any, answers: Any, headers: Headers, **more: Any) -> Any:
    return post(f"/api/assignments/{assignment}/submit/", {"answers": answers} | more, headers)


def answers_to(shown: dict[str, Any], value: float = 1) -> list[dict[str, float]]:
    return [{"position": unit["position"], "value": value} for unit in shown["units"]]


def is_problem(response: Any, status: int) -> dict[str, Any]:
    """The problem document of a response, checked to be one."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"].strip()
    assert body["type"]
    return body
