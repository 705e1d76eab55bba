"""The background worker: `python -m config.worker`."""

import argparse
import logging
import os
from importlib import import_module

import django

from config.observing.logs import log_exposed_files


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m config.worker", description="Run the jobs that pages and programs ask for."
    )
    parser.add_argument("--concurrency", type=int, default=2, help="jobs at a time (default: %(default)s)")
    parser.add_argument("--include", action="append", default=[], help="a module to import first")
    parser.add_argument("--loglevel", help="such as WARNING (default: LOG_LEVEL)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if options.loglevel:
        logging.getLogger().setLevel(options.loglevel.upper())
    for module in options.include:
        import_module(module)
    log_exposed_files()
    from judgments.worker import Worker  # models cannot be imported before django.setup

    Worker(options.concurrency).run()
    logging.shutdown()
    os._exit(0)  # a thread may still compute, and the interpreter would wait for it


if __name__ == "__main__":
    main()
