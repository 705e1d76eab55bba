"""Our one style sheet, cut down to what a single page uses, so that it fits into the page itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLASS = re.compile(r'class="([^"]*)"')
TAG = re.compile(r"<([a-z][a-z0-9]*)")
# what a selector asks of other elements, or leaves open: `:is(...)`, `:has(...)`, `[name="value"]`
ASIDE = re.compile(r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]")
NEEDED_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
NEEDED_TAG = re.compile(r"(?:^|[\s>+~,])([a-z][a-z0-9]*)")
ALWAYS = frozenset({"html", "body"})


def styles_for(page: str, sheet: str) -> str:
    """The rules of ``sheet`` that some element of ``page`` (HTML in double quotes) may match; more is harmless.

    No string in the sheet may hold a brace or a semicolon.
    """
    classes = {name for found in CLASS.findall(page) for name in found.split()}
    tags = ALWAYS | set(TAG.findall(page))
    return "".join(_kept(COMMENT.sub("", sheet), classes, tags))


def _kept(sheet: str, classes: Collection[str], tags: Collection[str]) -> Iterator[str]:
    for head, body in _rules(sheet):
        if head.startswith("@media"):
            inner = "".join(_kept(body, classes, tags))
            if inner:
                yield f"{head}{{{inner}}}"
            continue
        wanted = [one for one in _apart(head) if _may_match(one, classes, tags)]
        if wanted:
            yield f"{','.join(wanted)}{{{_small(body)}}}"


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """(selector or @media, what stands in its braces) of the outermost level."""
    depth, start, opened = 0, 0, 0
    for place, sign in enumerate(sheet):
        if sign == "{":
            depth += 1
            if depth == 1:
                opened = place
        elif sign == "}":
            depth -= 1
            if not depth:
                yield " ".join(sheet[start:opened].split()), sheet[opened + 1 : place]
                start = place + 1


def _apart(selectors: str) -> list[str]:
    """The selectors between commas that stand in no parentheses."""
    found, depth = [""], 0
    for sign in selectors:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [one.strip() for one in found]


def _may_match(selector: str, classes: Collection[str], tags: Collection[str]) -> bool:
    bare = ASIDE.sub("", selector)
    return all(name in classes for name in NEEDED_CLASS.findall(bare)) and all(
        name in tags for name in NEEDED_TAG.findall(bare)
    )


def _small(declarations: str) -> str:
    """Without blanks that mean nothing; those inside values stay."""
    parts = (one.strip() for one in declarations.split(";"))
    return ";".join(re.sub(r"^([\w-]+)\s*:\s*", r"\1:", " ".join(one.split())) for one in parts if one)
