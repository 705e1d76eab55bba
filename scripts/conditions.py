"""Run the tests of a fresh clone under other conditions: at another time, in another time zone, as another user.

    python3 -m scripts.conditions --at 2028-02-29T23:55 --zone Asia/Kathmandu --user nobody --home-read-only
    python3 -m scripts.conditions --language de_DE.UTF-8 --browser chromium --order 7 --processes 2
    python3 -m scripts.conditions --services --python python3.13

Other conditions are as on a new machine: no environment variables and an empty home. The clone has the last commit.
Another time needs a C compiler, and another user needs root.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from scripts.checks import CHROMIUM_NAMES, PARALLEL_OPTIONS
from scripts.environment import ROOT, SetupError, print_line

# Prefixes of the only variables that are passed on. They are needed to fetch packages.
VARIABLES = ("PIP_", "SSL_", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m scripts.conditions",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--at", metavar="YYYY-MM-DDTHH:MM", help="the clock's time in UTC when the tests begin"
    )
    parser.add_argument("--zone", metavar="AREA/CITY", help="the machine's time zone (TZ)")
    parser.add_argument("--language", metavar="LOCALE", help="the shell's LANG; without it there is none")
    parser.add_argument("--user", help="the account that runs it, such as nobody")
    parser.add_argument("--home-read-only", action="store_true", help="a home that cannot be written")
    parser.add_argument("--python", metavar="PROGRAM", default=sys.executable)
    parser.add_argument("--browser", choices=(*CHROMIUM_NAMES, "none"), help="the only browser to be seen")
    parser.add_argument("--order", type=int, metavar="SEED", help="draw the order of the tests")
    parser.add_argument("--processes", type=int, metavar="N", help="processes of pytest")
    parser.add_argument(
        "--environment", metavar="FOLDER", help="a .venv that is there already, instead of a new one"
    )
    parser.add_argument("--services", action="store_true", help="make test-services instead of make test")
    parser.add_argument("tests", nargs="*", help="files and folders; without any, all")
    return parser.parse_args()


def _environment(options: argparse.Namespace, home: str) -> dict[str, str]:
    """Return the environment variables of the tests: few inherited ones, and those of the options."""
    variables = {name: text for name, text in os.environ.items() if name.upper().startswith(VARIABLES)}
    python = shutil.which(options.python)
    if not python:
        raise SetupError(f"{options.python} is not on the PATH; expected a Python 3.11 or newer.")
    variables |= {"HOME": home, "PATH": os.environ["PATH"], "TERM": "dumb", "PYTHON": python}
    if options.zone:
        variables["TZ"] = options.zone
    if options.language:
        variables["LANG"] = options.language
    if options.browser == "none":
        variables["CHROMIUM"] = ""
    elif options.browser:
        variables["CHROMIUM"] = shutil.which(options.browser) or options.browser
    if options.services and "QUORUM_SHARED" in os.environ:
        variables["QUORUM_SHARED"] = os.environ["QUORUM_SHARED"]
    return variables


# The C source of a library that is preloaded to replace functions of the C library. It shifts the wall clock and the
# times of files, but not the monotonic clock. Debian's libfaketime 0.9.10 cannot be used, since Chromium hangs with it,
# and a process crashed. If it shifts the monotonic clock, Python's threads wait forever; if not, they cannot sleep.
CLOCK_LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead, since;

__attribute__((constructor)) static void read_shift(void) {
    const char *text = getenv("CLOCK_AHEAD");
    ahead = text ? atol(text) : 0;
    text = getenv("CLOCK_SINCE");
    since = text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    if (!failed) *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
    return failed;
}

time_t time(time_t *copy) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (copy) *copy = now.tv_sec;
    return now.tv_sec;
}

// Files of before the run keep their times, as Python compares those of its sources with its caches.
static void shift_time(struct timespec *of_file) {
    if (of_file->tv_sec >= since) of_file->tv_sec += ahead;
}

static int shift_file(int failed, struct stat64 *file) {
    if (failed) return failed;
    shift_time(&file->st_atim);
    shift_time(&file->st_mtim);
    shift_time(&file->st_ctim);
    return 0;
}

#define NEXT(name) static typeof(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)

int stat64(const char *restrict path, struct stat64 *restrict file) {
    NEXT(stat64);
    return shift_file(next(path, file), file);
}

int lstat64(const char *restrict path, struct stat64 *restrict file) {
    NEXT(lstat64);
    return shift_file(next(path, file), file);
}

int fstat64(int descriptor, struct stat64 *file) {
    NEXT(fstat64);
    return shift_file(next(descriptor, file), file);
}

int fstatat64(int folder, const char *restrict path, struct stat64 *restrict file, int flags) {
    NEXT(fstatat64);
    return shift_file(next(folder, path, file, flags), file);
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    NEXT(utimensat);
    if (!times) return next(folder, path, times, flags);
    struct timespec machine[2] = {times[0], times[1]};  // without the shift; more nanoseconds: UTIME_NOW, UTIME_OMIT
    for (int number = 0; number < 2; number++)
        if (times[number].tv_nsec < 1000000000 && times[number].tv_sec >= since) machine[number].tv_sec -= ahead;
    return next(folder, path, machine, flags);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    NEXT(sem_timedwait);
    struct timespec moment = {until->tv_sec - ahead, until->tv_nsec};  // by the system's own clock
    return next(semaphore, &moment);
}
"""


def shifted_clock(start: str, folder: str) -> dict[str, str]:
    """Return the environment variables that shift the clock of a process and of its children to ``start`` in UTC."""
    ahead = round((datetime.fromisoformat(start).replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds())
    if ahead < 0:
        raise SetupError(f"--at is {start}; expected a time to come, as cookies would be over at once.")
    if not shutil.which("cc"):
        raise SetupError("--at needs a C compiler; on Debian: apt-get install gcc libc6-dev")
    library = os.path.join(folder, "clock.so")
    compile_command = ["cc", "-shared", "-fPIC", "-x", "c", "-o", library, "-", "-ldl"]
    subprocess.run(compile_command, input=CLOCK_LIBRARY, text=True, check=True)
    since = int(datetime.now(UTC).timestamp())
    return {"LD_PRELOAD": library, "CLOCK_AHEAD": str(ahead), "CLOCK_SINCE": str(since)}


def _run_tests(options: argparse.Namespace, folder: str) -> int:
    """Clone the repository into a folder, and run its tests there. Return the exit code."""
    clone, home = os.path.join(folder, "quorum"), os.path.join(folder, "home")
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    if options.environment:
        os.symlink(os.path.abspath(options.environment), os.path.join(clone, ".venv"))
    os.mkdir(home)
    user_prefix = []
    if options.user:
        Path(folder).chmod(0o711)
        user_prefix = ["setpriv", "--reuid", options.user, "--regid", "nogroup", "--clear-groups"]
        subprocess.run(["chown", "--recursive", f"{options.user}:nogroup", folder], check=True)
    if options.home_read_only:
        home = "/dev/null"  # a read-only folder does not suffice, since root could write to it
    variables = _environment(options, home)
    # Do not shift the clock for this, since the certificates of the package index would be expired.
    subprocess.run([*user_prefix, "make", "browser"], cwd=clone, env=variables, check=True)
    if options.at:
        variables |= shifted_clock(options.at, folder)
    if options.order is not None:
        variables["PYTEST_ADDOPTS"] = f"--random-order --random-order-seed={options.order}"
    if options.processes is not None:
        variables["PYTEST_XDIST_AUTO_NUM_WORKERS"] = str(options.processes)
    command = [*user_prefix, "make", "test-services" if options.services else "test"]
    if options.tests:
        command += [f"ARGS={shlex.join([*PARALLEL_OPTIONS, *options.tests])}"]
    return subprocess.run(command, cwd=clone, env=variables, stdin=subprocess.DEVNULL).returncode


def main() -> int:
    options = parse_arguments()
    print_line("$ python3 -m scripts.conditions " + shlex.join(sys.argv[1:]))
    with tempfile.TemporaryDirectory(prefix="quorum-conditions-") as folder:
        return _run_tests(options, folder)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(str(problem))
