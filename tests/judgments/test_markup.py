"""Texts of a design as HTML: what a designer may write, and what a hostile one cannot."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from common.markup import BLOCK_TAGS, INLINE_TAGS, plain_text, render_inline, render_markdown

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/who-reads-this.png)",
    '![x](x" onerror="alert(1))',
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\tscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:x)",
    "[a]: javascript:alert(1)\n\n[a]",
    "<a href='javascript:alert(1)' onclick=alert(1)>x</a>",
    "<javascript:alert(1)>",
    "<style>body{display:none}</style>",
    "<p style='position:fixed'>x</p>",
    "<iframe src=https://evil.example></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=x></object><embed src=x>",
    "<svg><script>alert(1)</script></svg>",
    "<svg onload=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<form action=https://evil.example><input name=q></form>",
    "<base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<!--<img src=x onerror=alert(1)>-->",
    "`<script>alert(1)</script>`",
    "    <script>alert(1)</script>",
    "*<b onmouseover=alert(1)>x</b>*",
    "<<script>script>alert(1)<</script>/script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "\ufdd0img src=x onerror=alert(1)> \ufdd1script>alert(1)\ufdd1/script>",
    "x\x00<script>alert(1)</script>",
]
DEEP = {
    "quotes": ">" * 20_000,
    "brackets": "[" * 20_000,
    "pictures": "![" * 10_000,
    "links without an end": "[a](" * 5_000,
    "tags without an end": "<a " * 6_600,
    "stars": "*" * 9_000 + "a" + "*" * 9_000,
    "emphasis in emphasis": "**a *b " * 1_400 + "a* b** " * 1_400,
    "headings": "# a\n" * 5_000,
    "lists": "\n".join("  " * depth + "- a" for depth in range(130)),
    "elements": "<blockquote>" * 1_600,
}

RENDER = """
import json, signal, sys
from common.markup import render_inline, render_markdown
for name, text in json.load(sys.stdin).items():
    print(name, flush=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, 30)  # whatever else the machine does
    assert render_markdown(text)
    render_inline(text)
"""


class Elements(HTMLParser):
    """What a browser would find: tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_design_can_run_load_or_style_anything(text: str) -> None:
    for tag, attributes in Elements(render_markdown(text)).found:
        assert tag in BLOCK_TAGS
        assert set(attributes) <= {"href", "rel"}
        assert re.match(r"(https?|mailto):|[^:]*$", attributes.get("href") or "")
    for tag, attributes in Elements(render_inline(text)).found:
        assert tag in INLINE_TAGS
        assert not attributes


def test_no_text_of_a_design_can_hang_or_break_its_pages() -> None:
    # 20,000 opening brackets kept the library busy for 73 seconds of its own time
    done = subprocess.run(
        [sys.executable, "-c", RENDER], input=json.dumps(DEEP), capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout.splitlines()[-1]


def test_instructions_have_headings_lists_tables_and_links() -> None:
    html = render_markdown(
        "# How\n\n1. Read **A**.\n2. See [here](https://a.example/b).\n\n|a|b|\n|-|-|\n|1|2|\n"
    )
    assert "<h2>How</h2>" in html
    assert "<li>Read <strong>A</strong>.</li>" in html
    assert '<a href="https://a.example/b" rel="noopener noreferrer">here</a>' in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    ("text", "html", "plain"),
    [
        ("Which is *better*, B or C?", "Which is <em>better</em>, B or C?", "Which is better, B or C?"),
        ("**Not** `[a]`", "<strong>Not</strong> <code>[a]</code>", "Not [a]"),
        ("1. Which?", "1. Which?", "1. Which?"),
        ("# 5 & < 6?\n\n- yes", "# 5 &amp; &lt; 6? - yes", "# 5 & < 6? - yes"),
        ("see [here](https://a.example)", "see here", "see here"),
        ("[x] or [y]? Fill ______ in", "[x] or [y]? Fill ______ in", "[x] or [y]? Fill ______ in"),
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;", "<b>bold</b>"),
        ("", "", ""),
    ],
)
def test_a_question_is_one_line_with_emphasis_and_code_alone(text: str, html: str, plain: str) -> None:
    assert render_inline(text) == html
    assert plain_text(text) == plain


def test_brackets_and_stars_that_are_no_marks_stay_as_they_were_typed() -> None:
    html = render_markdown("[ ] open, `a[0]`, \\[x\\], 2 < 3, `a < b`, ***** five\n\n*****\n")
    assert "[ ] open, <code>a[0]</code>, [x], 2 &lt; 3, <code>a &lt; b</code>, ***** five" in html
    assert "<hr>" in html
