"""A study file has a value of the wrong kind at some key: a sentence says which, by page, command and call."""

import datetime
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import tomli_w
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from common.errors import DesignError
from judgments.design.editing.form.values import values_from_toml
from judgments.design.reading.checking import make_design, problems_in
from judgments.design.reading.study_files import write_toml
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from tests.doors import key_of
from tests.judgments.desk import ADD, new_design, words
from tests.studies import make_dataset, make_study

NEW = "admin:judgments_study_add"

WRONG: dict[str, Any] = {
    "a list": [],
    "a table": {},
    "a filled table": {"a": {"b": 1}},
    "nothing": None,
    "a date": datetime.date(2026, 1, 2),
    "a moment": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    "a time": datetime.time(1, 2),
    "a huge number": 10**400,
    "a negative number": -1,
    "no number": float("nan"),
    "infinity": float("inf"),
    "a nested list": [[[1]]],
    "a list of tables": [{}],
    "a list of everything": [1, "a", {}, [], None],
    "true": True,
    "an empty text": "",
    "U+0000": "a\x00",
    "half a pair": "\ud800",
}


def keys_of(model: type[BaseModel], before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Each key of a study file, with those of its tables and of the first row of its lists."""
    for name, field in model.model_fields.items():
        path = (*before, name)
        yield path
        yield from keys_within(field.annotation, path)


def keys_within(annotation: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from keys_of(annotation, path)
        return
    parts = get_args(annotation)
    if not parts:
        return
    origin = getattr(annotation, "__origin__", None)
    if origin is tuple:
        yield (*path, 0)
        yield from keys_within(parts[0], (*path, 0))
    elif origin is dict:
        yield (*path, "de")
        yield from keys_within(parts[1], (*path, "de"))
    else:
        for part in parts:
            if not isinstance(part, str):
                yield from keys_within(part, path)


KEYS = sorted(set(keys_of(StudyDesign)), key=str)


def with_value(values: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Copy nested tables and lists with another value at ``path``."""
    if not path:
        return value
    key, *rest = path
    if key == 0:
        first = values[0] if isinstance(values, list) and values else None
        return [with_value(first, tuple(rest), value)]
    table = values if isinstance(values, dict) else {}
    return table | {key: with_value(table.get(str(key)), tuple(rest), value)}


PRESET, PROTOCOL = {"preset": "our-best-worst"}, {"protocol": "triplet"}
WHOLE = make_design({"name": "a", "dataset": "animals"} | PROTOCOL).model_dump(mode="json")


def problem_of(values: dict[str, Any]) -> str:
    """The sentence that refuses a design, or "": then it can be written and stored."""
    try:
        design = make_design(values)
    except DesignError as error:
        return str(error)
    write_toml(design).encode()
    json.dumps(design.model_dump(mode="json"), allow_nan=False)
    return ""


@pytest.mark.parametrize(
    "base",
    [
        pytest.param(PRESET, id="preset", marks=pytest.mark.long),
        pytest.param(PROTOCOL, id="protocol", marks=pytest.mark.long),
        pytest.param(WHOLE, id="whole"),
    ],
)
def test_a_wrong_value_at_any_key_is_a_sentence_or_does_no_harm(base: dict[str, Any]) -> None:
    names = {"name": "a", "dataset": "animals"}
    for path in KEYS:
        for value in WRONG.values():
            values = with_value(names | base, path, value)
            sentence = problem_of(values)
            assert bool(sentence) == bool(problems_in(values)), (path, value)
            assert "\n" not in sentence
            assert len(sentence) < 1000


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(list(WRONG.values())), min_size=2, max_size=5))
def test_several_wrong_values_at_once_are_a_sentence_too(wrong: dict[tuple[str | int, ...], Any]) -> None:
    values = {"name": "a", "dataset": "animals"} | PROTOCOL
    for path in sorted(wrong, key=len, reverse=True):  # what is inside a table before the table
        values = with_value(values, path, wrong[path])
    assert bool(problem_of(values)) == bool(problems_in(values))


@pytest.mark.parametrize("preset", [[], {}, [[]], {"a": {"b": 1}}, True, 0, None, "no such preset"])
@pytest.mark.parametrize("base", [PROTOCOL, WHOLE], ids=["protocol", "whole"])
def test_a_preset_that_is_no_name_is_said(base: dict[str, Any], preset: Any) -> None:
    values = {"name": "a", "dataset": "animals"} | base | {"preset": preset}
    if base is WHOLE and isinstance(preset, str):  # complete without its preset, which may be deleted
        assert not problem_of(values)
    else:
        assert problem_of(values).startswith(f"preset is {preset!r}; expected one of vedantam-2015-triplet")


@pytest.mark.parametrize(
    "text",
    [
        "seed = 0x" + "f" * 6_000,
        "seed = " + "9" * 6_000,
        "protocol = 0x" + "f" * 6_000,
        "name" + ".a" * 5_000 + " = 1",
        "[controls" + ".a" * 5_000 + "]\nb = 1",
        "a = " + "[" * 5_000 + "]" * 5_000,
    ],
)
def test_a_file_whose_values_cannot_be_written_is_no_study_file(text: str) -> None:
    with pytest.raises(DesignError, match="TOML"):
        values_from_toml(text)


def texts_of_files() -> Iterator[tuple[str, str]]:
    """A file for each key, each with another wrong value."""
    wrong = [
        value
        for name, value in WRONG.items()
        if name not in ("nothing", "half a pair", "a list of everything")
    ]
    for number, path in enumerate(KEYS):
        value = wrong[number % len(wrong)]
        values = with_value({"name": "a", "dataset": "animals"} | PROTOCOL, path, value)
        yield tomli_w.dumps(values), problem_of(values)
    presets: tuple[Any, ...] = ([], {})
    for preset in presets:
        values = {"name": "a", "dataset": "animals", "preset": preset}
        yield tomli_w.dumps(values), problem_of(values)


@pytest.mark.long
@pytest.mark.django_db
def test_a_call_says_the_sentence(designer: Client) -> None:
    make_dataset()
    staff = key_of(User.objects.get())
    for text, sentence in texts_of_files():
        answer = Client().post("/api/studies/", text, content_type="application/toml", headers=staff)
        assert answer.status_code == (400 if sentence else 201), text
        if sentence:
            assert answer.json()["detail"] == sentence
        Study.objects.all().delete()


@pytest.mark.django_db
@pytest.mark.parametrize("preset", [[], {}, [[1]], 7])
def test_a_preset_that_is_no_name_is_said_by_call_and_patch(designer: Client, preset: Any) -> None:
    draft = make_study("graded", opened=False)
    staff, before = key_of(User.objects.get()), draft.design
    design = f"/api/studies/{draft.slug}/design/"
    values = {"name": "a", "dataset": "animals", "protocol": "triplet", "preset": preset}
    for method, path in (("post", "/api/studies/"), ("put", design), ("patch", design)):
        sent = {"preset": preset} if method == "patch" else values
        answer = getattr(Client(), method)(path, sent, content_type="application/json", headers=staff)
        assert answer.status_code == 400
        assert f"preset is {preset!r}" in answer.json()["detail"]
    draft.refresh_from_db()
    assert draft.design == before


@pytest.mark.long
@pytest.mark.django_db
def test_the_pages_say_the_sentence(designer: Client) -> None:
    make_dataset()
    for text, sentence in [*texts_of_files()][::25] + [*texts_of_files()][-2:]:
        typed = designer.post(reverse(NEW) + ADD, new_design() | {"toml": text, "_apply": ""})
        assert typed.status_code == 200
        assert sentence in words(typed)
        sent = designer.post(reverse("admin:judgments_study_from_file"), {"text": text})
        assert sent.status_code == (200 if sentence else 302)
        assert sentence in words(sent)
        Study.objects.all().delete()
        based = designer.post(
            reverse(NEW) + ADD, new_design() | {"_base": json.dumps(tomllib.loads(text), default=str)}
        )
        assert based.status_code in (200, 302)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "said"),
    [("preset = []", "preset is []"), ("preset = {}", "preset is {}"), ("sampling = []", "sampling is []")],
)
def test_the_command_says_the_sentence(tmp_path: Path, line: str, said: str) -> None:
    file, pairs = tmp_path / "study.toml", tmp_path / "pairs.csv"
    file.write_text(f'name = "a"\ndataset = "animals"\nprotocol = "graded"\n{line}\n')
    pairs.write_text("image,caption\ncat.jpg,A cat.\n")
    for options in ([], ["--pairs", str(pairs)]):
        with pytest.raises(CommandError, match=re.escape(said)):
            call_command("create_study", str(file), *options)
    assert not Study.objects.exists()
