"""Messages with a count are right for one thing, too: they have plural forms, or the noun stands before the count."""

import re
from collections.abc import Iterator
from itertools import takewhile

import pytest

from scripts import messages

pytestmark = pytest.mark.django_db

# A message that counts one of these needs plural forms. Units (bytes, pixels, years, nats) and money are not counted.
NOUN = re.compile(
    "answers|assignments|attempts|captions|cells|characters|comparisons|days|designs|detectors|differences|documents|"
    "entries|errors|files|flags|groups|hours|ids|images|items|judges|judgments|keywords|labels|lines|lists|metrics|"
    "minutes|options|outputs|pages|pairs|participants|parts|people|permutations|persons|pictures|places|points|"
    "questions|raters|references|releases|requests|rows|samples|scores|segments|sessions|simulations|sources|spans|"
    "studies|submissions|systems|texts|ties|tokens|units|values|votes|winners|words|workers"
)
# The number that these messages count is never one.
NEVER_ONE = {
    # constants of the code
    "A name has 1 to %(most)d visible characters.",
    "Nothing was saved: the comment at position %(position)d is not a text of at most %(most)d characters.",
    "expected at most %(most)d characters",
    "expected at most %(most)d keywords",
    "expected at most %(most)d spans",
    # a caption that is longer than such a constant
    "Entry %(number)s has a caption of %(length)s characters; expected at most %(most)s.",
    # one day is written in hours
    "%(days)d days left",
    "{days} days left",
    # one person is written by name
    "%(n)s people",
    # studies with one participant get another sentence
    "With the same %(raters)s participants, no number of items is enough.",
    "With the same %(raters)s participants, the study needs %(same)s items.",
}
NAMES = {"kind", "metric", "name", "protocol", "slug", "title", "what"}  # placeholders of texts
# A word that ends the phrase of the count, so that what follows is not counted.
ENDS = {"and", "between", "by", "cannot", "for", "has", "in", "is", "of", "or", "sends", "to", "with"}
COUNT = re.compile(r"(?:%\((?P<of>\w+)\)[sd]|\{(?P<in_braces>\w+)\})(?P<words>(?: [a-z][a-z-]*){1,3})")


def counted_nouns(message: str) -> Iterator[str]:
    for found in COUNT.finditer(message):
        words = found["words"].split()
        if (found["of"] or found["in_braces"]) not in NAMES:
            yield from (
                word for word in takewhile(lambda word: word not in ENDS, words) if NOUN.fullmatch(word)
            )


def catalogue() -> set[str]:
    found = [*messages.collect_messages(), *messages.collect_messages(staff=True)]
    return {message.id for message in found if isinstance(message.id, str)}


def test_a_message_that_counts_things_has_plural_forms() -> None:
    counting = {message for message in catalogue() if [*counted_nouns(message)]}
    assert sorted(counting - NEVER_ONE) == []


def test_every_exception_is_still_a_message() -> None:
    assert sorted(NEVER_ONE - catalogue()) == []


@pytest.mark.parametrize(
    ("message", "nouns"),
    [
        ("%(n)s pages of work", ["pages"]),
        ("%(n)s new, unused items", []),
        ("the other %(n)d more participants", ["participants"]),
        ("Of %(n)s judged items, none is left.", ["items"]),
        ("Judgments in the last hour: %(n)s", []),
        ("%(name)s rows", []),
        ("%(share)s of the items", []),
        ("%(share)s %% of %(n)s answers", ["answers"]),
    ],
)
def test_counted_nouns_of_a_message(message: str, nouns: list[str]) -> None:
    assert [*counted_nouns(message)] == nouns
