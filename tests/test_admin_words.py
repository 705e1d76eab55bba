"""Every list of the admin and every row's page says in words what is stored: no null, no JSON, no Python."""

import html
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db.models import JSONField
from django.test import Client, RequestFactory
from django.urls import reverse

from judgments.admin.columns import format_json
from judgments.kinds import KINDS
from judgments.models import Dataset, Study
from tests.marks import long_except

ROWS = [8, 40]  # of each model, spread over all
# Study files, which people read as they are, write "= [...]"; sentences may begin with "None yet".
STORED = re.compile(
    r"""\bnull\b|\bNone\b(?! yet)|\{\s*["']|(?<!= )\[\s*["']|\{\}|(?<!= )\[\]|\| Can |<[\w.]+ object"""
)

HAVE_PAGES_OF_THEIR_OWN = (Study, Dataset)

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> User:
    user = User.objects.create_superuser("boss")
    group = Group.objects.create(name="designers")
    group.permissions.set(Permission.objects.filter(codename="add_study"))
    user.groups.add(group)
    return user


def words_of(page: str) -> str:
    page = re.sub(r"<(script|style|template).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


@pytest.mark.parametrize("most", long_except(ROWS, 8))
def test_no_page_after_the_demo_shows_a_value_as_it_is_stored(
    client: Client, boss: User, settings: Any, tmp_path: Path, most: int
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    call_command("load_demo", stdout=io.StringIO())
    client.force_login(boss)
    seen, found = set(), []
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        keys = list(model._default_manager.order_by("pk").values_list("pk", flat=True))
        rows = keys[:: max(1, -(-len(keys) // most))]
        for address in (
            reverse(f"{name}_changelist"),
            *(reverse(f"{name}_change", args=[key]) for key in rows),
        ):
            answer = client.get(address, follow=True)
            assert answer.status_code == 200, address
            shown = words_of(answer.content.decode())
            seen.add(model) if rows else None
            found += [
                f"{address}: {shown[max(0, m.start() - 40) : m.end() + 40]}" for m in STORED.finditer(shown)
            ]
    assert len(seen) > 15
    assert found == [], "\n".join(found[:40])


def test_no_stored_json_is_a_field_of_a_rows_page(boss: User) -> None:
    request = RequestFactory().get("/")
    request.user = boss
    raw = [
        f"{model.__name__}.{field.name}"
        for model, page in admin.site._registry.items()
        if model not in HAVE_PAGES_OF_THEIR_OWN
        for field in model._meta.concrete_fields
        if isinstance(field, JSONField) and field.name in page.get_fields(request, model())
    ]
    assert raw == []


def test_permissions_are_named_by_what_they_allow(client: Client, boss: User) -> None:
    client.force_login(boss)
    shown = client.get(reverse("admin:auth_group_add")).content.decode()
    assert ">Studies: add</option>" in shown
    assert ">Studies: view</option>" in shown


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (None, "–"),
        ({}, "–"),
        ([], "–"),
        (0, "0"),
        (True, "yes"),
        (["bleu-1", "cider"], "bleu-1, cider"),
        ({"seed": 7, "crowd": {"rules": False, "sorts": None}}, "seed: 7\ncrowd: rules: no, sorts: –"),
    ],
)
def test_a_stored_value_in_words(stored: Any, said: str) -> None:
    assert format_json(stored) == said


def test_typed_keywords_in_words() -> None:
    assert KINDS["keywords"].describe_answer(["dog", "red ball"]) == "dog, red ball"
