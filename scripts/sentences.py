"""Write tests/sentences.txt, the messages of errors by module and class: ``python -m scripts.sentences``.

Tests check only the class, field and values of an error. This file shows changes of messages, with placeholders as in
the code.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("annotation", "common", "config", "contrib", "evaluation", "judgments", "quorum", "quorum_client")
CATALOGUE = ROOT / "tests" / "sentences.txt"
FILE_HEADER = "What errors say. `python -m scripts.sentences` writes this file; read what it changes.\n"
# Folders whose constants are reasons for undefined figures.
NUMERIC_FOLDERS = ("quorum/metrics/", "quorum/statistics/")
# functions and classes that raise or report errors, in addition to the exceptions in the code
CALLS = {"CommandError", "Error", "ValidationError", "Warning", "add_error", "error", "exit", "problem"}
Scope = ast.Module | ast.FunctionDef
Values = Mapping[str, list[ast.expr]]


def catalogue() -> str:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    files = [file for file in files if not {"tests", "migrations"} & set(file.parts)]
    trees = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_bytes()) for file in files}
    errors, lines = error_names(trees.values()), [FILE_HEADER]
    for path, tree in trees.items():
        messages = sorted(
            {*sentences(tree, errors, (tree,)), *(reasons(tree) if path.startswith(NUMERIC_FOLDERS) else ())}
        )
        lines += [f"\n{path}\n"] if messages else []
        for error, entries in groupby(messages, key=lambda pair: pair[0]):
            lines += [f"  {error}\n", *(f"    {sentence}\n" for _, sentence in entries)]
    return "".join(lines)


def error_names(trees: Iterable[ast.Module]) -> set[str]:
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    names = CALLS | {name for name in dir(builtins) if name.endswith("Error")} | {"Exception"}
    while new_names := {c.name for c in classes if names & set(map(last_name, c.bases))} - names:
        names |= new_names
    return names


def last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def sentences(
    node: ast.AST, errors: set[str], scopes: tuple[Scope, ...], owner: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the errors that are raised or created below ``node``, as (class or function, message)."""
    if isinstance(node, ast.ClassDef) and node.name in errors:
        owner = node.name
    if isinstance(node, ast.FunctionDef):
        scopes = (*scopes, node)
    call = node.exc if isinstance(node, ast.Raise) else node
    if isinstance(call, ast.Call):
        name = last_name(call.func)
        name = owner if name == "__init__" else name
        if name in errors or call is not node:
            values = {name: nodes for scope in scopes for name, nodes in assigned_values(scope).items()}
            arguments = (*call.args, *(keyword.value for keyword in call.keywords))
            texts = [text for argument in arguments for text in literals(argument, values)]
            if message_texts := [text.strip().replace("\n", "\\n") for text in texts if " " in text.strip()]:
                yield name, " | ".join(message_texts)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Name, ast.Constant, ast.expr_context)):  # skip leaves, which are most nodes
            continue
        yield from sentences(child, errors, scopes, owner)


def reasons(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for name, values in assigned_values(tree).items():
        if isinstance(values[0], ast.Constant) and str(values[0].value).count(" ") > 1 and name.isupper():
            yield name, str(values[0].value)


@cache
def assigned_values(scope: Scope) -> Values:
    """Return the values that a module or function assigns to names, by name."""
    values_by_name: dict[str, list[ast.expr]] = {}
    for node in scope.body if isinstance(scope, ast.Module) else ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values_by_name.setdefault(node.targets[0].id, []).append(node.value)
    return values_by_name


def literals(node: ast.AST, values: Values) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [
            p.value if isinstance(p, ast.Constant) else ast.unparse(ast.JoinedStr([p]))[2:-1]
            for p in node.values
        ]
        yield "".join(map(str, parts))
    else:
        inner = values.get(node.id, ()) if isinstance(node, ast.Name) else ast.iter_child_nodes(node)
        for child in inner:
            yield from literals(child, {} if isinstance(node, ast.Name) else values)


if __name__ == "__main__":
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
