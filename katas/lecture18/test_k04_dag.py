"""Tests of k04_dag: small pipelines in threads, and runners that are killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture18 import k04_dag as kata
from katas.lecture18.k04_dag import Stage


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    Function = Callable[[Path, Mapping[str, Path], Mapping[str, Any]], None]


one = pytest.mark.step(1, "after its parents")
two = pytest.mark.step(2, "what an output is made from")
three = pytest.mark.step(3, "whole or not at all")
four = pytest.mark.step(4, "all that is ready")
five = pytest.mark.step(5, "killed, and going on")
# Seconds that a stage waits for another stage, which starts at once if your code is right.
PATIENCE = 2
# Each stage of the brief, and its parents.
PARENTS = {
    "clean": (),
    "train": ("clean",),
    "stats": ("clean",),
    "judge": ("train",),
    "report": ("judge", "stats"),
}


def nothing(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    """Write nothing."""


def plan(run: Function = nothing, **changed: Any) -> list[Stage]:
    """Return the pipeline of the brief, in which stages may be replaced."""
    stages = {name: Stage(name, run, parents, {"lr": 0.1}) for name, parents in PARENTS.items()}
    return [*(stages | changed).values()]


# The pipeline whose runner is killed: it has few files, because it runs often.
DIAMOND = {"clean": (), "train": ("clean",), "stats": ("clean",), "judge": ("train", "stats")}


class Workers:
    """Stages that write the names of all stages before them, and record which ran."""

    def __init__(self, *fail: str) -> None:
        self.fail, self.ran = {*fail}, Counter[str]()

    def of(self, name: str, parents: tuple[str, ...] = (), **fields: Any) -> Stage:
        """Return a stage."""

        def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
            self.ran[name] += 1
            before = [(path / "text").read_text("utf-8") for _, path in sorted(inputs.items())]
            (folder / "text").write_text(f"{name}({','.join(before)})", encoding="utf-8")
            if name in self.fail:
                raise RuntimeError(f"{name} fails")

        return Stage(name, run, parents, **fields)

    def plan(self, **changed: Any) -> list[Stage]:
        """Return the pipeline of the brief; a stage may have different code."""
        return [self.of(n, p, code=changed.get(n, "1")) for n, p in PARENTS.items()]

    def text(self, store: Path, stages: list[Stage], name: str) -> str:
        """Return the text that a stage has written to its output."""
        output = store / kata.keys(stages)[name]
        assert output.is_dir(), f"your store has no folder `store / key` for {name}"
        return (output / "text").read_text("utf-8")


@one
def test_a_chain() -> None:
    """A chain is ordered, whatever the order of the list."""
    c, a, b = Stage("c", nothing, ("b",)), Stage("a", nothing), Stage("b", nothing, ("a",))
    yours = kata.order([c, a, b])

    assert yours == ["a", "b", "c"], f"c after b after a: yours {yours}, expected ['a', 'b', 'c']"


@one
@given(data=st.data(), count=st.integers(0, 8))
def test_each_after_its_parents(data: st.DataObject, count: int) -> None:
    """Stages with no parent, one or several are ordered; each occurs once."""
    parents = {
        f"s{k}": tuple(f"s{p}" for p in data.draw(st.sets(st.integers(0, k - 1)))) if k else ()
        for k in range(count)
    }
    names = data.draw(st.permutations(sorted(parents)))
    stages = [Stage(name, nothing, parents[name]) for name in names]
    yours = kata.order(stages)

    assert sorted(parents) == sorted(yours), f"yours {yours}, expected each of {sorted(parents)}"
    early = [n for n in yours if {*parents[n]} - {*yours[: yours.index(n)]}]
    assert not early, f"your order {yours} has {early} before a parent; the parents are {parents}"
    kept = [stage.name for stage in stages] == names
    assert kept, "your code modified the caller's list of stages"


@one
@pytest.mark.time_limit(5)
@pytest.mark.parametrize(
    "parents",
    [{"a": ("a",)}, {"a": (), "b": ("a", "d"), "c": ("b",), "d": ("c",)}, {"a": (), "b": ("z",)}],
    ids=["itself", "a cycle", "no stage"],
)
def test_no_order_is_possible(parents: dict[str, tuple[str, ...]]) -> None:
    """An impossible pipeline raises ValueError; it gives no shorter list and no endless loop."""
    stages = [Stage(name, nothing, above) for name, above in parents.items()]
    try:
        yours = kata.order(stages)
    except ValueError:
        return
    raise AssertionError(f"parents {parents}: your code returns {yours}, expected a ValueError")


@two
def test_a_key_for_each_stage() -> None:
    """Two stages with the same code, params and parents still have different keys."""
    yours = kata.keys(plan())

    assert {*PARENTS} == {*yours}, f"yours has keys for {sorted(yours)}, expected {sorted(PARENTS)}"
    assert len({*yours.values()}) == 5, (
        f"train and stats have different names, so expected different keys: yours {yours}"
    )
    odd = [key for key in yours.values() if "/" in key or not 0 < len(key) <= 128]
    assert not odd, f"a key must be a valid folder name, yours are {odd}; use a hexadecimal hash"


@two
@pytest.mark.parametrize("field", ["code", "params", "parents"])
def test_a_change_reaches_what_is_below(field: str) -> None:
    """If one thing changes in `train`, only it and the stages below it get new keys."""
    values = {"code": "2", "params": {"lr": 0.2}, "parents": ("clean", "stats")}
    old, train = plan(), plan()[1]
    before = kata.keys(old)
    after = kata.keys(plan(train=replace(train, **{field: values[field]})))
    yours = sorted(name for name in PARENTS if before[name] != after[name])
    right = ["judge", "report", "train"]

    assert right == yours, (
        f"a different {field} of train: your code changes the keys of {yours}, expected {right}"
    )


@two
def test_what_looks_alike_is_not_the_same() -> None:
    """1, True, 1.0 and "1" are different params; so are "ab" and "c", and "a" and "bc"."""
    alike = [
        *(Stage("s", nothing, (), {"n": n}) for n in (1, 2, True, 1.0, "1", None)),
        *(Stage("s", nothing, (), {"ab": "c"}, code) for code in ("d", "dd")),
        Stage("s", nothing, (), {"a": "bc"}, "d"),
        Stage("s", nothing, (), {}, "1"),
        Stage("s1", nothing, (), {}, ""),
    ]
    yours = [kata.keys([stage])[stage.name] for stage in alike]
    same = [
        (a, b) for k, a in enumerate(alike) for j, b in enumerate(alike[:k]) if yours[k] == yours[j]
    ]

    assert not same, f"your code gives both of {same[:1]} the same key"


@two
def test_order_does_not_matter() -> None:
    """The order of stages, parents, dicts and nested dicts does not change a key."""
    params = {"lr": 0.1, "net": {"wide": 3, "deep": [1, 2]}}
    turned = {"net": {"deep": [1, 2], "wide": 3}, "lr": 0.1}
    a, b = Stage("a", nothing), Stage("b", nothing)
    first = kata.keys([a, b, Stage("c", nothing, ("a", "b"), params)])
    cases = {
        "the list of stages": [Stage("c", nothing, ("a", "b"), params), b, a],
        "parents": [a, b, Stage("c", nothing, ("b", "a"), params)],
        "params, and a dict in them": [a, b, Stage("c", nothing, ("a", "b"), turned)],
        "another function object": [replace(s, run=lambda *_: None) for s in (a, b)]
        + [Stage("c", print, ("a", "b"), params)],
    }
    for what, stages in cases.items():
        same = first == kata.keys(stages)
        assert same, f"{what}: your keys differ, expected the same keys"
    other = kata.keys(
        [a, b, Stage("c", nothing, ("a", "b"), {**params, "net": {"wide": 3, "deep": [2, 1]}})]
    )
    assert first["c"] != other["c"], "your keys ignore the order of a list in params"


@three
def test_an_output_is_there_afterwards(tmp_path: Path) -> None:
    """The stage gets a folder, its inputs and its params, and its output is kept."""
    kata.open_store(tmp_path)
    seen: list[Any] = []

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        seen.append((list(folder.iterdir()), dict(inputs), dict(params)))
        (folder / "sub").mkdir()
        (folder / "sub" / "weights").write_text("12", encoding="utf-8")

    output, inputs = tmp_path / "key", {"clean": tmp_path / "other"}
    kata.produce(Stage("train", run, ("clean",), {"lr": 0.3}), inputs, output)
    right = [([], inputs, {"lr": 0.3})]
    assert right == seen, (
        f"an empty folder, inputs, params: your code gives {seen}, expected {right}"
    )
    made = output / "sub" / "weights"
    assert made.is_file(), f"your code left {sorted(tmp_path.rglob('*'))}, expected {made}"
    assert made.read_text("utf-8") == "12", "your code modified what the stage wrote"
    left = [*(tmp_path / "work").iterdir()]
    assert not left, f"your code leaves {left}, expected an empty folder `work`"


@three
def test_nothing_is_visible_before(tmp_path: Path) -> None:
    """While the stage runs, its output does not exist, not even as an empty folder."""
    kata.open_store(tmp_path)
    seen: list[bool] = []

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        (folder / "half").touch()
        seen.append((tmp_path / "key").exists())

    kata.produce(Stage("train", run), {}, tmp_path / "key")
    assert seen == [False], "the output already exists while the stage still writes to it"


@three
def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    """A stage that writes something and then raises has no output."""
    kata.open_store(tmp_path)

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        (folder / "half").touch()
        raise ZeroDivisionError("as planned")

    with pytest.raises(ZeroDivisionError, match="as planned"):
        kata.produce(Stage("train", run), {}, tmp_path / "key")
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["work"], (
        f"after a failure your code leaves {left}, expected only ['work'], empty"
    )


@three
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    """KeyboardInterrupt is not an Exception, but what the stage has written is still deleted."""
    kata.open_store(tmp_path)

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kata.produce(Stage("train", run), {}, tmp_path / "key")
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["work"], (
        f"after a KeyboardInterrupt your code leaves {left}, expected an empty folder `work`: "
        "`except Exception` does not catch it"
    )


@four
@pytest.mark.time_limit(8)
def test_a_pipeline(tmp_path: Path) -> None:
    """Every stage runs once, and reads its parent's output."""
    workers, store = Workers(), tmp_path / "new" / "store"
    names = ["clean", "train", "judge"]
    stages = [workers.of(n, p) for n, p in zip(names, [(), ("clean",), ("train",)], strict=True)]
    states = kata.run(stages[::-1], store)
    right = dict.fromkeys(names, "ran")
    assert right == states, f"yours {states}, expected {right}"
    once = Counter(names)
    assert once == workers.ran, f"times run: yours {workers.ran}, expected {once}"
    text = workers.text(store, stages, "judge")
    whole = "judge(train(clean()))"
    assert whole == text, f"judge read {text}, expected {whole}"
    none = kata.run([], tmp_path / "none")
    assert {} == none, f"a pipeline without stages: yours {none}, expected no states"


@four
@pytest.mark.time_limit(8)
def test_all_that_is_ready_runs_at_once(tmp_path: Path) -> None:
    """Four stages at each of two levels wait for each other, so all four must run at once."""
    gates = {"first": threading.Barrier(4), "last": threading.Barrier(4)}

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        gates[params["gate"]].wait(PATIENCE)

    stages = [Stage(f"a{k}", run, (), {"gate": "first"}) for k in range(4)]
    stages += [Stage(f"b{k}", run, ("a0",), {"gate": "last"}) for k in range(4)]
    states = kata.run(stages, tmp_path)
    right = dict.fromkeys([stage.name for stage in stages], "ran")
    assert right == states, (
        f"yours {states}: four stages are ready and there are four workers; did all four run at "
        "the same time?"
    )


@four
@pytest.mark.time_limit(8)
def test_no_more_than_the_workers(tmp_path: Path) -> None:
    """Six stages are ready and there are two workers: two stages run, and no third."""
    lock, now, peak = threading.Lock(), 0, 0
    pair = threading.Barrier(2)

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        pair.wait(PATIENCE)
        # Time for a third stage to begin, if your code lets it.
        time.sleep(0.05)
        with lock:
            now -= 1

    states = kata.run([Stage(f"s{k}", run) for k in range(6)], tmp_path, 2)
    assert {*states.values()} == {"ran"}, (
        f"yours {states}: no two stages ran at the same time, expected two"
    )
    assert peak == 2, f"stages running at the same time: yours {peak}, expected 2"


@four
@pytest.mark.time_limit(8)
def test_a_stage_does_not_wait_for_strangers(tmp_path: Path) -> None:
    """`slow` ends when `child` has begun, and `child` needs only `fast`: do not run in waves."""
    begun = threading.Event()

    def slow(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        assert begun.wait(PATIENCE), "the stage that this one waits for did not start"

    def child(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        begun.set()

    stages = [Stage("slow", slow), Stage("fast", nothing), Stage("child", child, ("fast",))]
    states = kata.run(stages, tmp_path)
    assert states.get("slow") == "ran", (
        "child's only parent is done, but your code waits for slow too"
    )


@four
@pytest.mark.time_limit(8)
def test_a_stage_waits_for_all_its_parents(tmp_path: Path) -> None:
    """One parent ends at once; the other ends only after a stage below the first parent has run."""
    passed = threading.Event()

    def slow(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        passed.wait(PATIENCE)
        (folder / "made").touch()

    def third(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        passed.set()

    def child(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        assert (inputs["slow"] / "made").exists(), (
            "child started before slow had written its output"
        )

    for parents in (("fast", "slow"), ("slow", "fast")):
        passed.clear()
        stages = [
            Stage("child", child, parents),
            Stage("fast", nothing),
            Stage("slow", slow),
            Stage("third", third, ("fast",)),
        ]
        states = kata.run(stages, tmp_path / parents[0])
        assert states["child"] == "ran", (
            f"parents {parents}: your code starts child before slow is done"
        )


@four
@pytest.mark.time_limit(8)
def test_who_waits_takes_no_place(tmp_path: Path) -> None:
    """A waiting `child` occupies neither worker: `slow` ends only when `other` has begun."""
    begun = threading.Event()

    def slow(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        assert begun.wait(PATIENCE), "the stage that this one waits for did not start"

    def other(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        begun.set()

    stages = [
        Stage("slow", slow),
        Stage("first", nothing),
        Stage("child", nothing, ("slow",)),
        Stage("other", other, ("first",)),
    ]
    states = kata.run(stages, tmp_path, 2)
    right = dict.fromkeys(("slow", "first", "child", "other"), "ran")
    assert right == states, (
        f"yours {states}: other is ready and one of two workers is free: what holds the other "
        "worker's slot?"
    )


@four
@pytest.mark.time_limit(8)
def test_what_comes_after_a_failure_is_skipped(tmp_path: Path) -> None:
    """All stages below a failure are skipped; the rest of the pipeline goes on."""
    workers = Workers("train")
    states = kata.run(workers.plan(), tmp_path)
    right = dict.fromkeys(PARENTS, "ran") | {"train": "failed", "judge": "skipped"}
    right["report"] = "skipped"
    assert right == states, f"train fails: yours {states}, expected {right}"
    assert not {"judge", "report"} & {*workers.ran}, (
        f"your code runs {[*workers.ran]}, expected neither judge nor report"
    )


@four
@pytest.mark.time_limit(8)
def test_skipped_although_its_output_is_there(tmp_path: Path) -> None:
    """The output of `train` was deleted, and now `train` fails: no stage below it is cached."""
    kata.run(Workers().plan(), tmp_path)
    workers = Workers("train")
    stages = workers.plan()
    (tmp_path / kata.keys(stages)["train"]).rename(tmp_path / "gone")
    states = kata.run(stages, tmp_path)
    right = dict.fromkeys(PARENTS, "cached") | {"train": "failed", "judge": "skipped"}
    right["report"] = "skipped"
    assert right == states, (
        f"train fails, and judge and report have outputs from another day: yours {states}, "
        f"expected {right}; check the parents before you look in the store"
    )


@four
@pytest.mark.time_limit(8)
def test_a_failure_stops_no_stranger(tmp_path: Path) -> None:
    """With one worker, `train` fails before another chain has begun; that chain still runs."""
    workers = Workers("train")
    stages = [workers.of("train"), workers.of("stats"), workers.of("plot", ("stats",))]
    states = kata.run(stages, tmp_path, workers=1)
    right = {"train": "failed", "stats": "ran", "plot": "ran"}
    assert right == states, (
        f"train fails, but plot is not below train: yours {states}, expected {right}"
    )


@four
@pytest.mark.time_limit(8)
def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    """The second run does what is left, and the third run does nothing."""
    kata.run(Workers("train").plan(), tmp_path)
    for todo in (["judge", "report", "train"], []):
        workers = Workers()
        states = kata.run(workers.plan(), tmp_path)
        right = {name: "ran" if name in todo else "cached" for name in PARENTS}
        assert right == states, f"yours {states}, expected {right}"
        assert todo == sorted(workers.ran.elements()), (
            f"your code runs {workers.ran}, expected {todo}"
        )


@four
@pytest.mark.time_limit(8)
def test_a_store_may_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys find the outputs in a moved store; another store is empty."""
    workers = Workers()
    kata.run(workers.plan(), tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    for store, state in (("there", "cached"), ("here", "ran")):
        yours = {*kata.run(workers.plan(), Path(store)).values()}
        assert yours == {state}, f"store {store!r}: yours {yours}, expected {state!r} for each"


@four
@pytest.mark.time_limit(8)
def test_what_became_of_the_plan(tmp_path: Path) -> None:
    """In one day, stats fails and is fixed, then somebody changes one line of train."""
    mended, changed = {"stats": "2"}, {"stats": "2", "train": "2"}
    days = (("stats",), {}), ((), mended), ((), changed), ((), mended), (("clean",), {"clean": "2"})
    text = ""
    for fail, codes in days:
        stages = Workers(*fail).plan(**codes)
        text += kata.report(stages, kata.run(stages, tmp_path)) + "\n"
    assert_expected_inline(
        text,
        """\
clean   ran
train   ran      clean
stats   failed   clean
judge   ran      train
report  skipped  judge + stats

clean   cached
train   cached   clean
stats   ran      clean
judge   cached   train
report  ran      judge + stats

clean   cached
train   ran      clean
stats   cached   clean
judge   ran      train
report  ran      judge + stats

clean   cached
train   cached   clean
stats   cached   clean
judge   cached   train
report  cached   judge + stats

clean   failed
train   skipped  clean
stats   skipped  clean
judge   skipped  train
report  skipped  judge + stats

""",
    )


# Writes two files in each stage, runs the pipeline, and is killed before file event `number`: the
# first, the second, ... Then the same pipeline runs again. Prints what is found after each.
PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from katas.lecture18 import k04_dag as kata

top, parents = Path(sys.argv[1]), json.loads(sys.argv[2])
EVENTS = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.symlink",
          "shutil.rmtree", "shutil.move", "shutil.copytree", "shutil.copyfile"}

def stage(name, log):
    def run(folder, inputs, params):
        os.write(log, f"{name}\\n".encode())
        if os.listdir(folder):
            raise ValueError("the folder is not empty")
        for part in "ab":
            before = "".join((path / part).read_text() for _, path in sorted(inputs.items()))
            with open(folder / part, "w") as file:
                file.write(name)
                file.flush()
                sys.audit("open", "half of a file")
                file.write(before)
    return kata.Stage(name, run, tuple(parents[name]))

def whole(name, part):
    return name + "".join(whole(p, part) for p in sorted(parents[name]))

def go(store, number):
    # Runs in a child, which is killed before the event with that number; 0: in none.
    log = os.open(top / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    child = os.fork()
    if not child:
        signal.alarm(8)
        stages = [stage(name, log) for name in reversed(parents)]
        count = 0
        def watch(event, args):
            nonlocal count
            if event in EVENTS:
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(watch)
        states = {}
        try:
            states = kata.run(stages, store, 3)
        finally:
            os.write(log, ("=" + json.dumps(states) + "\\n").encode())
            os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(log)
    names = (top / "log").read_text().splitlines()
    states = json.loads(names.pop()[1:]) if names and names[-1].startswith("=") else None
    keys = kata.keys([stage(name, 0) for name in parents])
    there = {name: store / key for name, key in keys.items() if (store / key).exists()}
    broken = [name for name, output in there.items() if any(
        not (output / part).is_file() or (output / part).read_text() != whole(name, part)
        for part in "ab")]
    return {"status": status, "names": names, "states": states, "there": [*there], "broken": broken}

report = []
for number in range(1, 500):
    first, second = (go(top / str(number), n) for n in (number, 0))
    report.append((first, second))
    if first["states"] is not None:
        break
print(json.dumps(report))
"""


def killed(folder: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return what the program found after each kill, and after the run that followed."""
    __tracebackhide__ = True
    command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(DIAMOND)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    process = subprocess.Popen(  # noqa: S603 - this Python
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        output, error = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    last = error.strip().splitlines()[-1:]
    assert process.returncode == 0, f"the run in another process failed: {last}"
    found: list[tuple[dict[str, Any], dict[str, Any]]] = json.loads(output)
    return found


@five
@pytest.mark.time_limit(40)
def test_killed_anywhere_and_started_again(tmp_path: Path) -> None:
    """After a kill before any file event, each output is whole and no finished stage runs twice."""
    report = killed(tmp_path)

    assert len(report) > 20, (
        f"your code finished after only {len(report)} file events, expected more than 20"
    )
    for number, (first, second) in enumerate(report, 1):
        when = f"killed before file event {number}"
        assert not first["broken"], (
            f"{when}: your store has an incomplete output of {first['broken']}"
        )
        for name in first["there"]:
            missing = {*DIAMOND[name]} - {*first["there"]}
            assert not missing, (
                f"{when}: your store has the output of {name}, but not of {sorted(missing)}"
            )
        again = {*first["there"]} & {*second["names"]}
        assert not again, f"{when}: {sorted(again)} had finished, but your code runs them again"
        left = sorted({*DIAMOND} - {*first["there"]})
        assert left == sorted(second["names"]), (
            f"{when}: the next run runs {sorted(second['names'])}, expected {left}"
        )
        right = {name: "ran" if name in left else "cached" for name in DIAMOND}
        assert right == second["states"], f"{when}: yours {second['states']}, expected {right}"
        assert not second["broken"], (
            f"{when}: after the next run the outputs of {second['broken']} are wrong"
        )
        assert len(second["there"]) == 4, (
            f"{when}: after the next run your store has only the outputs of {second['there']}, "
            "expected all"
        )


@five
@pytest.mark.time_limit(40)
def test_another_process_has_the_same_keys() -> None:
    """Another hash seed gives the same keys; they contain nothing about this process."""
    program = (
        "import json, sys; from katas.lecture18.k04_dag import Stage, keys; "
        "print(json.dumps(keys([Stage(n, print, tuple(p), {'lr': 0.1})"
        " for n, p in json.loads(sys.argv[1]).items()])))"
    )
    yours = kata.keys(plan())
    for seed in ("1", "2"):
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-c", program, json.dumps(PARENTS)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, f"keys in another process: {done.stderr[-300:]}"
        same = json.loads(done.stdout) == yours
        assert same, "your keys differ in another process, so all stages would run again there"


@pytest.mark.backend("torchx")
@pytest.mark.time_limit(40)
def test_a_stage_starts_an_app_of_torchx(tmp_path: Path) -> None:
    """The app writes the stage's output, and its state decides whether the stage has failed."""
    from torchx.runner import get_runner  # noqa: PLC0415 - may be missing
    from torchx.specs import AppDef  # noqa: PLC0415 - may be missing
    from torchx.specs import Role  # noqa: PLC0415 - may be missing

    def run(folder: Path, inputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
        role = Role("r", image=".", entrypoint="cp", args=[params["from"], str(folder / "copy")])
        with get_runner() as runner:
            app = AppDef("app", roles=[role])
            handle = runner.run(app, "local_cwd", {"log_dir": str(tmp_path / "logs")})
            status = runner.wait(handle, wait_interval=0.05)
        assert status.state.name == "SUCCEEDED", f"the app {status.state.name}"

    (tmp_path / "data").write_text("12", encoding="utf-8")
    stages = [
        Stage("good", run, (), {"from": str(tmp_path / "data")}),
        Stage("bad", run, (), {"from": str(tmp_path / "missing")}),
        Stage("last", nothing, ("good", "bad")),
    ]
    yours = kata.run(stages, tmp_path / "store")
    right = {"good": "ran", "bad": "failed", "last": "skipped"}
    assert right == yours, f"yours {yours}, expected {right}"
