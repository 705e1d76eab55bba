"""What a written caption is refused for, and what is only advised, as data that server and page read alike.

A rule is a regular expression or a count. The expressions keep to what Python's ``re`` and JavaScript's ``RegExp``
read in the same way (no ``\\b``, ``\\d``, ``\\s``, ``\\w``, no lookbehind), so that what the page says while somebody
types is what the server says afterwards. Both look at the text after ``tidied``.

Sources: V15 §5 (and App. V, whose figures the text of the paper does not hold) asks for the main aspects, for
descriptions and not dialogue, nothing overly descriptive, good grammar. H13 §2.2 and §2.3 want what can be seen, in
sentences: no names of people or places, no commentary, not several sentences, not lengthy. COCO is Chen et al. 2015,
arXiv:1504.00325, section 2. Every number and every list of words is ours; "ours" alone says that the whole rule is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MOST_CHARACTERS = 500
UNSPACED = ("zh", "ja", "th", "lo", "km", "my", "bo")  # languages that write without blanks between words
BLANKS = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
_START = "(?:^|[^A-Za-z'’])"
_END = "(?![A-Za-z'’])"
_QUOTE = '["“”„«»]'


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of caption writing.

    Attributes:
        id: its name in files.
        hard: refuses the caption; else the page only advises.
        says: the sentence that the worker reads.
        refused, fine: a caption that it finds, and one that it lets pass.
        source: the paper that asks for it, or "ours".
        pattern: it finds a caption that this matches somewhere.
        ignore_case: whether the pattern does.
        counts: "words" or "characters", where it is a count: it finds fewer than ``least`` or more than ``most``.
        languages: the first part of the languages it is for; none: for every one but ``besides``.
    """

    id: str
    hard: bool
    says: str | Promise
    refused: str
    fine: str
    source: str
    pattern: str = ""
    ignore_case: bool = True
    counts: str = ""
    least: int = 0
    most: int = 0
    languages: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    def is_for(self, language: str) -> bool:
        """Whether it speaks of captions in ``language`` (BCP 47: "en", "pt-BR")."""
        first = first_part(language)
        return first in self.languages if self.languages else first not in self.besides

    def finds(self, text: str) -> bool:
        """Whether a ``tidied`` text breaks it."""
        if self.counts:
            count = count_words(text) if self.counts == "words" else len(text)
            return count < self.least or bool(self.most and count > self.most)
        return _compiled(self.pattern, self.ignore_case).search(text) is not None

    def as_data(self) -> dict[str, Any]:
        """What the page's script needs of it."""
        test: dict[str, Any] = (
            {"counts": self.counts, "least": self.least, "most": self.most}
            if self.counts
            else {"pattern": self.pattern, "flags": "iu" if self.ignore_case else "u"}
        )
        return {"id": self.id, "hard": self.hard, "says": str(self.says), **test}


@lru_cache(maxsize=128)
def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def tidied(text: str) -> str:
    """The text as typed, but for white space: each run of it is one blank, and none is left at the ends."""
    return _BLANK_RUN.sub(" ", text).strip(" ")


def count_words(text: str) -> int:
    """Runs between blanks that hold a letter or a digit."""
    return sum(any(unicodedata.category(sign)[0] in "LN" for sign in run) for run in text.split(" "))


def _words(*words: str) -> str:
    return f"{_START}(?:{'|'.join(words)}){_END}"


ENGLISH = ("en",)

RULES: tuple[Rule, ...] = (
    Rule(
        "too-short", True,
        _("Write a whole sentence: at least three words."),
        "Two dogs", "Two dogs run through the snow.", "V15 §5: the main aspects",
        counts="words", least=3, besides=UNSPACED,
    ),
    Rule(
        "too-short-unspaced", True,
        _("Write a whole sentence."),
        "狗", "两只狗在雪地里奔跑。", "V15 §5: the main aspects",
        counts="characters", least=4, languages=UNSPACED,
    ),
    Rule(
        "too-long", True,
        _("That is too long: describe the main things in at most 50 words."),
        " ".join(["A man in a red coat and a blue hat"] * 6) + ".", "A man in a red coat walks his dog.",
        "V15 §5: not overly descriptive",
        counts="words", most=50,
    ),
    Rule(
        "far-too-long", True,
        _("That is too long: describe the main things in one short sentence."),
        "雪" * 501, "两只狗在雪地里奔跑。", "V15 §5: not overly descriptive",
        counts="characters", most=MOST_CHARACTERS,
    ),
    Rule(
        "several-sentences", True,
        _("Write one sentence only."),
        "A dog runs. It is brown.", "A brown dog runs past a St. Bernard.", "H13 §2.2",
        pattern="(?:^|[^A-Za-z'’])(?!(?:etc|approx|incl|mrs|capt|prof)[.])(?:[A-Za-z'’]{3,}|[0-9]{2,}) ?[.!?]+"
        "[\"'”’)]* +[\"'“‘(]*[A-Za-z0-9]",
        languages=ENGLISH,
    ),
    Rule(
        "several-sentences-elsewhere", True,
        _("Write one sentence only."),
        "雪の中を犬が走る。茶色い犬だ。", "雪の中を茶色い犬が走る。", "H13 §2.2",
        pattern="[。！？؟।][”」』\"']* *[^。！？؟।”」』\"' ]",
    ),
    Rule(
        "dialogue", True,
        _("Describe what can be seen; do not write what somebody says."),
        "“Come here, boy!” the man shouts to his dog.", "A man calls his dog.", "V15 §5: not dialogs",
        pattern=f"^{_QUOTE}|^[A-Za-z]+: |^[-–—] *[A-Za-z]|"
        f"{_START}(?:asks?|asked|asking|shouts?|shouted|shouting|yells?|yelled|yelling|whispers?|exclaims?"
        f"|screams?|replies|thinks?|thinking),? ?{_QUOTE}",
    ),
    Rule(
        "question", True,
        _("Describe the picture; do not ask about it."),
        "What is this man doing?", "A man repairs a bicycle.", "V15 §5: descriptions",
        pattern="^[^\"“”„«»]*[?？؟] *$",
    ),
    Rule(
        "comment", True,
        _("Say what the picture shows, not what you think of it."),
        "Nice picture of nature, I like it.", "Sunlight falls through tall trees.", "H13 §2.2: commentary",
        pattern="^(?:a |what a |very |really |such a )*"
        "(?:nice|good|great|cool|beautiful|lovely|wonderful|amazing|awesome|bad|funny) "
        "(?:picture|pic|photo|photograph|image|shot)|"
        "^(?:(?:i have )?no idea|i (?:do not|don['’]?t) know)|" + _words("i (?:like|love|hate) (?:it|this|that|the)"),
        languages=ENGLISH,
    ),
    Rule(
        "named", True,
        _("Do not give names: “a man”, “a dog” tell more to somebody who sees the picture for the first time."),
        "A dog named Rex catches a ball.", "A dog catches a ball.", "H13 §2.2: naming people",
        pattern="(?:^|[^A-Za-z])(?:man|woman|boy|girl|child|kid|baby|guy|lady|person|dog|puppy|cat|kitten|horse)s?,? "
        "(?:who is |that is )?(?:named|called) [A-Z][a-z]",
        ignore_case=False, languages=ENGLISH,
    ),
    Rule(
        "twice", True,
        _("A word stands twice in a row."),
        "A man stands on the the roof.", "A man stands on the roof.", "V15 §5: grammar",
        pattern=f"{_START}(a|an|the|of|in|on|is|are|with|and|to|at|by|for|his|her|their) \\1{_END}",
        languages=ENGLISH,
    ),
    Rule(
        "chat", True,
        _("Write words out: “you”, “are”, “going to”."),
        "A kid is gonna jump in the pool.", "A kid is about to jump into the pool.", "H13 §2.3: spelling",
        pattern="(?:^| )(?:u|ur|pls|plz|lol|omg|idk|btw|cuz|thx|gonna|wanna)(?![A-Za-z'’.-])",
        ignore_case=False, languages=ENGLISH,
    ),
    Rule(
        "capitals", True,
        _("Do not write in capital letters only."),
        "A MAN RIDES A HORSE ON THE BEACH", "A man rides a horse past a STOP sign.", "V15 §5: grammar",
        pattern="^[^a-z]*[A-Z]{2,}[^a-z]* [^a-z]*[A-Z]{2,}[^a-z]*$",
        ignore_case=False, languages=ENGLISH,
    ),
    Rule(
        "gibberish", True,
        _("Some of this is not a word."),
        "asdf asdf jkl dfgdfgdfg", "A child plays the keyboard.", "ours",
        pattern="([a-z])\\1\\1\\1|[bcdfghjklmnpqrstvwxz]{7}|"
        + _words("asdf[a-z]*", "qwert[a-z]*", "sdfg?[a-z]*", "lorem"),
        languages=ENGLISH,
    ),
    Rule(
        "address", True,
        _("Write no addresses and no markup, only the sentence."),
        "A dog, see www.example.org for more", "A dog sits in front of a computer.", "ours",
        pattern="https?:|www[.]|[^ ]@[^ ]|<[a-z/!]|&[a-z]+;",
    ),
    # from here on advice
    Rule(
        "short", False,
        _("Short: is anything else important, such as what happens and where?"),
        "A man walks.", "A man walks along a busy street.", "COCO asks for eight words; five is ours",
        counts="words", least=5, besides=UNSPACED,
    ),
    Rule(
        "long", False,
        _("Long: leave out what others would hardly mention."),
        " ".join(["A man in a red coat"] * 4) + ".", "A man in a red coat walks his dog.",
        "H13 §2.2 calls 23.1 words on average lengthy",
        counts="words", most=23,
    ),
    Rule(
        "says", False,
        _("Is this something that can be read in the picture? What people might say does not belong here."),
        "A man says \"hello\" to a girl.", "A man greets a girl.", "V15 §5: not dialogs",
        pattern=f"{_START}(?:says?|said|saying|tells?|telling|told){_END}",
        languages=ENGLISH,
    ),
    Rule(
        "person", False,
        _("Describe it from outside: without “I”, “we” and “you”."),
        "I see a dog on a beach.", "A dog stands on a beach.", "V15 §5: objective",
        pattern=_words("i", "i['’]m", "me", "my", "we", "our", "us", "you", "your", "let['’]s"),
        languages=ENGLISH,
    ),
    Rule(
        "opinion", False,
        _("Leave out how you find it; say what can be seen."),
        "A beautiful woman walks along the beach.", "A woman in a long dress walks along the beach.",
        "V15 §5: objective",
        pattern=_words(
            "beautiful", "gorgeous", "lovely", "amazing", "awesome", "wonderful", "fantastic", "stunning", "ugly",
            "delicious", "adorable", "cute", "interesting", "boring",
        ),
        languages=ENGLISH,
    ),
    Rule(
        "guess", False,
        _("Leave out what you can only guess; say what can be seen."),
        "A man is probably waiting for his wife.", "A man waits at a bus stop.", "H13 §2.3: from the image alone",
        pattern=_words(
            "maybe", "perhaps", "probably", "possibly", "might", "presumably", "seems?", "seemingly", "must be",
            "appears? to", "appears? as",
        ),
        languages=ENGLISH,
    ),
    Rule(
        "proper-name", False,
        _("If this is a name of a person or a place, leave it out: it cannot be seen in the picture."),
        "Two girls walk through Paris.", "Two girls walk along a river in a city.", "H13 §2.2: naming",
        pattern="[a-z,] (?:[A-Z][a-z]{2,}|(?:Mr|Ms|Dr)[.]? [A-Z])",
        ignore_case=False, languages=ENGLISH,
    ),
    Rule(
        "there-is", False,
        _("Begin with what you see, not with “There is”."),
        "There is a dog on the beach.", "A dog stands on the beach.", "COCO",
        pattern=f"^(?:there|here|this|that|it)(?: is| are|['’]s|['’]re){_END}",
        languages=ENGLISH,
    ),
    Rule(
        "about-the-picture", False,
        _("Describe what is in the picture without mentioning the picture."),
        "This photo shows a dog on a beach.", "A dog stands on the beach.", "ours",
        pattern=f"^(?:(?:an?|the|this|in|on) )*(?:picture|pic|photo|photograph|image|scene){_END}",
        languages=ENGLISH,
    ),
    Rule(
        "a-or-an", False,
        _("“a” or “an”? Before a vowel that is heard it is “an”."),
        "A man eats a apple.", "A man eats an apple in a one-way street.", "V15 §5: grammar",
        pattern="(?:^|[^A-Za-z'’])(?:a (?:a|i|o(?!ne|nce)|e(?!u|we))[a-z]|an [bcdfgjklmnpqrtvwxyz][a-z]{2})",
        languages=ENGLISH,
    ),
    Rule(
        "apostrophe", False,
        _("An apostrophe seems to be missing."),
        "A dog that isnt on a leash runs.", "A dog that isn't on a leash runs.", "H13 §2.3: spelling",
        pattern=_words("dont", "doesnt", "isnt", "arent", "cant", "wont", "didnt", "wasnt", "thats", "theyre", "im"),
        languages=ENGLISH,
    ),
    Rule(
        "capital", False,
        _("Begin with a capital letter."),
        "a dog runs through the snow.", "A dog runs through the snow.", "V15 §5: grammar",
        pattern="^[a-z]",
        ignore_case=False, languages=ENGLISH,
    ),
)  # fmt: skip


def first_part(language: str) -> str:
    """The language of a BCP 47 tag without its region: "pt" of "pt-BR"."""
    return language.split("-")[0].lower()


def rules_for(language: str) -> tuple[Rule, ...]:
    """The rules for captions in ``language``, hard ones first."""
    return tuple(rule for rule in RULES if rule.is_for(language))


def broken_rules(text: str, language: str) -> tuple[Rule, ...]:
    """The rules, hard and soft, that a text breaks once it is ``tidied``."""
    tidy = tidied(text)
    return tuple(rule for rule in rules_for(language) if rule.finds(tidy))


def first_refusal(rules: Iterable[Rule]) -> Rule | None:
    """The first hard one."""
    return next((rule for rule in rules if rule.hard), None)
