"""Carry out `make mturk-demo`: publish a demo study on an emulator of Mechanical Turk, and print a link for workers.

Nothing is sent to Amazon, and no money is spent. Each run starts with an empty folder `mturk-demo` in the data folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys

from scripts import services
from scripts.environment import (
    PYTHON,
    ROOT,
    SetupError,
    check_port,
    check_writable,
    install_requirements,
    print_line,
    setting,
)

EMULATOR = "emulator of Mechanical Turk"
COMMAND = "make mturk-demo"
STUDY = "demo-mturk"
BANNER = """
Quorum runs at              {address}
Mechanical Turk (emulated)  {site}

{account}

Three things to try
  1. Take a HIT as a worker:       {site}/worker/hits?worker=A{worker}
  2. See what it costs and pays:   {address}{crowd}
  3. Compare both sides:           the button there, "Compare with the crowd"

Ctrl-C stops all of it; the next start begins anew.
"""


def main() -> None:
    with services.until_stopped() as processes:
        folder = os.path.join(ROOT, os.path.expanduser(setting("DATA_DIR", "var")), "mturk-demo")
        empty_folder(folder)
        port = check_port(command=COMMAND + " PORT={}")
        emulator_port = check_port("EMULATOR_PORT", "8091", COMMAND + " EMULATOR_PORT={}")
        install_requirements("requirements.txt")
        address, site = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{emulator_port}"
        environment = services.environment_of(folder, port)
        environment |= separate_settings(folder) | emulator_settings(address, site)
        installation = services.Installation(PYTHON, services.QUORUM, environment)
        account = services.prepare(installation)
        services.COMMANDS[EMULATOR] = ["tests.fakes.mturk", "--quiet", "--port", str(emulator_port)]
        services.start_service(processes, EMULATOR, installation)
        services.start_service(processes, services.WEB, installation)
        services.wait_for_answer(address, processes)
        services.wait_for_answer(site, processes)
        for name in (services.WORKER, services.HEAVY):
            services.start_service(processes, name, installation)
        crowd = _publish_study(environment)
        print_line(
            BANNER.format(
                address=address,
                site=site,
                worker=secrets.token_hex(4).upper(),
                crowd=crowd,
                account=services.account_lines(account).splitlines()[0],  # without the line for participants
            )
        )
        services.keep_running(processes, installation)


def separate_settings(folder: str) -> dict[str, str]:
    """Return settings that separate the demo's database, jobs and money from those of other installations."""
    return {
        "DATA_DIR": folder,
        "DATABASE_URL": "",
        "CELERY_BROKER_URL": "",
        "MTURK_LIVE": "false",
        "MTURK_SNS_TOPIC": "",
        "MTURK_SQS_QUEUE": "",
    }


def emulator_settings(address: str, site: str) -> dict[str, str]:
    """Return settings for an installation at ``address`` that sends its calls to the emulator at ``site``."""
    return {
        "PUBLIC_URL": address,
        "AWS_ENDPOINT_URL_MTURK": site,
        "AWS_ACCESS_KEY_ID": "emulated",
        "AWS_SECRET_ACCESS_KEY": "emulated",
        "MTURK_SITES": site,
        "CROWD_SYNC_SECONDS": "20",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def empty_folder(folder: str) -> None:
    """Empty the folder. The emulator forgets its HITs when it ends, so the rows of an earlier run are useless.

    Raise SetupError if the folder has other contents.
    """
    # the file by which a folder of an earlier run is recognised
    mark = os.path.join(folder, "made-by-mturk-demo")
    if os.path.exists(mark):
        shutil.rmtree(folder)
    if os.path.exists(folder) and os.listdir(folder):
        raise SetupError(f"The folder {folder} holds something else; move it away for this demo.")
    check_writable(folder)
    with open(mark, "w", encoding="ascii"):
        pass


def _publish_study(environment: dict[str, str]) -> str:
    """Publish the study. Return the path of the study's page about the crowd."""
    print_line("Publishing the study ...")
    # do all steps in one process, since each process takes seconds to start
    program = (
        "from io import StringIO; from django.core.management import call_command; "
        "call_command('create_study', 'demo/studies/mturk.toml', stdout=StringIO()); "
        f"call_command('generate_hits', {STUDY!r}, stdout=StringIO()); "
        f"call_command('open_study', {STUDY!r}, stdout=StringIO()); "
        "from judgments.models import Study; from judgments.studies.study_page import study_page_address; "
        f"print(study_page_address(Study.objects.get(slug={STUDY!r}), 'crowd'))"
    )
    command = [PYTHON, "manage.py", "shell", "--no-imports", "-c", program]
    process = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        raise SetupError("The study could not be published; the reason is above.")
    return process.stdout.strip()


if __name__ == "__main__":
    try:
        main()
    except SetupError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)
