"""Write tests/sentences.txt, the messages of errors and notes by module: ``python -m scripts.sentences``.

Tests check only the class, field and values of an error. The file shows changes of messages. It is made from the syntax
trees of the code, so that messages have placeholders as in the code::

    judgments/access/roles.py
      WrongState
        Nothing was changed: choose an account first.
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
FILE_HEADER = "What errors and notes say. `python -m scripts.sentences` writes it; read what it changes.\n"
# Folders whose constants are reasons for undefined figures.
NUMERIC_FOLDERS = ("quorum/metrics/", "quorum/statistics/")
# Functions and classes that raise or report errors, beside the exceptions in the code and functions with `expected`.
REPORTERS = {"CommandError", "Error", "ValidationError", "Warning", "add_error", "error", "exit", "problem"}
Scope = ast.Module | ast.FunctionDef  # where names are assigned
Values = Mapping[str, list[ast.expr]]  # the expressions that are assigned to each name


def catalogue() -> str:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    files = [file for file in files if not {"tests", "migrations"} & set(file.parts)]
    trees = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_bytes()) for file in files}
    errors, lines = error_names(trees.values()), [FILE_HEADER]
    for path, tree in trees.items():
        messages = {*sentences(tree, errors, (tree,)), *constants(tree, path)}
        lines += [f"\n{path}\n"] if messages else []
        for error, entries in groupby(sorted(messages), key=lambda pair: pair[0]):
            lines += [f"  {error}\n", *(f"    {sentence}\n" for _, sentence in entries)]
    return "".join(lines)


def error_names(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of exceptions, of their subclasses in the code, and of functions that report errors.

    Functions with an argument `expected` are among them.
    """
    definitions = [node for tree in trees for node in tree.body]
    classes = [node for node in definitions if isinstance(node, ast.ClassDef)]
    functions = [node for node in definitions if isinstance(node, ast.FunctionDef)]
    readers = {f.name for f in functions if "expected" in [argument.arg for argument in f.args.args]}
    names = REPORTERS | readers | {"Exception", *(name for name in dir(builtins) if name.endswith("Error"))}
    # Each round finds the subclasses of the classes that the round before found.
    while new_names := {cls.name for cls in classes if names & set(map(last_name, cls.bases))} - names:
        names |= new_names
    return names


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, such as "Error" for ``checks.Error``."""
    return ast.unparse(node).rpartition(".")[2]


def sentences(
    node: ast.AST, errors: set[str], scopes: tuple[Scope, ...], error_class: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the errors that are raised or created below ``node``, as (class or function, message).

    ``errors`` are those of ``error_names``, ``scopes`` the module and the functions around the node, and
    ``error_class`` the name of the class of errors around it, or "".
    """
    if isinstance(node, ast.ClassDef) and node.name in errors:
        error_class = node.name
    if isinstance(node, ast.FunctionDef):
        scopes = (*scopes, node)
        for argument, value in zip(reversed(node.args.args), reversed(node.args.defaults), strict=False):
            if argument.arg == "expected" and isinstance(value, ast.Constant) and " " in str(value.value):
                yield node.name, str(value.value)
    call = node.exc if isinstance(node, ast.Raise) else node
    if isinstance(call, ast.Call):
        name = last_name(call.func).replace("__init__", error_class)  # super().__init__ in a class of errors
        if isinstance(node, ast.Raise) or name in errors or "expected" in [k.arg for k in call.keywords]:
            message = message_of(call, scopes)
            if message:
                yield name, message
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Name, ast.Constant, ast.expr_context)):  # skip leaves, which are most nodes
            continue
        yield from sentences(child, errors, scopes, error_class)


def message_of(call: ast.Call, scopes: tuple[Scope, ...]) -> str:
    """Return the texts with a space among the arguments of a call, separated by bars; "" if there are none."""
    values = {name: assigned for scope in scopes for name, assigned in assigned_values(scope).items()}
    arguments = (*call.args, *(keyword.value for keyword in call.keywords))
    texts = [text.strip() for argument in arguments for text in literals(argument, values)]
    return " | ".join(text.replace("\n", "\\n") for text in dict.fromkeys(texts) if " " in text)


def constants(tree: ast.Module, path: str) -> Iterator[tuple[str, str]]:
    """Yield a module's constants called notes or sentences, and reasons for undefined figures, as (name, sentence)."""
    numeric = path.startswith(NUMERIC_FOLDERS)
    for name, values in assigned_values(tree).items():
        is_reason = numeric and name.isupper() and isinstance(values[0], ast.Constant)
        if is_reason or name.endswith(("SENTENCES", "NOTES")):
            yield from ((name, text) for text in literals(values[0], {}) if text.count(" ") > 1)


@cache
def assigned_values(scope: Scope) -> Values:
    """Return the values that a module or function assigns to names, and what functions return, by name."""
    values: dict[str, list[ast.expr]] = {}
    for node in scope.body if isinstance(scope, ast.Module) else ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.FunctionDef) and isinstance(scope, ast.Module):
            values[node.name] = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
    return values


def literals(node: ast.AST, values: Values) -> Iterator[str]:
    """Yield the texts in an expression, and those in the values of its names.

    A name is followed once, so that the recursion ends.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [
            # an f-string with a single placeholder, such as f'{name}', without its prefix and quotation marks
            part.value if isinstance(part, ast.Constant) else ast.unparse(ast.JoinedStr([part]))[2:-1]
            for part in node.values
        ]
        yield "".join(map(str, parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                yield from literals(part.value, values)
    elif isinstance(node, ast.Name):
        for value in values.get(node.id, ()):
            yield from literals(value, {name: v for name, v in values.items() if name != node.id})
    else:
        for child in ast.iter_child_nodes(node):
            yield from literals(child, values)


if __name__ == "__main__":
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
