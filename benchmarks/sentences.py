"""Compare every sentence of results, dashboard and report with the rows of random studies.

    python -m benchmarks.sentences                # 200 studies, some four minutes
    python -m benchmarks.sentences --studies 40   # as many as the tests draw

The database is an SQLite database in a temporary folder; the program leaves no files. It prints how many sentences were
checked by place and by subject, and the sentences that are false. A sentence without a checker (benchmarks/claims/) is
an error.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "ALLOWED_HOSTS": "testserver",
            "DATABASE_URL": "",
            "DEBUG": "1",
            "DATA_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        check(range(chosen.first, chosen.first + chosen.studies), Path(folder))


def check(seeds: range, folder: Path) -> None:
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    from benchmarks.claims import check_study

    call_command("migrate", verbosity=0)
    designer = Client()
    designer.force_login(User.objects.create_superuser("designer"))
    counts: Counter[str] = Counter()
    wrong_sentences: list[str] = []
    for seed in seeds:
        checked, wrong = check_study(seed, designer, folder)
        counts += checked
        wrong_sentences += wrong
    print(f"{len(seeds)} studies")
    for name, count in counts.most_common():
        print(f"{name}: {count:,} sentences")
    print(f"{len(wrong_sentences)} false")
    print(*wrong_sentences, sep="\n")


if __name__ == "__main__":
    main()
