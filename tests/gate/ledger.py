"""The ledger of proofs: ``katas/lectureNN/.meta/kNN_name/proof.json``, one entry per kata.

``nox -s verify -- lecture02 k01 --write`` writes an entry, and nothing else does. It says what
was run and found, when, with which torch and by which `engine`, and the key of what it rests on
(`content`). A key that does not fit any more is red at once: the kata must be proved again.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any

from plugins.machine.torchversion import explain_mismatch
from plugins.tools.files import write_whole
from plugins.tools.toml import TomlError
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.engine import engine_digest
from tests.gate.mutation import FULL
from tests.gate.mutation import too_few_killed
from tests.gate.mutation import too_many_equivalent
from tests.gate.proof_key import content_of
from tests.gate.proof_key import key_of
from tests.gate.proof_key import pinned_torch
from tests.gate.repeats import LEAST


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.cases import Gate


# The entries of the course, as git matches paths.
ENTRIES = "katas/*/.meta/*/proof.json"
# Enough of a digest to name the part that has changed; the key has all of it.
SHORT = 12
DAY = re.compile(r"\d{4}-\d\d-\d\d")
# Seconds: no proof takes six hours, which is all that a job of continuous integration has.
LONGEST = 6 * 60 * 60
# A proof on another machine, or beside other work, takes that many times as long, or as short.
SLOWER = 20
# Seconds that no recorded time is held against.
SOON = 60


class ProofError(Exception):
    """An entry cannot be read; the message names the file."""


@dataclass(frozen=True)
class Proof:
    """An entry: counts per check, and the key of the content that they were found with."""

    kata: str
    key: str
    # The day, as in 2026-11-23, and the minor version, as in 2.13.
    proved: str
    torch: str
    # The time of all runs, one after the other.
    seconds: int
    tests: dict[str, int]
    wrong: dict[str, int]
    right: dict[str, int]
    mutants: dict[str, int]
    repeats: dict[str, int]
    # The beginning of the digest of all that ran and judged it.
    engine: str
    content: dict[str, str]
    # Runs of people who had seen neither tests nor solution, until stub or tests change.
    blind: list[dict[str, Any]] = field(default_factory=list)


COUNTS = {
    "tests": {"all", "red", "given", "skipped"},
    "wrong": {"listed", "tried", "rejected"},
    "right": {"tried", "accepted"},
    "mutants": {"possible", "unbuilt", "tried", "killed", "equivalent"},
    "repeats": {"run", "passed"},
}


def proof_file(kata: Kata) -> Path:
    """Return the path of a kata's entry."""
    return kata.meta / "proof.json"


def read_proof(file: Path) -> Proof:
    """Read an entry.

    Raises
    ------
    ProofError
        If it is no JSON, lacks a field or has one too many, or one is of another type.
    """
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        proof = Proof(**table)
        for name, counts in COUNTS.items():
            found = getattr(proof, name)
            if set(found) != counts or not all(type(n) is int and n >= 0 for n in found.values()):
                raise ProofError(f"{file.name}: {name} must count {', '.join(sorted(counts))}")
        if wrong := _wrong_types(proof):
            raise ProofError(f"{file.name}: {wrong}")
    except (ValueError, TypeError, AttributeError) as error:
        raise ProofError(f"{file.name}: {error}") from None
    return proof


def _wrong_types(proof: Proof) -> str:
    """Return which of the fields beside the counts has another type than it must have."""
    for name in ("kata", "key", "proved", "torch", "engine"):
        if type(getattr(proof, name)) is not str:
            return f"{name} must be text"
    if type(proof.seconds) is not int or not 0 <= proof.seconds <= LONGEST:
        return f"seconds must be a number from 0 to {LONGEST}"
    if type(proof.content) is not dict or {type(text) for text in proof.content.values()} - {str}:
        return "content must be digests by name"
    if type(proof.blind) is not list or not all(map(_is_blind_run, proof.blind)):
        return "blind must be a list of runs: date, tests, passed, text"
    return ""


def _is_blind_run(run: object) -> bool:
    return (
        type(run) is dict
        and set(run) == {"date", "tests", "passed", "text"}
        and _is_day(run["date"])
        and all(type(run[name]) is int for name in ("tests", "passed"))
        and type(run["text"]) is str
        and 0 <= run["passed"] <= run["tests"]
    )


def _is_day(text: object) -> bool:
    """Whether the text is a day that has begun somewhere on Earth."""
    if type(text) is not str or not DAY.fullmatch(text):
        return False
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return False
    return day <= dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1)


def write_proof(kata: Kata, proof: Proof) -> None:
    """Write an entry."""
    file = proof_file(kata)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(proof), indent=2, ensure_ascii=False)
    write_whole(file, f"{text}\n".encode(), file.parent)


def is_aged(proof: Proof) -> bool:
    """Whether an older engine has made the entry, which stands all the same."""
    return proof.engine != engine_digest()[:SHORT]


def command(kata: Kata) -> str:
    """Return the command that proves a kata."""
    return f"nox -s verify -- {kata.lecture} {kata.name} --write"


def proof_problems(gate: Gate, kata: Kata) -> list[str]:
    """Return what is wrong with a kata's entry, each with the command that mends it."""
    file = proof_file(kata)
    name = gate.name_of(file)
    if not file.exists():
        return [f"{kata.id} has no proof ({name}): {command(kata)}"]
    try:
        proof = read_proof(file)
    except ProofError as error:
        return [f"{name} cannot be read ({error}): {command(kata)}"]
    content = content_of(gate, kata, proof.content)
    if proof.kata != kata.id:
        return [f"{name} is the proof of {proof.kata}: {command(kata)}"]
    if proof.key != key_of(content):
        changed = ", ".join(changes(proof.content, content)) or "the key itself"
        return [f"{name} is stale, since these have changed: {changed}. {command(kata)}"]
    if changed_content := changes(proof.content, content):
        parts = ", ".join(changed_content)
        return [f"{name}: its content does not fit its key: {parts}. {command(kata)}"]
    return [f"{name}: {line}: {command(kata)}" for line in unsound(gate, kata, proof)]


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the parts that differ, those that are gone or new included."""
    now = shortened(after)
    return sorted(name for name in before.keys() | now if before.get(name) != now.get(name))


def shortened(content: dict[str, str]) -> dict[str, str]:
    """Return the content as an entry holds it."""
    return {name: digest[:SHORT] for name, digest in content.items()}


def unsound(gate: Gate, kata: Kata, proof: Proof) -> list[str]:
    """Return where the counts of an entry are not those of a proof."""
    tests, wrong, right = proof.tests, proof.wrong, proof.right
    mutants, repeats = proof.mutants, proof.repeats
    pinned = pinned_torch(gate.root)
    try:
        answers = read_answers(answers_file(kata)).wrong
        listed = len(answers)
        right_here = [
            a for a in answers if pinned and a.torch and explain_mismatch(a.torch, pinned)
        ]
        due = listed - len(right_here)
    except TomlError:
        # The rules report the file.
        listed, due = wrong["listed"], wrong["tried"]
    buildable = mutants["possible"] - mutants["equivalent"] - mutants["unbuilt"]
    checks = {
        f"it was made with torch {proof.torch}, expected {pinned}": proof.torch != pinned,
        f"it was proved on {proof.proved}, which is no day until today": not _is_day(proof.proved),
        "a test is neither red nor given nor skipped": tests["all"]
        != tests["red"] + tests["given"] + tests["skipped"],
        "no test was red": not tests["red"],
        f"it lists {wrong['listed']} wrong answers, the kata has {listed}": wrong["listed"]
        != listed,
        "a wrong answer was not rejected": wrong["rejected"] != wrong["tried"],
        "not one wrong answer was tried": not wrong["tried"],
        f"it tried {wrong['tried']} wrong answers, expected {due}": wrong["tried"] != due,
        f"it tried {right['tried']} right answers, the kata has {len(gate.right(kata))}": (
            right["tried"] != len(gate.right(kata))
        ),
        "a right answer was not accepted": right["accepted"] != right["tried"],
        "too few mutants were killed": too_few_killed(mutants["killed"], mutants["tried"])
        or mutants["killed"] > mutants["tried"],
        "not all mutants were tried": mutants["tried"] < min(FULL[True], buildable)
        if kata.csrc
        else mutants["tried"] + mutants["equivalent"] != mutants["possible"],
        "more mutants were tried than there are": mutants["tried"] > buildable,
        "not one mutant was tried": not mutants["tried"],
        "too many mutants are listed as equivalent": too_many_equivalent(
            mutants["equivalent"], mutants["possible"]
        ),
        f"it was repeated {repeats['run']} times, expected {LEAST}": repeats["run"] < LEAST,
        "a repeat did not pass": repeats["passed"] != repeats["run"],
    }
    return [line for line, found in checks.items() if found]


def differences(entry: Proof, found: Proof, *, gpu: bool = False) -> list[str]:
    """Return where a proof made anew differs from the entry; a GPU, or none, skips other tests."""
    lines = []
    alike = entry.tests["skipped"] == found.tests["skipped"]
    machine = {"tests": {"red", "skipped"}, "mutants": {"tried", "unbuilt"}}
    for name, counts in COUNTS.items():
        # How many repeats fit into their time depends on the machine, and on whether C++ was built
        # before: the same kata had 8 and 20. `unsound` asks for the least.
        if name == "repeats":
            continue
        left_out = {"killed"} | (set() if alike else machine.get(name, set()))
        for count in sorted(counts - left_out):
            old, new = getattr(entry, name)[count], getattr(found, name)[count]
            if old != new:
                lines.append(f"the entry says {name}: {count} {old}, but it is {new}")
    if not gpu and entry.tests["skipped"] > found.tests["skipped"]:
        old, new = entry.tests["skipped"], found.tests["skipped"]
        lines.append(f"the entry says tests: skipped {old}, but without a GPU it is {new}")
    before, now = (max(SOON, proof.seconds) for proof in (entry, found))
    if not now / SLOWER <= before <= now * SLOWER:
        lines.append(f"the entry says {entry.seconds} seconds, but it took {found.seconds}")
    killed, tried = entry.mutants["killed"], entry.mutants["tried"]
    if found.mutants["tried"] == tried and found.mutants["killed"] < killed:
        lines.append(f"the entry says {killed} mutants killed, but it is {found.mutants['killed']}")
    return lines
