"""Tests of k12_stale: nights on which something changed, stopped, or went backwards."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from katas.lecture18.k12_stale import Registry
from katas.lecture18.k12_stale import Stage
from katas.lecture18.k12_stale import cached
from katas.lecture18.k12_stale import key
from katas.lecture18.k12_stale import publish
from katas.lecture18.k12_stale import release


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


STAGE = Stage("train", "print('v1')", {"lr": 0.1, "epochs": 3})
TORCH = {"torch": "2.13", "python": "3.11"}


def files(folder: Path, **texts: str) -> dict[str, Path]:
    """Write a file for each role, and return their paths."""
    folder.mkdir(exist_ok=True)
    for role, text in texts.items():
        (folder / role).write_text(text, encoding="utf-8")
    return {role: folder / role for role in texts}


def test_what_changes_the_key(tmp_path: Path) -> None:
    """Everything that affects the output is in the key: no two of these nights share one."""
    inputs = files(tmp_path / "a", train="1 2", test="3")
    nights = {
        "as it was": key(STAGE, inputs, TORCH),
        "other code": key(replace(STAGE, code="print('v2')"), inputs, TORCH),
        "another name": key(replace(STAGE, name="eval"), inputs, TORCH),
        "lr = 0.2": key(replace(STAGE, options={"lr": 0.2, "epochs": 3}), inputs, TORCH),
        "no lr": key(replace(STAGE, options={"epochs": 3}), inputs, TORCH),
        "another torch": key(STAGE, inputs, TORCH | {"torch": "2.14"}),
        "no python": key(STAGE, inputs, {"torch": "2.13"}),
        "train and test swapped": key(
            STAGE, {"train": inputs["test"], "test": inputs["train"]}, TORCH
        ),
        "no test data": key(STAGE, {"train": inputs["train"]}, TORCH),
    }
    files(tmp_path / "a", train="1 2 3")
    nights["the same path, with other data"] = key(STAGE, inputs, TORCH)
    for data in (b"\xff", b"\xfe"):  # not UTF-8: an input is bytes, and digest hashes bytes
        inputs["train"].write_bytes(data)
        nights[f"train data {data!r}"] = key(STAGE, inputs, TORCH)
    for one, other in combinations(nights, 2):
        assert nights[one] != nights[other], (
            "these two nights have the same key, so the second reuses the first one's output:\n  "
            f"{one}\n  {other}"
        )


def test_what_does_not_change_the_key(tmp_path: Path) -> None:
    """A different folder, file name or order changes no key: nothing is computed again."""
    first = key(STAGE, files(tmp_path / "a", train="1 2", test="3"), TORCH)
    paths = files(tmp_path / "b", x="1 2", y="3")
    assert first == key(STAGE, {"train": paths["x"], "test": paths["y"]}, TORCH), (
        "the key changes when the same data is in other files on another machine"
    )
    same = {"test": paths["y"], "train": paths["x"]}
    assert first == key(STAGE, same, TORCH), "the key changes with the order of the inputs"
    stage = replace(STAGE, options={"epochs": 3, "lr": 0.1})
    assert first == key(stage, same, TORCH), "the key differs for the same options in another order"
    other = {"python": "3.11", "torch": "2.13"}
    assert first == key(STAGE, same, other), (
        "the key differs for the same versions in another order"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Stage("train", "", {"a": 1, "b": 2}), Stage("train", "", {"a": "1b2"})),
        (Stage("ab", "c"), Stage("a", "bc")),
        (Stage("a", "b", {"c": "d"}), Stage("a", "bcd")),
        (Stage("a", "", {"x": 1}), Stage("a", "", {"x": "1"})),
        (Stage("a", "", {"x": 1}), Stage("a", "", {"x": True})),
        (Stage("a", "", {"x": 0.1}), Stage("a", "", {"x": 0.1 + 2**-55})),
        (Stage("a", "", {"torch": "2"}), Stage("a", "")),
    ],
)
def test_different_stages_differ_as_text(one: Stage, other: Stage, tmp_path: Path) -> None:
    """A key must keep its parts apart; 1, True and "1" are three different values."""
    environment = {} if "torch" in one.options else TORCH
    other_environment = TORCH if "torch" not in one.options else {"torch": "2"}
    paths = files(tmp_path, train="1")
    first = key(one, paths, environment)
    assert first != key(other, paths, other_environment), (
        f"your code returns the same key for different stages: {one} in {environment}, {other} in "
        f"{other_environment}"
    )
    changed = replace(one, code=f"{one.code}#")
    assert first != key(changed, paths, environment), "your keys for different code are the same"


def test_the_key_of_another_process(tmp_path: Path) -> None:
    """A key is the same in every process; hash() of a text is not."""
    inputs = files(tmp_path, train="1 2")
    yours = key(STAGE, inputs, TORCH)
    program = (
        "import sys; from pathlib import Path; from katas.lecture18.k12_stale import Stage, key;"
        f"print(key({STAGE!r}, {{'train': Path(sys.argv[1])}}, {TORCH!r}))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(  # noqa: S603 - the program above
            [sys.executable, "-c", program, str(inputs["train"])],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        told = done.stdout.strip() or done.stderr[-300:]
        assert told == yours, f"the key is {yours}, but in another process {told}"
    assert yours != key(replace(STAGE, code=""), inputs, TORCH), (
        "your keys for different code are the same"
    )


def in_two(
    path: Path, look: Callable[[], object], fault: BaseException | None = None
) -> Callable[[Path], None]:
    """Return a stage that writes twice, and looks at the cache in between."""

    def run(target: Path) -> None:
        assert path.parent in target.parents, (
            f"the stage is told to write to {target}, expected a path below {path.parent}:"
            " another folder may be on another disk"
        )
        with target.open("w", encoding="utf-8") as file:
            file.write("first\n")
            file.flush()
            look()
            assert not path.exists(), (
                "the stage has written half of its output, but the file already has its final "
                "name: if the machine stops now, the next night uses it"
            )
            if fault is not None:
                raise fault
            file.write("second\n")

    return run


def test_half_an_output_has_no_name(tmp_path: Path) -> None:
    """While the stage runs, the file is not there; afterwards it is whole, and it is kept."""
    path = tmp_path / "features"
    yours = cached(tmp_path, "features", in_two(path, lambda: None))
    assert yours == path, f"yours {yours}, expected {path}"
    assert path.read_text("utf-8") == "first\nsecond\n", (
        f"yours {path.read_text('utf-8')!r}, expected 'first\\nsecond\\n'"
    )
    cached(
        tmp_path,
        "features",
        lambda _: pytest.fail("the output exists, but your code ran the stage again"),
    )
    left = [each.name for each in tmp_path.iterdir()]
    assert left == ["features"], f"the folder contains {left}, expected only the output"


@pytest.mark.parametrize("fault", [ValueError("no disk"), KeyboardInterrupt()])
def test_a_stage_that_fails(fault: BaseException, tmp_path: Path) -> None:
    """Its error propagates, and the next night it runs again."""
    path = tmp_path / "features"
    with pytest.raises(type(fault)):
        cached(tmp_path, "features", in_two(path, lambda: None, fault))
    assert not path.exists(), "the stage failed, but its output exists"
    cached(tmp_path, "features", in_two(path, lambda: None))
    assert path.read_text("utf-8") == "first\nsecond\n", (
        f"yours {path.read_text('utf-8')!r}, expected 'first\\nsecond\\n'"
    )


def test_two_nights_at_once(tmp_path: Path) -> None:
    """Another process writes the same output between the two writes of this process."""
    path = tmp_path / "features"
    runs: list[Path] = []

    def other() -> None:
        def run(target: Path) -> None:
            runs.append(target)
            target.write_text("first\nsecond\n", encoding="utf-8")

        cached(tmp_path, "features", run)
        assert path.read_text("utf-8") == "first\nsecond\n", (
            "the other process's output is incomplete"
        )
        path.unlink()

    def run(target: Path) -> None:
        runs.append(target)
        in_two(path, other)(target)

    cached(tmp_path, "features", run)
    assert path.read_text("utf-8") == "first\nsecond\n", (
        f"yours {path.read_text('utf-8')!r}, expected 'first\\nsecond\\n'"
    )
    assert runs[0] != runs[1], f"both processes write to {runs[0]}, expected different files"


def test_versions_rise() -> None:
    """Versions rise even if the clock stands still, goes back, or is before 1970."""
    registry, clock = Registry(), iter([100.0, 100.0, 100.9, 40.0, -5.0, 1e9])
    yours = [publish(registry, model, lambda: next(clock, 0.0)) for model in "abcdef"]
    assert yours == [1, 2, 3, 4, 5, 6], (
        f"the clock returned 100, 100, 100.9, 40, -5, 1e9: yours has the versions {yours}, expected"
        " 1 to 6"
    )
    assert [registry.models[version] for version in yours] == [*"abcdef"], (
        f"the versions are {yours}, but the registry contains {registry.models}"
    )
    assert registry.aliases == {}, f"publish has set the aliases {registry.aliases}, expected none"


def scores(registry: Registry, seen: list[dict[str, int]]) -> Callable[[str], float]:
    """Return an evaluation that records what readers see meanwhile; a model is its own score."""

    def evaluate(model: str) -> float:
        seen.append(dict(registry.aliases))
        return float(model)

    return evaluate


def test_release_moves_last() -> None:
    """While models are evaluated, readers see the old champion."""
    registry = Registry({1: "0.5", 2: "0.7"}, {"champion": 1, "other": 2})
    seen: list[dict[str, int]] = []
    yours = release(registry, 2, scores(registry, seen))
    assert yours is True, (
        f"the new model scores 0.7, the champion 0.5: your code returns {yours}, expected True"
    )
    assert registry.aliases == {"champion": 2, "other": 2}, (
        f"yours {registry.aliases}, expected champion 2"
    )
    early = [each for each in seen if each.get("champion") != 1]
    assert not early, f"while models were evaluated, readers saw {early[:1]}, expected champion 1"
    assert seen, "your code has not evaluated anything"


@pytest.mark.parametrize("score", ["0.4", "0.5", "nan"])
def test_a_loser_is_never_seen(score: str) -> None:
    """A loser, an equal model and a score of NaN never move the alias: NaN is not above 0.5."""
    registry = Registry({1: "0.5", 2: score}, {"champion": 1})
    seen: list[dict[str, int]] = []
    yours = release(registry, 2, scores(registry, seen))
    assert yours is False, (
        f"the new model scores {score}, the champion 0.5: your code returns {yours}, expected False"
    )
    assert registry.aliases == {"champion": 1}, f"yours {registry.aliases}, expected champion 1"
    assert all(each == {"champion": 1} for each in seen), (
        f"while models were evaluated, readers saw {seen}, expected champion 1"
    )


def test_the_model_at_the_alias_is_the_one_to_beat() -> None:
    """A better model that the alias does not point to is ignored. No model beats itself."""
    registry = Registry({1: "0.5", 2: "0.9", 3: "0.7"}, {"champion": 1, "other": 2})
    seen: list[dict[str, int]] = []
    yours = release(registry, 3, scores(registry, seen))
    assert yours is True, (
        "the challenger scores 0.7 and the champion 0.5 (version 2 scores 0.9, but the alias does "
        f"not point to it): your code returns {yours}, expected True"
    )
    assert registry.aliases == {"champion": 3, "other": 2}, (
        f"yours {registry.aliases}, expected champion 3"
    )
    early = [each for each in seen if each["champion"] != 1]
    assert not early, f"while models were evaluated, readers saw {early[:1]}, expected champion 1"
    yours = release(registry, 3, float)
    assert yours is False, (
        f"the alias already points to version 3: your code returns {yours}, expected False"
    )
    assert registry.aliases == {"champion": 3, "other": 2}, (
        f"yours {registry.aliases}, expected champion 3"
    )


def test_an_evaluation_that_crashes() -> None:
    """The alias stays where it was, or missing if there was none."""
    for before in ({"champion": 1}, {}):
        registry = Registry({1: "0.5", 2: "no number"}, dict(before))
        with pytest.raises(ValueError, match="no number"):
            release(registry, 2, float)
        assert registry.aliases == before, (
            f"the evaluation of version 2 crashed: aliases {registry.aliases}, expected {before}"
        )


def test_the_first_champion() -> None:
    """Each alias has its own champion; the first model for an alias wins."""
    registry = Registry({1: "-0.5", 2: "-0.7"}, {"champion": 1})
    seen: list[dict[str, int]] = []
    yours = release(registry, 2, scores(registry, seen), "canary")
    assert yours is True, f"the first canary: your code returns {yours}, expected True"
    assert registry.aliases == {"champion": 1, "canary": 2}, (
        f"yours {registry.aliases}, expected canary 2"
    )
    early = [each for each in seen if "canary" in each]
    assert not early, f"while the model was evaluated, readers saw {early[:1]}, expected no canary"
