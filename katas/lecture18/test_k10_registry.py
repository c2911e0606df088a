"""Tests of k10_registry: the rules, random sequences of calls, and MLflow's registry on SQLite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture18 import k10_registry as kata
from katas.lecture18.k10_registry import CorruptError
from katas.lecture18.k10_registry import NotFoundError
from katas.lecture18.k10_registry import Registry


def same(yours: object, expected: object, why: str) -> None:
    """Compare results."""
    __tracebackhide__ = True
    assert yours == expected, f"{why}\nyours    {yours!r}\nexpected {expected!r}"


def refused(registry: Registry, name: str, *arguments: Any, why: str = "") -> None:
    """Check that a call raises NotFoundError, and changes nothing."""
    __tracebackhide__ = True
    before = registry.load()
    try:
        yours = getattr(registry, name)(*arguments)
    except NotFoundError:
        pass
    except LookupError as error:
        raise AssertionError(
            f"{name}{arguments} raises {error!r}, expected NotFoundError{why}"
        ) from None
    else:
        raise AssertionError(f"{name}{arguments} returns {yours!r}, expected NotFoundError{why}")
    same(registry.load(), before, f"the index after {name}{arguments}, which was refused")


def test_first_version(tmp_path: Path) -> None:
    """The first version is number 1, an int, and can be read."""
    registry = Registry(tmp_path)
    number = registry.register(b"weights", "0042")
    same((type(number), number), (int, 1), "the number of the first version")
    same(registry.find(1), 1, "find(1)")
    same(registry.read(1), b"weights", "the bytes of version 1")
    version = registry.load().versions[1]
    same(version.run_id, "0042", "who made version 1: an id is a string")
    same(version.digest, sha256(b"weights").hexdigest(), "the digest of version 1")


def test_versions_do_not_change(tmp_path: Path) -> None:
    """Versions do not change, even if the same run or the same bytes are registered again."""
    registry = Registry(tmp_path)
    numbers = [registry.register(data, "run") for data in (b"a", b"b", b"a", b"")]
    same(numbers, [1, 2, 3, 4], "the numbers of four versions")
    same([registry.read(n) for n in numbers], [b"a", b"b", b"a", b""], "their bytes")
    files = sorted(path.name for path in (tmp_path / "blobs").iterdir())
    expected = sorted(sha256(data).hexdigest() for data in (b"a", b"b", b""))
    same(files, expected, "a file for each content, named by its hash")


def test_an_alias_moves(tmp_path: Path) -> None:
    """An alias may move forward or back; other aliases stay."""
    registry = Registry(tmp_path)
    for data in (b"a", b"b", b"c"):
        registry.register(data, "run")
    registry.point("champion", 2)
    registry.point("previous", 1)
    same(registry.find("champion"), 2, "champion points to 2")
    registry.point("champion", 3)
    same(registry.read("champion"), b"c", "the bytes of champion, which has moved to 3")
    registry.point("champion", 1)
    found = [registry.find(name) for name in ("champion", "previous")]
    same(found, [1, 1], "champion has moved back to 1, beside previous")
    registry.register(b"d", "run")
    same(registry.find("champion"), 1, "a new version moves no alias")


def test_an_alias_may_look_like_a_number(tmp_path: Path) -> None:
    """A str is an alias, an int is a number."""
    registry = Registry(tmp_path)
    for data in (b"a", b"b"):
        registry.register(data, "run")
    refused(registry, "find", "2")
    refused(registry, "read", "2")
    registry.point("2", 1)
    same([registry.find("2"), registry.find(2)], [1, 2], "the alias '2', and version 2")
    same([registry.read("2"), registry.read(2)], [b"a", b"b"], "the alias '2', and version 2")


def test_what_does_not_exist(tmp_path: Path) -> None:
    """Each method raises NotFoundError, and nothing has changed."""
    registry = Registry(tmp_path)
    for which in (1, 0, -1, "champion", ""):
        refused(registry, "find", which)
    registry.register(b"a", "run")
    registry.point("champion", 1)
    for which in (2, 0, -1, "other", "1"):
        refused(registry, "find", which)
        refused(registry, "read", which)
    refused(registry, "point", "champion", 2)
    refused(registry, "delete", 2)
    refused(registry, "delete", 0)


def test_numbers_are_given_once(tmp_path: Path) -> None:
    """No number is reused after the newest, an older or every version was deleted."""
    registry = Registry(tmp_path)
    for data in (b"a", b"b", b"c"):
        registry.register(data, "run")
    registry.delete(3)
    same(registry.register(b"d", "run"), 4, "1, 2 and 3 were given, 3 was deleted: the next")
    registry.delete(1)
    same(registry.register(b"e", "run"), 5, "1 was deleted too: the next")
    for number in (2, 4, 5):
        registry.delete(number)
    same(Registry(tmp_path).register(b"f", "run"), 6, "1 to 5 were all deleted: the next")


def test_delete(tmp_path: Path) -> None:
    """Deleting a version deletes its aliases; other versions with the same bytes stay readable."""
    registry = Registry(tmp_path)
    for data in (b"a", b"b", b"a"):
        registry.register(data, "run")
    for alias, number in (("champion", 3), ("shadow", 3), ("previous", 1)):
        registry.point(alias, number)
    registry.delete(3)
    gone = ": version 3 was deleted, and the aliases champion and shadow pointed to it"
    for which in (3, "champion", "shadow"):
        refused(registry, "find", which, why=gone)
        refused(registry, "read", which, why=gone)
    refused(registry, "delete", 3, why=gone)
    refused(registry, "point", "champion", 3, why=gone)
    same(registry.load().aliases, {"previous": 1}, f"the aliases that are left{gone}")
    shared = "the bytes of 1 and 2; version 1 shares its bytes with a deleted one, version 3"
    try:
        yours = [registry.read(1), registry.read(2)]
    except CorruptError as error:
        raise AssertionError(f"{shared}: your code raises {error!r}") from error
    same(yours, [b"a", b"b"], shared)


def corrupt(registry: Registry, which: int | str, why: str) -> None:
    """Check that reading a version raises CorruptError."""
    __tracebackhide__ = True
    try:
        yours = registry.read(which)
    except CorruptError:
        return
    except OSError as error:
        raise AssertionError(f"{why}: your code raises {error!r}, expected CorruptError") from None
    raise AssertionError(f"{why}: your code returns {yours!r}, expected CorruptError")


@pytest.mark.parametrize("damage", ["changed", "longer", "missing", "empty"])
def test_other_bytes(tmp_path: Path, damage: str) -> None:
    """Changed bytes are never returned."""
    registry = Registry(tmp_path)
    for data in (b"weights", b"others", b""):
        registry.register(data, "run")
    registry.point("champion", 1)
    path = registry.file(sha256(b"weights").hexdigest())
    assert path.exists(), (
        "your registry has no file for version 1, expected one at registry.file(digest)"
    )
    if damage == "missing":
        path.unlink()
        # A missing file and an empty file are not the same.
        registry.file(sha256(b"").hexdigest()).unlink()
        corrupt(registry, 3, "version 3 had no bytes, and its file is missing")
    else:
        path.write_bytes({"changed": b"weightz", "longer": b"weights\n", "empty": b""}[damage])
        same(registry.read(3), b"", "version 3 is as it was: no bytes")
    corrupt(registry, 1, f"the file of version 1 is {damage}")
    corrupt(registry, "champion", f"the file of the champion, version 1, is {damage}")
    same(registry.read(2), b"others", "version 2 is as it was")


def test_nothing_can_be_named_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be full at the first write or at the second."""
    registry = Registry(tmp_path)
    registry.register(b"a", "run")
    real = kata.write
    for fails_at in (1, 2):
        calls: list[Path] = []

        def write(path: Path, data: bytes, calls: list[Path] = calls, at: int = fails_at) -> None:
            calls.append(path)
            if len(calls) == at:
                raise OSError(28, "No space left on device")
            real(path, data)

        monkeypatch.setattr(kata, "write", write)
        try:
            registry.register(f"b{fails_at}".encode(), "run")
        except OSError:
            pass
        else:
            raise AssertionError(
                f"write {fails_at} of {len(calls)} did not fail: your code swallowed the error,"
                " or calls `write` fewer than two times, for the bytes and for the index"
            )
        monkeypatch.setattr(kata, "write", real)
        index = registry.load()
        without = [
            n for n, each in index.versions.items() if not registry.file(each.digest).exists()
        ]
        same(without, [], f"write {fails_at} has failed: versions in the index without bytes")
    same(registry.read(registry.register(b"c", "run")), b"c", "the next one, with space left")


def test_two_registries_are_one(tmp_path: Path) -> None:
    """A registry that is already open sees the writes of another process to the same folder."""
    one, two = Registry(tmp_path), Registry(tmp_path)
    same(
        [one.register(b"a", "1"), two.register(b"b", "2"), one.register(b"c", "3")],
        [1, 2, 3],
        "numbers",
    )
    two.point("champion", 2)
    try:
        yours = one.read("champion")
    except NotFoundError as error:
        raise AssertionError(
            "a second registry on the same folder does not see an alias that the first one set,"
            f" and raises {error!r}"
        ) from error
    same(yours, b"b", "what the other registry has pointed to")
    one.delete(2)
    refused(two, "find", "champion", why=": version 2 was deleted by another registry here")


class Rules:
    """The same rules in memory, for sequences of calls, with results as text."""

    def __init__(self) -> None:
        self.given = 0
        self.versions: dict[int, bytes] = {}
        self.aliases: dict[str, int] = {}

    def call(self, name: str, *arguments: Any) -> str:
        """Return the expected result of a method, or the name of its exception."""
        if name == "register":
            self.given += 1
            self.versions[self.given] = arguments[0]
            return f"{self.given}"
        number = arguments[-1]
        number = self.aliases.get(number) if isinstance(number, str) else number
        if number not in self.versions:
            return "NotFoundError"
        if name == "point":
            self.aliases[arguments[0]] = number
        elif name == "delete":
            del self.versions[number]
            self.aliases = {key: value for key, value in self.aliases.items() if value != number}
        return {"find": f"{number}", "read": f"{self.versions.get(number)!r}"}.get(name, "None")


def told(registry: Registry, name: str, *arguments: Any) -> str:
    """Return a call's result, or the name of its exception."""
    try:
        yours = getattr(registry, name)(*arguments)
    except NotFoundError:
        return "NotFoundError"
    return f"{yours!r}"


NUMBERS = st.integers(1, 5)
ALIASES = st.sampled_from(["champion", "1", "2"])
CALLS = st.one_of(
    st.tuples(st.just("register"), st.binary(max_size=1), st.just("run")),
    st.tuples(st.just("point"), ALIASES, NUMBERS),
    st.tuples(st.just("delete"), NUMBERS),
    st.tuples(st.sampled_from(["find", "read"]), NUMBERS | ALIASES),
)


@settings(max_examples=40)
@given(st.lists(CALLS, max_size=12))
def test_any_sequence(calls: list[tuple[Any, ...]]) -> None:
    """Random calls agree with the rules, one by one."""
    rules = Rules()
    with TemporaryDirectory() as folder:
        registry = Registry(Path(folder))
        for number, call in enumerate(calls):
            yours, expected = told(registry, *call), rules.call(*call)
            same(yours, expected, f"call {number}, {call}, of {calls}")


SEQUENCE: list[tuple[Any, ...]] = [
    *[("register", data, "run") for data in (b"a", b"b", b"c")],
    ("point", "champion", 2),
    ("point", "shadow", 3),
    ("find", "champion"),
    ("point", "champion", 3),
    ("find", "champion"),
    ("point", "champion", 2),
    ("delete", 2),
    ("find", "champion"),
    ("find", "shadow"),
    ("point", "champion", 2),
    ("delete", 2),
    ("delete", 3),
    ("find", "shadow"),
    ("register", b"d", "run"),
    ("point", "3", 1),
    ("find", "3"),
]
MLFLOW = """
import json, sys
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

client = MlflowClient(tracking_uri=sys.argv[1], registry_uri=sys.argv[1])
client.create_registered_model("m")
calls = {
    "register": lambda data, run: client.create_model_version("m", source="/nowhere").version,
    "point": lambda alias, number: client.set_registered_model_alias("m", alias, number),
    "find": lambda alias: client.get_model_version_by_alias("m", alias).version,
    "delete": lambda number: client.delete_model_version("m", number),
}
told = []
for name, *arguments in json.loads(sys.argv[2]):
    try:
        told.append(str(calls[name](*arguments)))
    except MlflowException:
        told.append("NotFoundError")
print(json.dumps(told))
"""


@pytest.mark.backend("mlflow")
@pytest.mark.time_limit(120)
def test_mlflow_agrees(tmp_path: Path) -> None:
    """MLflow's registry, in its own process, gives the same numbers and errors."""
    registry = Registry(tmp_path)
    yours = [told(registry, *call) for call in SEQUENCE]
    words = [[call[0], *("" if isinstance(x, bytes) else x for x in call[1:])] for call in SEQUENCE]
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", MLFLOW, f"sqlite:///{tmp_path}/mlflow.db", json.dumps(words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"},
    )
    assert not done.returncode, f"MLflow's process failed:\n{done.stderr[-2000:]}"
    for call, mine, its in zip(SEQUENCE, yours, json.loads(done.stdout), strict=True):
        same(mine, its, f"{call}: yours, and MLflow's")
