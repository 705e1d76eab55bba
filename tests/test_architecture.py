"""The arrows between the rooms of the house, executed: who may import whom."""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from config.features import all_features

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("contrib", "config", "evaluation", "annotation", "judgments", "common", "demo", "quorum", "scripts")
LOWEST = ("quorum.metrics", "quorum.statistics")
# Below both: it imports nothing of Quorum at all.
LEAVES = ("quorum.numeric",)
APPS = ("judgments", "annotation", "evaluation")
# The rooms of evaluation, the lowest first, over the numeric packages; doors that gather all of them lie above.
INSIDE_EVALUATION = ("presentation", "data", "results", "reports")
# Named without being imported: the rooms themselves, what Django reads before all modules, a folder of data.
NOT_IMPORTED = {*ROOMS, "config.settings", "quorum.metrics"}
READS_FEATURES = ("config.admin.site", "config.features")
LARGEST_FOLDER = 14  # modules, __init__.py aside
LOOSE = 10  # modules at the root of an app
# A door is reached by pages, programs, people and messages; what is behind it knows no door.
DOOR = re.compile(
    r"\.(admin|api|views|management|templatetags|handlers|tasks|hooks|urls|([a-z]+_)?(page|api|form|forms))(\.|$)"
)


@dataclass(frozen=True)
class Import:
    """A module, what it imports, and where it says so."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer.replace('.', '/')}.py:{self.line} imports {self.imported}"


@cache
def modules() -> list[tuple[str, Path, ast.Module]]:
    """Every module of the project but tests and benchmarks: its dotted name, its file, and what it says."""
    return list(_read_modules())


def _read_modules() -> Iterator[tuple[str, Path, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "tests" in parts:  # of a feature
                continue
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield name, path, ast.parse(path.read_text(encoding="utf-8"))


@cache
def _nodes_by_type() -> dict[type[ast.AST], list[tuple[str, Any]]]:
    found = defaultdict(list)
    for name, _, tree in modules():
        for node in ast.walk(tree):
            found[type(node)].append((name, node))
    return found


def nodes(*types: type[ast.AST]) -> Iterator[tuple[str, Any]]:
    """The nodes of these types in all modules, each with the name of its module; the trees are walked once."""
    return chain.from_iterable(_nodes_by_type()[kind] for kind in types)


def dotted(node: ast.AST) -> str:
    """`a.b` for a name or an attribute of a name, empty for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{base}.{node.attr}" if (base := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


@cache
def imports() -> list[Import]:
    """Every import statement, wherever in a module it stands."""
    return list(_find_imports())


def _find_imports() -> Iterator[Import]:
    known = {name for name, _, _ in modules()}
    packages = {name for name, path, _ in modules() if path.name == "__init__.py"}
    for name, node in nodes(ast.Import):
        yield from (Import(name, alias.name, node.lineno) for alias in node.names)
    for name, node in nodes(ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = name if name in packages else name.rpartition(".")[0]
            upper = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*upper, base]).rstrip(".")
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            yield Import(name, whole if whole in known else base, node.lineno)


@cache
def lazy_imports() -> list[Import]:
    """What modules name by a string, as `import_module`, `import_string`, settings and registered jobs do."""
    known = {name for name, _, _ in modules()} - NOT_IMPORTED
    return [
        Import(name, imported, node.lineno)
        for name, node in nodes(ast.Constant)
        if isinstance(node.value, str)
        and not inside(name, "scripts")  # they start other processes by these names
        for imported in known & {node.value, node.value.rpartition(".")[0]}
    ]


def all_imports() -> list[Import]:
    return [*imports(), *lazy_imports()]


def inside(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of the packages, or lies in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def height(name: str) -> int | None:
    """The floor of a room: an import may go down or stay; None for what is no room of ours."""
    if inside(name, *LEAVES):
        return -1
    if inside(name, *LOWEST):
        return 0
    for floor, room in enumerate(
        ("common", "judgments", "annotation", "evaluation", "config", "contrib"), start=1
    ):
        if inside(name, room):
            return floor
    return None


def test_there_is_something_to_look_at() -> None:
    assert {room for room in ROOMS if any(inside(entry.importer, room) for entry in imports())} >= {
        "config",
        "evaluation",
        "annotation",
        "judgments",
    }


def test_rooms_know_only_the_rooms_below_them() -> None:
    upward = [
        entry
        for entry in all_imports()
        if (own := height(entry.importer)) is not None
        and (other := height(entry.imported)) is not None
        and other > own
    ]
    assert [str(entry) for entry in upward] == []


def test_no_feature_that_can_be_left_out_is_needed() -> None:
    """Nothing of the platform imports one, nor does another feature that does not say that it needs it.

    Simulated answers are excepted: only rehearsals import them.
    """

    def feature(name: str) -> str:
        return name.split(".")[1] if name.startswith("contrib.") else ""

    simulated = {path.rpartition(".")[0] for found in all_features().values() for path in found.rehearsals}

    def needs(module: str) -> tuple[str, ...]:
        name = feature(module)
        of_module = ("rehearsals",) if module in simulated else ()
        return ("", name, *of_module, *(all_features()[name].needs if name else ()))

    needed = [
        entry
        for entry in all_imports()
        if feature(entry.imported) not in needs(entry.importer)
        or (
            entry.imported in simulated
            and entry.importer not in simulated
            and feature(entry.importer) != "rehearsals"
            and not entry.importer.endswith(".apps")  # which declares it
        )
    ]
    assert [str(entry) for entry in needed] == []


def test_rooms_of_evaluation_know_only_the_rooms_below_them() -> None:
    floors = {f"evaluation.{room}": floor for floor, room in enumerate(INSIDE_EVALUATION)}
    gathering = len(floors)  # handlers, commands and the list of pages

    def floor(name: str) -> int | None:
        if not inside(name, "evaluation") or inside(
            name, *LOWEST, *LEAVES, "evaluation.models", "evaluation.errors"
        ):
            return None
        return next((floor for room, floor in floors.items() if inside(name, room)), gathering)

    upward = [
        entry
        for entry in all_imports()
        if (importer := floor(entry.importer)) is not None
        and (imported := floor(entry.imported)) is not None
        and imported > importer
    ]
    assert [str(entry) for entry in upward] == []


def test_the_leaves_import_nothing_of_quorum() -> None:
    found = [
        entry for entry in all_imports() if inside(entry.importer, *LEAVES) and inside(entry.imported, *ROOMS)
    ]
    assert [str(entry) for entry in found] == []


@pytest.mark.parametrize("package", LOWEST)
def test_the_numeric_packages_know_neither_django_nor_each_other_nor_the_rest(package: str) -> None:
    ours = ("annotation", "common", "config", "judgments", "evaluation", "quorum", "django", "rest_framework")
    found = [
        entry
        for entry in all_imports()
        if inside(entry.importer, package)
        and inside(entry.imported, *ours)
        and not inside(entry.imported, package, *LEAVES)
    ]
    assert [str(entry) for entry in found] == []


def said_by(program: str, data: Path) -> list[str]:
    """Return the words that a program prints in a Python of its own, with the settings of an empty folder."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(data),
        "DATABASE_URL": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_web_process_starts_without_what_few_requests_need(tmp_path: Path) -> None:
    dear = {
        "celery",
        "cryptography",
        "httpx",
        "numba",
        "pyarrow",
        "redis",
        "scipy.optimize",
        "scipy.sparse",
        "scipy.special",
        "scipy.stats",
    }
    assert (
        said_by(f"import config.wsgi, config.urls, sys; print(*({dear} & {{*sys.modules}}))", tmp_path) == []
    )


# Commands whose help names what kernels compute.
COMPUTING = {"score"}
DESIGNING = {"create_study", "create_token", "diff_designs", "export_study"}
# Commands without parameters of an operation that computes, beside such as have them.
BESIDE = {
    "check_integrity",
    "compare_releases",
    "ethics",
    "load_demo",
    "prove_release",
    "verify",
}
# Commands that read no file.
RUNNING = {
    "aggregate",
    "evaluate",
    "export_judgments",
    "open_study",
    "publish_release",
    "reopen_units",
    "select_items",
    "sync_crowd",
    "weigh_back",
}


# What each group of commands starts without; each of these takes from 20 to 400 milliseconds.
DEAR = {
    "name not in COMPUTING": (
        "numba pyarrow matplotlib pandas scipy.stats scipy.sparse scipy.optimize scipy.special celery httpx boto3 "
        "cryptography prometheus_client config.admin.site config.urls requests psycopg pygments"
    ),
    "name in DESIGNING": "jinja2 rest_framework.serializers unfold.admin",
    "name in BESIDE": "jinja2 annotation.crowds evaluation.results evaluation.reports",
    "name in RUNNING": "annotation.privacy.erasing evaluation.reports judgments.importers",
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The dear modules that the commands of each group load, in a process forked where Django has started."""
    program = f"""
import os, sys, django
from config.features import all_features
from config.commands import load_command
from quorum.subcommands import PLATFORM_COMMANDS
{COMPUTING=}; {DESIGNING=}; {BESIDE=}; {RUNNING=}
django.setup()
for light, dear in {DEAR!r}.items():
    if process := os.fork():
        assert os.waitpid(process, 0)[1] == 0
        continue
    for name in PLATFORM_COMMANDS.paths:
        if eval(light):
            load_command(name).create_parser("manage.py", name)
    sys.exit(print(light, *(set(dear.split()) & {{*sys.modules}}), sep=",", end=";"))
"""
    words = " ".join(said_by(program, tmp_path_factory.mktemp("commands")))
    lines = [line.split(",") for line in words.split(";") if line]
    return {light: found for light, *found in lines}


@pytest.mark.parametrize("light", DEAR)
def test_a_command_starts_without_what_it_does_not_use(loaded: dict[str, list[str]], light: str) -> None:
    assert loaded[light] == []


def test_a_command_starts_without_looking_for_garbage(tmp_path: Path) -> None:
    """All that is loaded stays: a search takes up to 40 milliseconds, and the largest command had four."""
    program = """
import gc, manage
searches = lambda: sum(generation["collections"] for generation in gc.get_stats())
before = searches()
try:
    manage.main(["manage.py", "release", "--help"])
finally:
    print(searches() - before)
"""
    assert said_by(program, tmp_path)[-1] == "0"


@pytest.mark.parametrize("command", ["score", "agreement"])
def test_a_command_on_files_loads_neither_settings_nor_models(command: str) -> None:
    """They take two seconds, longer than most files."""
    call = f"manage.main(['manage.py', {command!r}, '--help'])"
    program = f"""
import sys, manage
try:
    {call}
except SystemExit as end:
    sys.exit(end.code or len({{"config.settings", "judgments.models"}} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0


def test_importing_a_metric_does_not_start_django() -> None:
    found = [str(entry) for entry in imports() if entry.importer == "evaluation"]
    assert found == []


def test_every_package_that_is_imported_is_required() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = {canonicalize_name(Requirement(line).name) for line in lines if line[0] != "#"}
    # boto3, Jinja2 and Celery are made of the other three.
    required |= {canonicalize_name(name) for name in ("botocore", "markupsafe", "kombu", "amqp")}
    packages = packages_distributions()
    imported = {
        canonicalize_name(name)
        for entry in imports()
        if not inside(entry.importer, "scripts")
        for name in packages.get(entry.imported.partition(".")[0], ())
    }
    assert sorted(imported - required) == []


def test_nothing_behind_a_door_imports_a_door() -> None:
    outward = [
        entry
        for entry in imports()
        if inside(entry.importer, *APPS)
        and inside(entry.imported, *APPS)
        and not inside(entry.imported, *LOWEST)
        and not DOOR.search(entry.importer)
        and DOOR.search(entry.imported)
    ]
    assert [str(entry) for entry in outward] == []


def test_a_module_that_is_named_by_a_string_counts_as_imported() -> None:
    arrows = {(entry.importer, entry.imported) for entry in lazy_imports()}
    assert arrows >= {
        ("config.wsgi", "config.urls"),  # import_module
        ("judgments.apps", "judgments.handlers"),  # a job's function, for import_string
        ("config.settings", "config.middleware"),
    }
    unread = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, node in nodes(ast.Call)
        # checks read migrations, which import no code; parts of a job name what a module of ours declares; features are
        # read by the names of their folders; the library's packages import their own modules
        if not inside(
            name,
            "scripts",
            "config.checks",
            "quorum.numeric.packing",
            "quorum.numeric.submodules",
            *READS_FEATURES,
        )
        and dotted(node.func).rpartition(".")[2] in {"import_module", "__import__"}
        and not isinstance(node.args[0], ast.Constant)
    ]
    assert unread == []


def test_no_circle_of_modules() -> None:
    arrows: dict[str, set[str]] = {}
    for entry in all_imports():
        if inside(entry.imported, *ROOMS) and entry.imported != entry.importer:
            arrows.setdefault(entry.importer, set()).add(entry.imported)
    assert list(circles(arrows)) == []


def test_no_package_gives_a_name_of_its_folders_to_something_else() -> None:
    """Python imports a folder of data like a package, and its name in the package is the folder from then on."""
    hidden = [
        f"{name}.{folder.name}"
        for name, path, tree in modules()
        if path.name == "__init__.py"
        for folder in path.parent.iterdir()
        if folder.is_dir() and not (folder / "__init__.py").exists() and folder.name in bound_names(tree)
    ]
    assert hidden == []
    assert bound_names(ast.parse("from a import b as c\ndef d(): pass\ne: int = 1\nf = 1")) == {
        "c",
        "d",
        "e",
        "f",
    }


def bound_names(tree: ast.Module) -> set[str]:
    """Return the names that a module's top level binds."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def circles(arrows: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield every set of modules that import each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> Iterator[list[str]]:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in arrows.get(name, ()):
            if other not in index:
                yield from visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            found = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(found) > 1:
                yield sorted(found)

    for name in list(arrows):
        if name not in index:
            yield from visit(name)


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders: dict[str, int] = {}
    for _, path, _ in modules():
        if path.name != "__init__.py" and path.parent.name not in ("migrations", "commands"):
            folder = str(path.parent.relative_to(ROOT))
            folders[folder] = folders.get(folder, 0) + 1
    assert {folder: count for folder, count in folders.items() if count > LARGEST_FOLDER} == {}
    assert {app: folders[app] for app in APPS if folders[app] > LOOSE} == {}


def test_mechanical_turk_has_one_door() -> None:
    found = [entry for entry in imports() if inside(entry.imported, "boto3", "botocore")]
    assert {entry.importer for entry in found} <= {"annotation.crowds.mturk.client"}


def test_what_others_run_is_called_by_one_client_and_each_service_has_one_door() -> None:
    doors = {
        "annotation.crowds.mturk.notifications.amazon",
        "contrib.archives.site",
        "contrib.judges.endpoint",
        "contrib.prolific.responses",
        "contrib.prolific.client",
        "contrib.webhooks.posting",
    }
    clients = {"common.http.client", "common.http.direct"}
    of_network = ("httpx", "httpcore", "urllib.request", "urllib3", "requests")
    callers = {entry.importer for entry in imports() if inside(entry.imported, *of_network)}
    # a script asks servers that it started itself
    assert {name for name in callers if not inside(name, "scripts")} == clients
    assert {entry.importer for entry in imports() if inside(entry.imported, *clients)} - clients == doors


def test_what_comes_from_outside_is_unpacked_and_parsed_in_one_place() -> None:
    """The others read what Quorum wrote itself, or files of whoever runs the server."""
    own = {
        "gzip": ("quorum.metrics.caption_files",), "bz2": (), "lzma": (), "tarfile": (),
        "zlib": (
            *("evaluation.data.releases", "quorum.metrics.caption_files", "quorum.metrics.meteor"),
            "contrib.challenges",
        ),
        "zipfile": (
            *("evaluation.data.export", "contrib.archives", "contrib.mtme.folder", "evaluation.data.releases"),
            *("quorum.metrics.meteor", "evaluation.reports"),
        ),
        "json.loads": (
            *("annotation.money.orders", "annotation.privacy.erasure_list"),
            *("contrib.challenges", "contrib.demo.make_systems", "contrib.mtme.folder"),
            *("evaluation.data.export", "evaluation.data.judgment_sets.loaders", "quorum.metrics.caption_files"),
            "evaluation.data.judgment_sets.material_digest",
            *("contrib.archives", "evaluation.data.releases", "evaluation.results.consensus.storage"),
            *("quorum.numeric.packing", "quorum.numeric.signatures"),
            *("contrib.error_spans.kind.options", "judgments.studies.designs"),
        ),
        "PillowImage.open": ("judgments.datasets.picture_metadata", "judgments.datasets.picture_checks"),
        "Image.open": ("contrib.judges.prompts",),
    }  # fmt: skip
    used = [(entry.importer, entry.imported) for entry in imports()]
    used += [(name, dotted(node.func)) for name, node in nodes(ast.Call)]
    assert [
        (name, what)
        for name, what in used
        if what in own
        and inside(name, *APPS, "config", "common", "contrib")
        and not inside(name, "common.incoming", *own[what])
    ] == []


def test_only_settings_read_the_environment() -> None:
    allowed = {"config.settings", "config.gunicorn", "config.wsgi", "config.celery", "quorum.command"}
    # The metrics are a library of their own: where METEOR's tables lie is told them without Django.
    allowed |= {"quorum.metrics.meteor.tables"}
    # Says how many threads numpy has, before it is loaded.
    allowed |= {"common"}
    found = [
        f"{name}: {ast.unparse(node)}"
        for name, node in nodes(ast.Attribute)
        if dotted(node) in {"os.environ", "os.getenv"} and not inside(name, "scripts") and name not in allowed
    ]
    assert found == []


@pytest.fixture(scope="module")
def kinds() -> set[str]:
    from judgments.kinds import KINDS  # needs settings; python -m scripts.measures has none

    return set(KINDS)


def test_no_module_outside_the_kinds_asks_which_kind_it_is(kinds: set[str]) -> None:
    found = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, node in nodes(ast.Compare)
        if not inside(name, "judgments.kinds") and _asks_for_a_protocol(node, kinds)
    ]
    found += [
        f"{name}:{node.subject.lineno} match {ast.unparse(node.subject)}"
        for name, node in nodes(ast.Match)
        if not inside(name, "judgments.kinds") and ast.unparse(node.subject).endswith("protocol")
    ]
    assert found == []


def _asks_for_a_protocol(node: ast.Compare, kinds: set[str]) -> bool:
    """`x.protocol == "triplet"`, `kind.name in ("graded", ...)` and the like."""
    if not re.search(r"(^|\.)(protocol|kind|kind\.name)$", ast.unparse(node.left)):
        return False
    return any(_texts([inner]) & kinds for side in node.comparators for inner in ast.walk(side))


def _texts(nodes: Iterable[ast.AST | None]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_no_module_outside_the_kinds_lists_them(kinds: set[str]) -> None:
    """What a kind is like, it says itself: in a table, a new kind would be missing."""
    others = {
        "contrib.published_sets.formats",  # what published files hold
        "contrib.demo.management",  # studies of the demo, named like their kinds
        "judgments.design.reading.completing",  # tables of a study file
    }
    tables = [
        (name, node.lineno, _texts(node.keys if isinstance(node, ast.Dict) else node.elts) & kinds)
        for name, node in nodes(ast.Set, ast.List, ast.Tuple, ast.Dict)
        if not inside(name, "judgments.kinds", "judgments.migrations") and name not in others
    ]
    assert [table for table in tables if len(table[2]) > 1] == []


PLATFORM = ("common", "judgments", "annotation", "evaluation", "config")


def _platform_templates() -> Iterator[tuple[Path, str]]:
    for path in sorted((ROOT / "templates").rglob("*.*")):
        yield path, path.read_text(encoding="utf-8")


def _is_in_platform(name: str) -> bool:
    return inside(name, *PLATFORM) and ".migrations" not in name


def test_the_platform_names_no_job_of_a_feature() -> None:
    """What a job of a feature is called, and what it does, its feature declares."""
    kinds = {kind for feature in all_features().values() for kind in feature.jobs}
    assert kinds >= {"rehearse", "board", "import_judgments"}
    kinds -= {"leave_one_out"}  # of the platform, too: figures of written captions
    found = [
        f"{name}:{node.lineno} {node.value}"
        for name, node in nodes(ast.Constant)
        if _is_in_platform(name) and node.value in kinds
    ]
    found += [
        f"{path.relative_to(ROOT)}: {kind}"
        for path, text in _platform_templates()
        for kind in sorted(kinds.intersection(re.findall(r"""["']([\w-]+)["']""", text)))
    ]
    assert found == []


def _argument(call: ast.Call, position: int, keyword: str) -> str:
    """Return the text that a call has as an argument; "" if it has none."""
    values = [
        *call.args[position : position + 1],
        *(pair.value for pair in call.keywords if pair.arg == keyword),
    ]
    return next(iter(_texts(values)), "")


def test_the_platform_names_no_page_and_no_step_of_a_feature() -> None:
    """It asks for their attributes, such as `StudyPage.main_for`, or leaves them a place (`Feature.additions`)."""
    positions = {"study_page": 0, "operation": 0, "StudyStep": 0, "add_operation": 9}  # of the name
    names = {
        _argument(call, positions[dotted(call.func)], "name")
        for name, call in nodes(ast.Call)
        if inside(name, "contrib") and dotted(call.func) in positions
    } - {""}
    assert names >= {"board", "rehearsal", "rehearse", "try-rule", "soft-labels"}
    found = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, node in nodes(ast.Call, ast.Compare, ast.Subscript)
        if _is_in_platform(name) and _texts(_named_pages(node)) & names
    ]
    named = re.compile(
        r"""judgments_study_([a-z-]+)|judgments_study_do" study.pk "([\w-]+)|"([\w-]+)" in steps"""
    )
    found += [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in _platform_templates()
        for match in named.finditer(text)
        if names.intersection(match.groups())
        # the platform has a page "compare" of two designs, besides those of studies
        and match[0] != "judgments_study_compare"
    ]
    assert found == []


def _named_pages(node: ast.Call | ast.Compare | ast.Subscript) -> list[ast.AST]:
    """Return what an expression may give as the name of a page or step of a study."""
    if isinstance(node, ast.Call):
        return [*node.args] if dotted(node.func) == "study_page_address" else []
    if isinstance(node, ast.Subscript):
        return [node.slice] if dotted(node.value) in {"PAGES", "STEPS"} else []
    return [node.left] if {dotted(side) for side in node.comparators} & {"PAGES", "STEPS"} else []


def test_nothing_prints() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, node in nodes(ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []


def test_every_failure_that_is_caught_is_named() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, node in nodes(ast.ExceptHandler)
        if node.type is None or dotted(node.type) in {"Exception", "BaseException"}
    ]
    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        name
        for name, _, tree in modules()
        if tree.body and ast.get_docstring(tree) is None and ".migrations" not in name
    ]
    assert silent == []


def test_pages_hold_no_inline_scripts_or_styles() -> None:
    forbidden = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)|<style|\son\w+=\"|\sstyle=\"")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted([*(ROOT / "templates").rglob("*.html"), *(ROOT / "contrib").rglob("*.html")])
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert found == []


def test_scripts_in_strings_name_what_exists() -> None:
    """Most of them run in processes of their own, some only where services are, and mypy does not read them."""
    scripts, missing = 0, []
    for folder in ("tests", "benchmarks", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name == "test_compiled.py":  # makes the modules that its scripts import
                continue
            for line, script in _scripts_in_strings(path):
                scripts += 1
                missing += [f"{path.relative_to(ROOT)}:{line} {name}" for name in _missing_names(script)]
    assert missing == []
    assert scripts > 50


def _scripts_in_strings(path: Path) -> Iterator[tuple[int, ast.Module]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " import " in node.value:
            with suppress(SyntaxError):
                yield node.lineno, ast.parse(node.value)


def _missing_names(script: ast.Module) -> Iterator[str]:
    """Yield names that a script imports of Quorum, or takes from what it imported, and that are not there."""
    imported = {}
    for node in ast.walk(script):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in {*ROOMS, "tests"}:
            for alias in node.names:
                try:
                    imported[alias.asname or alias.name] = resolve_name(f"{node.module}.{alias.name}")
                except (ImportError, AttributeError):
                    yield f"{node.module}.{alias.name}"
    for node in ast.walk(script):
        match node:
            case ast.Attribute(ast.Name(name), attribute) if name in imported:
                if not hasattr(imported[name], attribute):
                    yield f"{name}.{attribute}"
