"""Messages between the gate and its server: a run and its result, one JSON line each."""

from __future__ import annotations

import json
from dataclasses import asdict
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Run:
    """One pytest session over test modules, with some answers laid over the katas."""

    root: str
    tests: tuple[str, ...]
    solutions: bool = False
    overlay: str = ""
    stop: bool = False
    # Tests to run before the others.
    first: tuple[str, ...] = ()
    shuffle: int | None = None
    # Processor seconds hold on a busy machine too; wall seconds end a run that only waits.
    cpu_seconds: int = 60
    wall_seconds: float = 300.0
    label: str = ""


@dataclass(frozen=True)
class Test:
    """The outcome of one test: the phase it ended in, and the classes of its exception."""

    # Keeps pytest from collecting it as a class of tests.
    __test__: ClassVar[bool] = False

    name: str
    phase: str
    outcome: str
    errors: tuple[str, ...] = ()
    message: str = ""
    given: bool = False
    missing: bool = False
    module: str = ""
    # Of a C++ kata: whether its source compiled, and whether the library could be loaded.
    compiled: bool = True
    loaded: bool = True
    # The functions of plugins/ that its exception has come through, and a fault of the simulator.
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """The outcome of a run."""

    tests: tuple[Test, ...] = ()
    collection: str = ""
    running: str = ""
    crash: str = ""
    timed_out: bool = False
    finished: bool = False
    seconds: float = 0.0
    cpu: float = 0.0
    output: str = ""
    label: str = ""
    # Files of the repository, without those of the engine.
    opened: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Test, ...]:
        """The tests that failed, in the order they ran."""
        return tuple(test for test in self.tests if test.outcome == "failed")


def dump(value: Run | Result) -> str:
    """Return `value` as one line."""
    return json.dumps(asdict(value))


def load_run(line: str) -> Run:
    """Read a request."""
    table = json.loads(line)
    return Run(**{**table, "tests": tuple(table["tests"]), "first": tuple(table["first"])})


def load_result(line: str) -> Result:
    """Read an answer."""
    table = json.loads(line)
    tests = [Test(**{**test, "errors": tuple(test["errors"])}) for test in table["tests"]]
    return Result(**{**table, "tests": tuple(tests), "opened": tuple(table["opened"])})
