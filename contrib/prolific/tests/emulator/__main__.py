"""Run the emulator until Ctrl-C: ``python -m contrib.prolific.tests.emulator --port 8701``."""

import argparse
import sys
import threading

from contrib.prolific.tests.emulator import ProlificEmulator

parser = argparse.ArgumentParser(description="An emulator of Prolific's API.")
parser.add_argument("--port", type=int, default=8701)
with ProlificEmulator(port=parser.parse_args().port) as emulator:
    sys.stdout.write(f"PROLIFIC_API_URL={emulator.url}\nPROLIFIC_TOKEN={emulator.token}\n")
    sys.stdout.flush()
    threading.Event().wait()
