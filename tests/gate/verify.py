"""``nox -s verify -- lecture04 k02_clamp``: puts a lecture or a kata through the gate.

With ``--write``, what passes every check is entered in the ledger, ``.meta/kNN_name/proof.json``
in the folder of its lecture. ``--due`` chooses the katas whose entry is missing or stale,
``--base origin/main`` those whose entry a branch has changed, ``--aged`` those whose entry an
older engine has made, and ``--again`` some that are proved already: the youngest entries, then
aged ones, then random ones. ``--list`` prints them instead. ``--canaries`` runs those of the
parts of the engine that have changed.
Each kata is entered as soon as it is proved, so a run may be stopped and started again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import random
import shutil
import sys
import threading
import time
from contextlib import ExitStack
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.tools.git import GitError
from plugins.tools.processes import usable_processors
from tests.gate import selection
from tests.gate.blind import enter_blind_run
from tests.gate.canaries import Record
from tests.gate.canaries import run_canaries
from tests.gate.canaries import show
from tests.gate.canaries import unseen
from tests.gate.canaries import write_record
from tests.gate.cases import read_gate
from tests.gate.checks import Checks
from tests.gate.ledger import ProofError
from tests.gate.ledger import command
from tests.gate.ledger import differences
from tests.gate.ledger import proof_file
from tests.gate.ledger import read_proof
from tests.gate.ledger import write_proof
from tests.gate.parts import parts_of
from tests.gate.prove import CHECKS
from tests.gate.prove import Prover
from tests.gate.prove import Row
from tests.gate.runner import HOME
from tests.gate.runner import Runner
from tests.gate.table import proof_table
from tests.gate.table import report
from tests.shards import part_of
from tests.shards import shards


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


INTERRUPTED = 130
BAR = 20
# As the names of tests have them.
GPUS = {"cuda", "mps"}


def main(arguments: Sequence[str]) -> int:
    """Prove the chosen katas, print the report, and return the exit status: 0 if all pass."""
    options = read_options(arguments)
    gate = read_gate(HOME, options.lecture)
    every = options.lecture == "all"
    katas = list(gate.chosen(() if every else (options.lecture,), tuple(options.kata)))
    broken = [line for line in gate.course.errors if every or options.lecture in line]
    broken += filter(None, [environment_within(HOME, sys.prefix)])
    if broken or not katas:
        sys.stdout.write("\n".join(broken or ["no such kata"]) + "\n")
        return 2
    if options.canaries:
        return canaries(gate, options)
    if options.table:
        sys.stdout.write(f"{proof_table(katas)}\n")
        return 0
    return blind(gate, katas, options.blind) if options.blind else prove(gate, katas, options)


def canaries(gate: Gate, options: argparse.Namespace) -> int:
    """Run the canaries of the parts of the engine that have changed; return the exit status."""
    parts = parts_of(HOME)
    if options.list:
        sys.stdout.write("\n".join(show(gate, parts)) + "\n")
        return 0

    def keep(record: Record) -> None:
        # So that a run may be stopped, and the same command goes on.
        if options.write and parts == parts_of(HOME):
            write_record(gate, record)

    with Runner(options.jobs) as runner:
        checks = Checks(gate, runner)
        how = {"anew": options.choose, "write": options.write}
        record, problems = run_canaries(checks, parts, **how, say=_show_line, keep=keep)
    if parts != parts_of(HOME):
        problems.append("the engine has changed meanwhile")
    seen = len(parts) - len(unseen(record, parts))
    lines = [f"PROBLEM  {line}" for line in problems]
    lines.append(f"{seen} of {len(parts)} parts of the engine are as their canaries saw them.")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(problems))


def _show_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def prove(gate: Gate, katas: list[Kata], options: argparse.Namespace) -> int:
    """Choose among the katas, prove or list them, and return the exit status."""
    try:
        katas, others = choose(gate, katas, options)
    except GitError as error:
        sys.stdout.write(f"--base {options.base}: {error}\n")
        return 2
    if not katas and not others:
        sys.stdout.write("Every proof is up to date.\n")
        return 0
    if options.list:
        sys.stdout.write("\n".join(listed(katas)) + "\n")
        return 0
    return work_through(gate, katas, others, options)


def work_through(
    gate: Gate, katas: list[Kata], others: list[Kata], options: argparse.Namespace
) -> int:
    """Prove these katas, print the report, and return the exit status; others were not chosen."""
    work = Work(gate, katas, options)
    work.run()
    rows = work.rows
    sys.stdout.write(report(rows, work.told if _one_stream() else ()) + "\n")
    for line in summary(work, others, options):
        sys.stdout.write(f"{line}\n")
    if work.stopped:
        return INTERRUPTED
    # A sample is of what fits; whatever else is not proved although it was asked for is red.
    lacking = [row for row in rows if not row.proof] if asks_for_proofs(options) else []
    left = [] if options.again else work.left
    return int(bool(left or lacking) or any(row.problems for row in rows))


def environment_within(root: Path, prefix: str) -> str:
    """Return what to do where the libraries that runs import are files of the repository."""
    folder = Path(prefix).resolve()
    if not folder.is_relative_to(root.resolve()):
        return ""
    return (
        f"This Python's environment, {folder}, lies in the repository, and a proof cannot tell its "
        "libraries from files of the course. Make one elsewhere: python -m venv ../katas-venv "
        "(tox: TOX_WORK_DIR=../katas-tox)."
    )


def asks_for_proofs(options: argparse.Namespace) -> bool:
    """Whether every kata that is begun is to have a proof, since no check was left out."""
    whole = set(options.only) == set(CHECKS) and not options.quick and options.repeats is None
    return whole and not options.again


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="verify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lecture", nargs="?", default="all", help="lecture04; default: all")
    parser.add_argument("kata", nargs="*", help="k02_clamp or k03; default: all of the lecture")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--due", action="store_true", help="katas whose proof is missing or stale")
    which.add_argument("--base", metavar="REF", help="katas whose proof differs from this branch")
    which.add_argument(
        "--aged", action="store_true", help="katas whose proof an older engine has made"
    )
    which.add_argument(
        "--again",
        action="store_true",
        help="katas that are proved: the youngest, then aged ones, then random ones",
    )
    which.add_argument("--table", action="store_true", help="print what the proofs say")
    which.add_argument(
        "--canaries",
        action="store_true",
        help="run the canaries of the parts of the engine that have changed",
    )
    every = ",".join(CHECKS)
    which.add_argument(
        "--blind",
        metavar="ANSWER",
        type=Path,
        help="enter how an answer fares whose author had seen neither tests nor solution",
    )
    parser.add_argument("--choose", action="store_true", help="choose all canaries anew")
    parser.add_argument("--list", action="store_true", help="print the katas and prove none")
    parser.add_argument("--only", default=every, help="comma-separated; default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="try a sample of the mutants")
    parser.add_argument("--repeats", type=int, help="shuffled runs; default: 20, of slow katas 5")
    parser.add_argument(
        "--jobs", type=int, help="katas at a time; default: KATAS_WORKERS, or all cores"
    )
    parser.add_argument("--minutes", type=float, help="start no kata that would not end in time")
    parser.add_argument("--seed", type=int, help="of the random katas; default: another each time")
    parser.add_argument("--shard", metavar="N/OF", default="1/1", help="one part of these katas")
    parser.add_argument(
        "--nights", type=int, default=1, help="prove those of today: in so many nights it is all"
    )
    parser.add_argument("--write", action="store_true", help="enter the proofs in the lectures")
    options = parser.parse_args(arguments)
    options.only = tuple(options.only.split(","))
    if unknown := set(options.only) - set(CHECKS):
        parser.error(f"--only: expected {', '.join(CHECKS)}; found {', '.join(sorted(unknown))}")
    if options.lecture == "all" and not arguments:
        parser.error(
            "name a lecture, or all, or give --due, --base, --aged, --again, --table or --canaries"
        )
    if options.again and options.minutes is None:
        parser.error("--again needs --minutes")
    # As tox does: "auto" is one for each processor.
    workers = os.environ.get("KATAS_WORKERS", "auto")
    options.jobs = options.jobs or (int(workers) if workers.isdecimal() else 0)
    options.jobs = options.jobs or usable_processors()
    options.seed = random.randrange(1 << 16) if options.seed is None else options.seed  # noqa: S311
    return options


def blind(gate: Gate, katas: list[Kata], answer: Path) -> int:
    """Enter the run of an answer by somebody who had seen neither tests nor solution."""
    if len(katas) != 1:
        sys.stdout.write(f"--blind is for one kata, these are {len(katas)}\n")
        return 2
    with Runner(1) as runner:
        try:
            line = enter_blind_run(Checks(gate, runner), katas[0], answer)
        except (OSError, ProofError) as error:
            sys.stdout.write(f"--blind {answer}: {error}; first {command(katas[0])}\n")
            return 2
    sys.stdout.write(f"{line}\n")
    return 0


def choose(
    gate: Gate, katas: list[Kata], options: argparse.Namespace
) -> tuple[list[Kata], list[Kata]]:
    """Return the katas to prove, in this order, and those that are left out."""
    others: list[Kata] = []
    if options.due:
        katas = selection.due(gate, katas)
    elif options.base:
        katas = selection.differing(gate, katas, options.base)
    elif options.aged:
        katas = selection.aged(katas)
    elif options.again:
        work = 60 * options.minutes * options.jobs
        katas, others = selection.sample(gate, katas, work, options.seed, 60 * options.minutes)
    katas = katas[today() % options.nights :: options.nights]
    number, count = part_of(options.shard)
    if count > 1:
        times = {kata.id: selection.seconds_of(kata) for kata in katas}
        mine = shards(times, times, count)[number - 1]
        katas = [kata for kata in katas if kata.id in mine]
    if not options.again and not (options.aged and options.minutes):
        # The longest first, so that no core ends up with it alone.
        katas = sorted(katas, key=lambda kata: -selection.seconds_of(kata))
    return katas, others


def today() -> int:
    """Return the number of the day."""
    return dt.datetime.now(tz=dt.UTC).date().toordinal()


def listed(katas: list[Kata]) -> list[str]:
    """Return a line for each kata, and how long their proofs take."""
    seconds = [selection.seconds_of(kata) for kata in katas]
    lines = [f"{kata.id}  {time:.0f} s" for kata, time in zip(katas, seconds, strict=True)]
    return [*lines, f"{len(katas)} katas, {sum(seconds) / 60:.0f} minutes, one after the other."]


@dataclass
class Work:
    """Several katas at a time, each in a warm process of its own, until all are done."""

    gate: Gate
    katas: list[Kata]
    options: argparse.Namespace
    rows: list[Row] = field(default_factory=list)
    left: list[Kata] = field(default_factory=list)
    stopped: bool = False
    # The katas whose problems were shown as soon as they were found.
    told: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Prove the katas; Ctrl-C stops, and keeps what is proved."""
        self._queue, self._lock = list(self.katas), threading.Lock()
        self._started, self._doing = time.monotonic(), dict[str, str]()
        workers = min(self.options.jobs, len(self.katas))
        with ExitStack() as stack:
            each = max(1, self.options.jobs // workers) if workers else 1
            runners = [stack.enter_context(Runner(each)) for _ in range(workers)]
            threads = [threading.Thread(target=self._work, args=(runner,)) for runner in runners]
            for thread in threads:
                thread.start()
            try:
                for thread in threads:
                    thread.join()
            except KeyboardInterrupt:
                self.stopped = True
                # A worker's reading ends with its process.
                for runner in runners:
                    runner.stop()
                for thread in threads:
                    thread.join()
        self.left += self._queue
        self.rows.sort(key=lambda row: row.kata)
        _show("")

    def _work(self, runner: Runner) -> None:
        while kata := self._next():
            checks = Checks(self.gate, runner)
            prover = Prover(
                checks,
                only=self.options.only,
                full=not self.options.quick,
                times=self.options.repeats,
                say=partial(self._say, kata),
            )
            try:
                row = prover.prove(kata)
                gpu = row.proof is not None and runs_on_a_gpu(checks, kata)
                with self._lock:
                    self._conclude(kata, row, gpu=gpu)
            except Exception as error:  # noqa: BLE001 - a kata is never lost without a word
                with self._lock:
                    self._give_up(kata, error)
                # Its process has ended, and the others do the rest of the work.
                if self.stopped or isinstance(error, RuntimeError | OSError):
                    return

    def _give_up(self, kata: Kata, error: Exception) -> None:
        self._doing.pop(kata.id, None)
        if self.stopped:
            self.left.append(kata)
            return
        row = Row(kata.id)
        row.add("gate", "", [f"it could not be proved: {type(error).__name__}: {error}"])
        self.rows.append(row)

    def _next(self) -> Kata | None:
        with self._lock:
            while self._queue and not self.stopped:
                kata = self._queue.pop(0)
                if self._fits(kata):
                    return kata
                self.left.append(kata)
            return None

    def _fits(self, kata: Kata) -> bool:
        if self.options.minutes is None or (self.options.again and kata is self.katas[0]):
            return True
        used = time.monotonic() - self._started
        return bool(used + selection.seconds_of(kata) <= 60 * self.options.minutes)

    def _conclude(self, kata: Kata, row: Row, *, gpu: bool) -> None:
        self._doing.pop(kata.id, None)
        if row.proof:
            try:
                entry = read_proof(proof_file(kata))
            except (OSError, ProofError):
                entry = None
            if entry and entry.key == row.proof.key:
                row.add("proof", "", differences(entry, row.proof, gpu=gpu))
            # The right one is written all the same, and the difference is red.
            if self.options.write:
                write_proof(kata, row.proof)
        self.rows.append(row)
        if not sys.stderr.isatty():
            _show(f"{len(self.rows)}/{len(self.katas)} {row.kata} {row.cells['seconds']} s")
            # A log of an hour is read before it ends; of one kata the report comes at once.
            if len(self.katas) > 1:
                self.told.add(kata.id)
                for check, problem in row.problems:
                    _show(f"    {check}: {problem}")

    def _say(self, kata: Kata, check: str, done: int, wanted: int) -> None:
        with self._lock:
            part = f" {done}/{wanted}" if wanted > 1 else ""
            self._doing[kata.id] = f"{kata.id} {check}{part}"
            if sys.stderr.isatty():
                ended = len(self.rows)
                bar = "#" * (BAR * ended // len(self.katas))
                _show(f"{bar:.<{BAR}} {ended}/{len(self.katas)}  {', '.join(self._doing.values())}")


def runs_on_a_gpu(checks: Checks, kata: Kata) -> bool:
    """Whether this machine has run a variant of a test for a GPU."""
    ran = [test.name for test in checks.solved_result(kata).tests if test.outcome != "skipped"]
    return any(GPUS & set(name.partition("[")[2].removesuffix("]").split("-")) for name in ran)


def summary(work: Work, others: list[Kata], options: argparse.Namespace) -> list[str]:
    """Return what is to be said of the run as a whole: what was proved, and what was not."""
    lines = []
    proved = [row for row in work.rows if row.proof and not row.problems]
    entered = " and entered" if options.write else ""
    lines.append(f"{len(proved)} of {len(work.katas)} katas proved{entered}.")
    lines += [f"no proof  {row.kata}  {row.no_proof}" for row in work.rows if row.no_proof]
    if work.stopped:
        lines.append("Stopped; the same command goes on where this one ended.")
    if options.again:
        every = {row.kata for row in work.rows} | {kata.id for kata in (*work.left, *others)}
        rest = sorted(every - {row.kata for row in work.rows if row.proof})
        done = ", ".join(row.kata for row in work.rows if row.proof) or "none"
        lines.append(f"Proved again in {options.minutes:g} minutes, seed {options.seed}: {done}.")
        names = f": {', '.join(rest)}" if rest else ""
        lines.append(f"Not proved again: {len(rest)} of {len(every)} katas{names}.")
        if never := selection.too_long(others, 60 * options.minutes):
            names = ", ".join(kata.id for kata in never)
            lines.append(f"Too long for {options.minutes:g} minutes, whichever are drawn: {names}.")
        lines.append("Everything: nox -s verify -- all")
    elif work.left:
        names = " ".join(kata.id for kata in work.left)
        lines.append(f"Not proved, since the time was over or a process has ended: {names}")
        lines += [f"nox -s verify -- {kata.lecture} {kata.name}" for kata in work.left]
    return lines


def _one_stream() -> bool:
    """Whether the report goes where the progress went, as into the log of a workflow."""
    # What stands in for a stream may have no file.
    with suppress(OSError, ValueError):
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    return False


def _show(text: str) -> None:
    if sys.stderr.isatty():
        # Cut, since a line that wraps cannot be written over.
        sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
    elif text:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
