"""Generate pages of the documentation from the code, and link to them.

`mkdocs build` calls the functions `on_files` and `on_page_markdown` (mkdocs.yml, "hooks"). The functions `..._page`
yield the Markdown of a generated page, line by line.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any

from django.core.management.base import BaseCommand
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
NUMERIC_MODULES = (
    "quorum.metrics",
    "quorum.metrics.comparison",
    "quorum.statistics.agreement",
    "quorum.statistics.aggregation",
    "quorum.statistics.correlation",
    "quorum.statistics.meta",
    "quorum.statistics.ranking",
    "quorum.statistics.significance",
)
# Modules whose docstrings define the metrics that they compute.
METRIC_MODULES = (
    "bleu", "h13_overlap", "rouge", "cider", "meteor.scoring", "meteor.normalisation",
    "meteor.alignment", "meteor.beam_search", "meteor.matches", "text.ngrams",
    "text.tokens", "text.tokenizers", "text.ptb", "text.changes", "text.porter", "text.snowball", "text.word_lists",
    "content", "content_baselines", "keywords", "keyword_baselines", "held_out", "registry",
)  # fmt: skip
DJANGO_OPTIONS = {
    "help", "version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks",
}  # fmt: skip

# The documentation page of each command whose help does not name a page. A feature's page shows its commands.
PAGES_OF_COMMANDS = {
    "study export": "study-files.md",
    "study diff": "designing.md#use-again",
    "study generate": "study-files.md#what-is-drawn",
    **dict.fromkeys(
        ("study pause", "study resume", "study extend", "study reopen"),
        "running.md#pause-resume-extend-expire-re-open",
    ),
    "prove": "privacy.md#what-was-published-stays-provable",
    "crowd sync": "crowds/mturk.md#comparing-both-sides",
    "crowd forget": "crowds/panels.md#ids",
    "score": "metrics.md#files",
    **dict.fromkeys(("server prepare", "server admin"), "install.md"),
    "server check": "evaluation.md#check_integrity",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the pages of active features to the files of the documentation."""
    _set_up()
    from django.conf import settings
    from django.utils.module_loading import import_string

    pages = {
        "commands": command_page,
        "study-file-keys": study_file_page,
        "presets": presets_page,
        "caption-rules": caption_rules_page,
        "calls": calls_page,
        "metrics": metrics_page,
        "statistics": statistics_page,
        "python": python_page,
    }
    pages_of_features = []
    for name, feature in settings.FEATURES.items():
        text = (ROOT / "contrib" / name / "README.md").read_text(encoding="utf-8")
        files.append(File.generated(config, f"contrib/{name}.md", content=text.replace("../../docs/", "../")))
        for picture in (ROOT / "contrib" / name).glob("*.png"):
            files.append(File.generated(config, f"contrib/{picture.name}", abs_src_path=str(picture)))
        pages |= {page: import_string(function) for page, function in feature.reference.items()}
        config.extra["questions"][f"contrib/{name}.md"] = feature.questions
        pages_of_features += [f"contrib/{name}.md", *(f"reference/{page}.md" for page in feature.reference)]
    config.nav = [*(config.nav or ()), {"Features that can be left out": pages_of_features}]
    for name, lines_of_page in pages.items():
        content = "\n".join(lines_of_page()) + "\n"
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Return a page's Markdown with links to generated pages and to pages of features.

    In the source, docs/reference.md stands for the generated pages. The search also reads a page's tags, which are the
    questions that the page answers. Pages of reasons and lists get a lower rank in the search than other pages.
    """
    from django.conf import settings

    from judgments.admin.absent_features import FEATURE_LINK, without_absent_features

    markdown = without_absent_features(markdown, settings.FEATURES)
    markdown = FEATURE_LINK.sub(r"](\1contrib/\2.md\3)", markdown)
    page.meta["tags"] = [*config.extra["questions"].get(page.file.src_uri, ())]
    if page.file.src_uri.startswith(("decisions/", "reference/")):
        page.meta["search"] = {"boost": 0.2}
    if page.file.src_uri == "reference.md":
        return re.sub(
            r"(?m)^## (.+)$", lambda head: f"## [{head[1]}](reference/{_slug(head[1])}.md)", markdown
        )
    return re.sub(r"reference\.md#([a-z-]+)", r"reference/\1.md", markdown)


def _slug(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _set_up() -> None:
    import django

    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # The settings store a key in that folder.
    os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="quorum-docs-"))
    django.setup()


def command_page() -> Iterator[str]:
    from config.commands import all_commands, load_command

    yield "# Every command's help\n\nWhat holds for all is in [From a terminal](../commands.md)."
    for section, commands in all_commands().sections.items():
        yield f"\n## {section}\n"
        yield from _table(
            ("`quorum`", "what it does"),
            [
                (f"[`{command}`](#{_slug(command)})", summary + _link_to_page_of(command, django_name, path))
                for command, (django_name, summary, path) in commands.items()
            ],
        )
        for command, (django_name, _, _) in commands.items():
            yield from _command_section(command, django_name, load_command(django_name))


def _command_section(command: str, django_name: str, django_command: BaseCommand) -> Iterator[str]:
    """Yield the section about a command: its description, arguments and example."""
    parser = django_command.create_parser("quorum", command)
    note = f"In `manage.py`: `{django_name}`.\n\n" if command != django_name else ""
    yield f"\n### {command}\n\n{note}{_link_files(_paragraphs(parser.description))}\n"
    arguments = [action for action in parser._actions if action.help and action.dest not in DJANGO_OPTIONS]
    yield from _table(
        ("argument", "what it is"),
        [(_format_argument(action), _link_files(_one_line(action.help or ""))) for action in arguments],
    )
    if parser.epilog:
        yield f"\n```text\n{parser.epilog.strip()}\n```"


def _link_to_page_of(command: str, django_name: str, path: str) -> str:
    """Return a link to the page about the command whose class is at a path; "" if only its help names the page."""
    page = PAGES_OF_COMMANDS.get(command, "")
    if feature := re.match(r"contrib\.(\w+)", path):
        page = _section_of_feature(feature[1], command, django_name)
    return f" ([more](../{page}))" if page else ""


def _section_of_feature(feature: str, command: str, django_name: str) -> str:
    """Return the page of a command's feature, with the anchor of the section that shows the command first."""
    from judgments.admin.documentation import heading_anchor

    text = (ROOT / "contrib" / feature / "README.md").read_text(encoding="utf-8")
    before, *after = re.split(rf"quorum {command}\b|manage\.py {django_name}\b", text, maxsplit=1)
    headings = re.findall(r"^##+ (.*)", before, re.M)
    return f"contrib/{feature}.md" + (f"#{heading_anchor(headings[-1], '-')}" if headings and after else "")


def _link_files(text: str) -> str:
    """Return the text with names of documentation files turned into links."""
    text = re.sub(r"docs/([a-z/-]+)\.md(#[\w-]+)?", r"[\1](../\1.md\2)", text)
    return re.sub(r"contrib/(\w+)/README\.md", r"[\1](../../contrib/\1/README.md)", text)


def _format_argument(action: Any) -> str:
    """Return an argument of a command with the name of its value, such as `--seed N`."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    option = action.option_strings[0]
    if action.nargs == 0:  # a flag
        return f"`{option}`"
    value = action.metavar or action.dest.upper()
    return f"`{option} {' '.join(value) if isinstance(value, tuple) else value}`"


def study_file_page() -> Iterator[str]:
    from judgments.design.study_design import StudyDesign

    schema = StudyDesign.model_json_schema()
    yield "# Keys of a study file\n\nHow studies are written is in [Study files](../study-files.md)."
    yield "\n## Top\n"
    tables: dict[str, Any] = {}
    rows = []
    for key, field in schema["properties"].items():
        table = _table_schema(field, schema)
        if table is None:
            rows.append(_key_row(key, field))
        else:
            tables[key] = table
    yield from _table(("key", "type", "default", "what it is"), rows)
    for key, table in tables.items():
        yield f"\n## [{key}]\n\n{_paragraphs(table.get('description'))}\n"
        rows = [_key_row(name, field) for name, field in table.get("properties", {}).items()]
        yield from _table(("key", "type", "default", "what it is"), rows)


def _table_schema(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the TOML table that is the value of a field or of the entries of its list.

    Return None if the value is no table. ``schema`` is the schema of the whole study file.
    """
    for part in (field, field.get("items", {}), *field.get("anyOf", ()), *field.get("allOf", ())):
        if "$ref" in part:
            definition: dict[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
            return definition if "properties" in definition else None
    return None


def _key_row(name: str, field: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the row about a key: its name, type, default and description."""
    default = field.get("default")
    default_text = "" if default is None or default in ("", [], {}) else f"`{default}`"
    title = field.get("title", "")
    # leave out a title that pydantic derived from the name
    sentences = [title] if title.lower().replace(" ", "_") != name else []
    if field.get("description"):
        sentences.append(field["description"])
    # "words" are the labels of values, which Quorum adds to the schema.
    sentences += [f"`{value}`: {label}" for value, label in field.get("words", {}).items() if value]
    text = _one_line(". ".join(sentence.rstrip(".") for sentence in sentences))
    return f"`{name}`", _describe_type(field), default_text, text


def _describe_type(field: dict[str, Any]) -> str:
    """Return the type of a field of a JSON schema in words, or its possible values."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    types = [_describe_type(value) for value in field.get("anyOf", ()) if value.get("type") != "null"]
    if types:
        return " or ".join(types)
    if field.get("type") == "array":
        return f"list of {_describe_type(field.get('items', {})) or 'values'}"
    return str(field.get("type", "table" if "$ref" in field else ""))


def presets_page() -> Iterator[str]:
    from judgments.design.reading.presets import PRESETS

    yield "# Presets\n\nHow presets are used is in [Study files](../study-files.md#keys).\n"
    rows = [
        (f"`{name}`", preset.title, preset.source, ", ".join(f"`{key}`" for key in preset.ours))
        for name, preset in PRESETS.items()
    ]
    yield from _table(
        ("preset", "what it is", "source", "values that Quorum chose, as the source does not give them"), rows
    )


def caption_rules_page() -> Iterator[str]:
    from judgments.kinds.caption_rules import RULES

    yield "# Rules for written captions\n"
    yield "How they are used is in [Caption writing](../study-files.md#caption-writing-protocol--caption).\n"
    rows = [
        (
            f"`{rule.id}`",
            "refuses" if rule.hard else "advises",
            str(rule.message),
            shorten(rule.bad_example, 80, placeholder=" …"),
            rule.good_example,
            rule.source,
        )
        for rule in RULES
    ]
    yield from _table(("rule", "", "what the writer reads", "found in", "not in", "source"), rows)


def calls_page() -> Iterator[str]:
    """Yield the page about the HTTP interface: the calls by tag, and the calls with the data of each admin page."""
    from drf_spectacular.generators import SchemaGenerator

    schema = SchemaGenerator().get_schema(request=None, public=True)
    yield "# Every call\n\nHow they are used is in [The HTTP interface](../api.md); `/api/docs/` has their members.\n"
    rows_by_tag: dict[str, list[tuple[str, str]]] = {}
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            summary = call.get("summary") or call.get("description", "").partition("\n")[0]
            tag = (call.get("tags") or ["other"])[0]
            rows_by_tag.setdefault(tag, []).append((f"`{method.upper()} {path}`", _one_line(summary)))
    for tag in sorted(rows_by_tag):
        yield f"\n## {tag}\n"
        yield from _table(("call", "what it does"), rows_by_tag[tag])
    yield "\n## Where each page's data is\n\nPages of a study in the admin, by the last part of their address:\n"
    _, *rows = csv.reader((FIGURES / "pages.csv").read_text(encoding="utf-8").splitlines())
    yield from _table(
        ("page", "calls"),
        [(f"`{page}`", ", ".join(f"`{call}`" for call in calls.split())) for page, calls in rows],
    )


def metrics_page() -> Iterator[str]:
    from quorum.metrics.registry import METRICS

    yield "# Metrics by name\n\nWhat they compute is in [Metrics](../metrics.md).\n"
    rows = [
        (f"`{name}`", ", ".join(f"`{key}:{option.default}`" for key, option in metric.options.items()))
        for name, metric in METRICS.items()
    ]
    yield from _table(("metric", "options and their defaults"), rows)
    for name in METRIC_MODULES:
        module = importlib.import_module(f"quorum.metrics.{name}")
        yield f"\n## {name}\n\n{_link_files(_paragraphs(inspect.getdoc(module)))}"


def statistics_page() -> Iterator[str]:
    """Yield the page about statistics. It has each module's docstring, with definitions and sources, and functions."""
    from quorum.statistics.catalogue import MODULES, STATISTICS

    yield "# Statistics by name\n\nHow they are used, and what is known of them, is in [Statistics](../statistics.md)."
    functions = []
    for module in MODULES:
        for name in getattr(module, "__all__", vars(module)):
            function = getattr(module, name)
            is_public_function = inspect.isfunction(function) and not name.startswith("_")
            if is_public_function and function.__module__.startswith(module.__name__):
                functions.append(function)
    by_module: dict[str, list[Any]] = {}
    for function in dict.fromkeys((*functions, *STATISTICS)):
        by_module.setdefault(function.__module__, []).append(function)
    for module_name in sorted(by_module):
        yield f"\n## {module_name.removeprefix('quorum.statistics.')}\n"
        yield f"{_link_files(_paragraphs(inspect.getdoc(sys.modules[module_name])))}\n"
        rows = [
            (
                f"`{function.__name__}`",
                _one_line((inspect.getdoc(function) or "").partition("\n\n")[0]),
                f"`{STATISTICS[function].name}`" if function in STATISTICS else "",
            )
            for function in by_module[module_name]
        ]
        yield from _table(("function", "what it does", "name in signatures"), rows)


def python_page() -> Iterator[str]:
    yield "# Python\n\nThe numeric packages need no Django and no database.\n"
    for module in NUMERIC_MODULES:
        yield f"::: {module}\n"


def _table(heads: tuple[str, ...], rows: list[Any]) -> Iterator[str]:
    """Yield the lines of a table; none if it has no rows."""
    if not rows:
        return
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _one_line(text: str) -> str:
    """Return a text for a cell of a table, without line breaks and unescaped brackets."""
    return " ".join(text.replace("%%", "%").replace("<", "&lt;").split())


def _paragraphs(text: str | None) -> str:
    """Return a docstring or help text as Markdown, without its indentation."""
    return (inspect.cleandoc(text) if text else "").replace("<", "&lt;")
