"""Plans the jobs of `.github/workflows/ci.yml`: tox environments by torch, by Python, in parts.

    python -m tests.ciplan                   the plan as JSON, for the workflow or for you
    python -m tests.ciplan --base REF        the same, with parts for the proofs that differ
    python -m tests.ciplan --check "$NEEDS"  whether all required jobs succeeded

The versions of torch are the groups of pyproject.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence


ROOT = Path(__file__).parents[1]
# The pinned course edition, and the Python it is written for.
PINNED = "torch213"
PYTHON = "3.11"
# Every torch of the matrix has wheels for these.
OTHERS = ("3.12", "3.13", "3.14")
QUICK = ("lint", "types")
# The parts of each environment, which take about the same time; see tests/shards.py.
TESTS = {"harness": 2, f"{PINNED}-tests": 3}
# The parts of all proofs; of those that a branch changes one for so many seconds, which two
# processors run in 40 minutes, and never more than the most.
PROOFS = 4
PART = 2 * 40 * 60
MOST = 20


def plan(groups: Iterable[str], count: int = PROOFS) -> dict[str, list[Any]]:
    """Return the jobs of each kind, for the dependency groups and so many parts of the proofs."""
    versions = [group for group in groups if re.fullmatch(r"torch\d+", group)]
    pairs = [(version, PYTHON) for version in versions] + [(PINNED, other) for other in OTHERS]
    matrix = [
        {"env": f"{version}-{run}", "python": python}
        for version, python in pairs
        for run in ("solved", "unsolved")
    ]
    proofs = [f"{number}/{count}" for number in range(1, count + 1)]
    return {"quick": [*QUICK], "tests": parts(TESTS), "proofs": proofs, "matrix": matrix}


def parts(counts: Mapping[str, int]) -> list[dict[str, str]]:
    """Return each part of each environment."""
    return [
        {"env": env, "shard": f"{number}/{count}"}
        for env, count in counts.items()
        for number in range(1, count + 1)
    ]


def parts_of_proofs(base: str, root: Path = ROOT) -> int:
    """Return how many parts the proofs take that differ from the merge base with `base`.

    Where git does not know it, as many as all take; `verify --base` says so then.
    """
    # What is only moved is as it was.
    written = ("--name-only", "-M100%", "--diff-filter=AM", "-z")
    entries = "katas/*/.meta/*/proof.json"
    command = ["git", "diff", *written, f"{base}...HEAD", "--", entries]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        return PROOFS
    seconds = 0
    for name in done.stdout.split("\0")[:-1]:
        # What is deleted or broken is red elsewhere.
        with suppress(OSError, ValueError, LookupError, TypeError):
            seconds += int(json.loads((root / name).read_text(encoding="utf-8"))["seconds"])
    return min(MOST, max(1, -(-seconds // PART)))


def groups() -> list[str]:
    """Return the names of the dependency groups."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["dependency-groups"])


def failed(needs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the jobs that did not succeed; a skipped one had waited for one that failed."""
    return [f"{name}: {job['result']}" for name, job in needs.items() if job["result"] != "success"]


def main(arguments: Sequence[str]) -> int:
    """Print the plan, or the jobs that did not succeed."""
    parser = argparse.ArgumentParser(prog="ciplan", description=__doc__)
    parser.add_argument("--check", metavar="JSON", help="the context `needs` of a workflow")
    parser.add_argument("--base", metavar="REF", help="the branch that proofs are compared with")
    options = parser.parse_args(arguments)
    if options.check:
        wrong = failed(json.loads(options.check))
        sys.stdout.write("\n".join([*(wrong or ["All jobs succeeded."]), ""]))
        return 1 if wrong else 0
    count = parts_of_proofs(options.base) if options.base else PROOFS
    lines = [f"{kind}={json.dumps(jobs)}\n" for kind, jobs in plan(groups(), count).items()]
    if output := os.environ.get("GITHUB_OUTPUT"):
        with Path(output).open("a", encoding="utf-8") as file:
            file.writelines(lines)
    sys.stdout.writelines(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
