"""What a browser without scripts sees of a page of work, and what it sends back."""

import re
from typing import Any

from annotation.models import Assignment
from judgments.models import Study
from tests.annotation.casting import Person

KINDS = ("triplet", "pairwise", "relevance", "graded")


def work_of(study: Study, person: Person) -> tuple[str, Assignment]:
    """The page of work as HTML, and the assignment it is about."""
    response = person.client.get(f"/s/{study.slug}/work/")
    assert response.status_code == 200
    return response.content.decode(), Assignment.objects.get(worker=person.worker, state="accepted")


def positions_on(html: str) -> list[str]:
    """Of the units on a page of work."""
    return " ".join(re.findall(r'data-places="([\d ]+)"', html)).split()


def submit(study: Study, person: Person, assignment: Assignment, fields: dict[str, str]) -> Any:
    return person.client.post(f"/s/{study.slug}/work/{assignment.pk}/submit/", fields)
