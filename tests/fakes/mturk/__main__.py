"""`python -m tests.fakes.mturk --port 8090`: the emulator for hand use, until Ctrl-C."""

import argparse
import signal
import sys
import threading

from tests.fakes.mturk.emulator import USUAL_BALANCE, MTurkEmulator


def main() -> None:
    """Starts it and says where it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.mturk", description=__doc__)
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--balance", type=int, default=USUAL_BALANCE, help="prepaid money in cents")
    parser.add_argument("--lag", type=float, default=0, help="seconds until submissions are known")
    parser.add_argument("--quiet", action="store_true", help="do not say where it is")
    asked = parser.parse_args()
    stop = threading.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: stop.set())
    with MTurkEmulator(
        port=asked.port, seed=asked.seed, balance_cents=asked.balance, lag_seconds=asked.lag
    ) as emulator:
        if not asked.quiet:
            sys.stdout.write(f"{emulator.endpoint_url}\n")
            sys.stdout.write(f"workers: {emulator.endpoint_url}/worker/hits?worker=AWORKER\n")
            sys.stdout.flush()
        stop.wait()


if __name__ == "__main__":
    main()
