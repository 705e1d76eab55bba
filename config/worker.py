"""The background worker: `python -m config.worker [celery's worker options]`."""

import os
import sys
import warnings

from celery.platforms import SecurityWarning


def main() -> None:
    """Run the worker until it is stopped; command line options override the defaults."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # The warning is about unpickling as root; our messages are JSON with an id.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    from config.celery import app

    app.start(
        [
            "--quiet",
            "worker",
            "--pool=threads",  # docs/decisions/0002-jobs.md says why
            "--concurrency=2",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            *sys.argv[1:],
        ]
    )


if __name__ == "__main__":
    main()
