"""README, documentation, messages and code say each thing in the word of docs/words.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import messages

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "docs/words.md"
PACKAGES = ("annotation", "common", "config", "contrib", "evaluation", "judgments", "quorum", "quorum_client")
# Expressions of the column "not" of docs/words.md that have no other meaning, with their forms.
REPLACED = {
    "control item": r"control items?",
    "gold item": r"gold items?",
    "test item": r"test items?",
    "known answer": r"known answers?",
    "piece of work": r"pieces? of work",
    "under way": r"under way",
    "hand in": r"hand(?:s|ed|ing)? (?:\w+ )?in(?! hand)",
    "give back": r"(?:gives?|gave|given|giving) (?:\w+ )?back",
    "set aside": r"set(?:s|ting)? (?:\w+ )?aside",
    "banned": r"banned",
    "least share": r"least share",
    "put up": r"put(?:s|ting)? up",
    "minimum wage": r"minimum wages?",
    "least pay": r"least pay",
    "even draw": r"even draws?",
    "held against people": r"(?:held|holds?|holding) (?:[\w ]+ )?against",
    "cannot be told apart": r"told apart",
    "dry run": r"dry runs?",
    "take back": r"(?:takes?|took|taken|taking) (?:\w+ )?back",
    "by itself": r"by (?:itself|themselves)",
    "for good": r"for good",
}
EXPRESSION = re.compile(rf"\b(?:{'|'.join(REPLACED.values())})\b", re.IGNORECASE)
# Words that messages do not have, but documentation of files, calls and statistics has.
IN_FILES = re.compile(r"\b(?:workers?|raters?|units?|slots?|seats?)\b", re.IGNORECASE)
# History, and the pages about words themselves.
OTHER_PROSE = ("docs/decisions/", "docs/words.md", "docs/languages.md")
# Names of columns and keys, and sentences of reports, which releases repeat.
STORED = {
    "control items",
    "control items right",
    "of these on control items",
    "of these set aside",
    "control items right, %",
    "control items right in %, Wilson's 95 % interval",
    "Control items right, by worker",
    "Nobody has handed in anything yet",
}


def prose() -> list[Path]:
    pages = [ROOT / "README.md", ROOT / "demo/README.md", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "contrib").glob("*/README.md")
    return [page for page in sorted(pages) if not page.relative_to(ROOT).as_posix().startswith(OTHER_PROSE)]


def without_code(text: str) -> str:
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


def strings_of_code() -> Iterator[tuple[str, str]]:
    """Yield the strings of modules without tests, docstrings and protocol packs."""
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if {"tests", "migrations"} & set(file.parts):
                continue
            tree = ast.parse(file.read_bytes())
            docstrings = {
                id(scope.body[0].value)
                for scope in ast.walk(tree)
                if isinstance(scope, scopes) and scope.body and isinstance(scope.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and id(node) not in docstrings
                ):
                    yield path, node.value


def sentences_of(message: str) -> str:
    """Return a message without placeholders, quoted names and keys of files."""
    return re.sub(r"%\(\w+\)\w|\{\w+\}|“\w+”|\w*[._]\w[\w.]*", "", message)


def test_every_replaced_expression_is_in_the_table() -> None:
    rows = [
        line.split("|") for line in WORDS.read_text(encoding="utf-8").splitlines() if line.startswith("|")
    ]
    replaced = [expression.strip() for row in rows for expression in re.split("[,;]", row[3])]
    assert sorted(REPLACED.keys() - set(replaced)) == []


@pytest.mark.parametrize("page", prose(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_of_documentation_has_the_words_of_the_table(page: Path) -> None:
    text = without_code(page.read_text(encoding="utf-8"))
    assert [text[max(0, m.start() - 40) : m.end() + 40] for m in EXPRESSION.finditer(text)] == []


def test_messages_have_the_words_of_the_table() -> None:
    catalogues = [*messages.collect_messages(), *messages.collect_messages(staff=True)]
    found = {
        text
        for message in catalogues
        for text in (message.id if isinstance(message.id, tuple) else (message.id,))
        if EXPRESSION.search(text) or IN_FILES.search(sentences_of(text))
    }
    amazon = {text for text in found if "worker’s page" in text}  # a page of Mechanical Turk for its workers
    assert sorted(found - amazon - {"worker process", *STORED}) == []


def test_strings_of_code_have_the_words_of_the_table() -> None:
    found = [
        (path, text) for path, text in strings_of_code() if EXPRESSION.search(text) and text not in STORED
    ]
    assert found == []
