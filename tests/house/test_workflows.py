"""The workflows: they run commands that run on any machine, and no stranger can inject any."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING
from typing import Any

import pytest
import yaml

from plugins import ROOT
from plugins.native.toolchain import OLDEST
from plugins.native.toolchain import OLDEST_GXX
from plugins.tools.terminal import install_group
from tests.ciplan import MOST
from tests.ciplan import PART
from tests.ciplan import PROOFS
from tests.ciplan import failed
from tests.ciplan import groups
from tests.ciplan import main
from tests.ciplan import parts_of_proofs
from tests.ciplan import plan


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = sorted((GITHUB / "actions").glob("*/action.yml"))
# Commands to type into a shell, in the root of the repository.
COMMANDS = re.compile(r"(?:python -m|tox|nox|pytest) |\.ci/packages$")
PINNED = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# The fields of an event that a stranger writes.
STRANGERS = re.compile(
    r"github\.(?:head_ref|actor)|\b(?:title|body|message|email|name|label|ref|head_ref)\s*\}\}"
)
# Provided by tox itself, beside the environments of tox.ini.
SECTIONS = re.compile(r"^\[testenv:([\w-]+)\]", re.MULTILINE)
FACTORS = re.compile(r"^ *((?:!?[\w-]+,?)+): ", re.MULTILINE)


def read(file: Path) -> Any:
    """Return the contents of a YAML file."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def jobs(file: Path) -> dict[str, Any]:
    """Return the jobs of a workflow."""
    found: dict[str, Any] = read(file)["jobs"]
    return found


def steps(file: Path) -> Iterator[dict[str, Any]]:
    """Return the steps of a workflow or of an action."""
    text = read(file)
    for job in text["jobs"].values() if "jobs" in text else [text["runs"]]:
        yield from job["steps"]


def toxes() -> set[str]:
    """Return the words that make up the names of tox environments."""
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    factors = {word for found in FACTORS.findall(text) for word in re.split("[,-]", found)}
    return {*SECTIONS.findall(text), *factors}


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.stem)
def test_steps_run_commands_of_everybody(file: Path) -> None:
    """One command each, without expressions that are replaced before a shell reads it."""
    for step in steps(file):
        if command := step.get("run"):
            assert COMMANDS.match(command), command
            assert "\n" not in command.strip()
            assert "${{" not in command
            assert not re.search(r"[;|&`]|\$\(", command)


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.stem)
def test_actions_are_pinned(file: Path) -> None:
    """By the whole commit, with its version beside it; the same action is the same everywhere."""
    used = [step["uses"] for step in steps(file) if "uses" in step]
    lines = re.findall(r"uses: (.*)", file.read_text(encoding="utf-8"))

    assert len(used) == len(lines)
    for line in lines:
        assert PINNED.fullmatch(line) or line == "$/.github/actions/prepare"


def test_an_action_has_one_version() -> None:
    """Wherever it is used."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in [*WORKFLOWS, *ACTIONS])
    used = set(re.findall(r"uses: ([\w./-]+)@(\S+ # \S+)", text))

    assert len({name for name, _ in used}) == len(used)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_permissions_are_the_least(file: Path) -> None:
    """Nothing by default, reading for each job; a time-out; no credentials stay behind."""
    workflow = read(file)

    assert {} == workflow["permissions"]
    assert workflow["concurrency"]["group"]
    for name, job in workflow["jobs"].items():
        writes = {"pull-requests": "write"} if file.stem == "labels" else {}
        assert {"contents": "read", **writes} == job["permissions"], name
        assert 0 < job["timeout-minutes"] <= 350
    for step in steps(file):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    assert "secrets." not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_nothing_of_a_strangers_is_an_expression(file: Path) -> None:
    """Titles, bodies and names of branches are used only to group runs."""
    text = re.sub(r"^ +group: .*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for found in re.findall(r"\$\{\{.*?\}\}", text):
        assert not STRANGERS.search(found), found


def test_in_the_name_of_the_base_nothing_is_checked_out() -> None:
    """Only labels.yml starts on `pull_request_target`, and it runs no command."""
    # YAML 1.1 reads the key `on` as a truth value.
    asked = [file for file in WORKFLOWS if "pull_request_target" in str(read(file)[True])]

    assert ["labels.yml"] == [file.name for file in asked]
    (step,) = steps(asked[0])
    assert step["uses"].startswith("actions/labeler@")
    assert "with" not in step


def test_learners_and_authors_do_not_get_in_each_others_way() -> None:
    """practice.yml runs in forks and in pull requests there, all others upstream."""
    for file in WORKFLOWS:
        first = next(iter(jobs(file).values()))["if"]
        assert ("!" not in first) == (file.stem == "practice"), file.name
        assert "github.event.repository.fork" in first


def test_practice_compares_with_where_the_course_is() -> None:
    """The address stands in pyproject.toml, and its owner reviews."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        address = tomllib.load(file)["project"]["urls"]["Source"]
    upstream = read(GITHUB / "workflows/practice.yml")["env"]["UPSTREAM"]
    owner = address.split("/")[-2]

    assert f"${{{{ vars.UPSTREAM || '{address}' }}}}" == upstream
    owners = re.findall(r"@(\S+)", (GITHUB / "CODEOWNERS").read_text())
    assert {f"{owner}/maintainers"} == set(owners)


def test_practice_and_guard_call_the_commands() -> None:
    """The workflows themselves decide nothing."""
    practice = [step["run"] for step in steps(GITHUB / "workflows/practice.yml") if "run" in step]
    guard = [step["run"] for step in steps(GITHUB / "workflows/guard.yml") if "run" in step]

    assert 'python -m plugins.practice --base upstream/main --fetch "$UPSTREAM"' == practice[-1]
    assert ['python -m plugins.guard --base HEAD --fetch "refs/pull/$NUMBER/head"'] == guard
    # What a pull request brings is data: upstream's own code judges it.
    checkout = next(iter(steps(GITHUB / "workflows/guard.yml")))
    assert "${{ github.event.pull_request.base.sha }}" == checkout["with"]["ref"]


def test_the_plan_is_the_matrix() -> None:
    """Each version of torch both ways, the pinned one with every Python; nothing else."""
    found = plan(["course", "torch29", "torch213", "triton213"])["matrix"]

    pairs = [("torch29", "3.11"), *(("torch213", f"3.{minor}") for minor in (11, 12, 13, 14))]
    wanted = [
        (f"{torch}-{run}", python) for torch, python in pairs for run in ("solved", "unsolved")
    ]
    assert wanted == [(job["env"], job["python"]) for job in found]


def test_the_environments_exist() -> None:
    """Those of the plan and those that a workflow names; the versions are pyproject's."""
    found = plan(groups())
    named = [*found["quick"], *(job["env"] for kind in ("tests", "matrix") for job in found[kind])]
    text = "\n".join(file.read_text(encoding="utf-8") for file in WORKFLOWS)
    named += re.findall(r'tox (?:exec )?-e ([^"\s]+)', text)
    named += re.findall(r"^ +- ([\w,-]+)$", text, re.MULTILINE)
    words = {word for name in named for env in name.split(",") for word in known(env)}

    assert {*found["quick"], "coverage", "domains"} <= {*named}
    assert set() == words - toxes()


def test_proofs_are_made_in_parts() -> None:
    """Of a branch, against its base, with red for what does not fit; of all, in seven nights."""
    ci = jobs(GITHUB / "workflows/ci.yml")["proofs"]
    nightly = jobs(GITHUB / "workflows/nightly.yml")["proofs"]
    shards = plan([])["proofs"]
    run = "tox exec -e domains -- python -m tests.gate.verify "

    assert ["1/4", "2/4", "3/4", "4/4"] == shards == nightly["strategy"]["matrix"]["shard"]
    assert f'{run}--base "$BASE" --shard "$SHARD" --minutes 55' == ci["steps"][-1]["run"]
    assert 0 == ci["steps"][0]["with"]["fetch-depth"]
    asked = jobs(GITHUB / "workflows/ci.yml")["plan"]["steps"]
    assert 'python -m tests.ciplan --base "$BASE"' == asked[-1]["run"]
    assert 0 == asked[0]["with"]["fetch-depth"]
    # A push may bring several commits.
    base = "${{ github.event_name == 'push' && github.event.before || 'origin/main' }}"
    assert base == asked[-1]["env"]["BASE"] == ci["steps"][-1]["env"]["BASE"]
    sample = jobs(GITHUB / "workflows/ci.yml")["sample"]
    assert f"{run}--again --minutes 10" == sample["steps"][-1]["run"]
    assert 0 == sample["steps"][0]["with"]["fetch-depth"]
    # Beside all that is optional, and not made with libraries that lie in the checkout.
    for made, step in ((ci, -1), (sample, -1), (nightly, -2)):
        before, proofs = made["steps"][step - 1], made["steps"][step]
        assert "tox -e domains" == before["run"]
        for each in (before, proofs):
            assert "${{ runner.temp }}/tox" == each["env"]["TOX_WORK_DIR"]
    assert 55 < ci["timeout-minutes"]
    prove = nightly["steps"][-2]
    assert f'{run}all --nights "$NIGHTS" --shard "$SHARD" --write' == prove["run"]
    assert "${{ github.event_name == 'schedule' && 7 || 1 }}" == prove["env"]["NIGHTS"]
    owned = (GITHUB / "CODEOWNERS").read_text(encoding="utf-8")
    for place in ("tests/gate/", "katas/**/proof.json", ".github/", ".ci/"):
        assert f"\n/{place} " in owned


def test_nightly_runs_both_ends() -> None:
    """All environments with the label `ends`, and before a release is announced, too."""
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    nightly = read(GITHUB / "workflows/nightly.yml")
    named = nightly["jobs"]["nightly"]["strategy"]["matrix"]["env"]
    found = {env for names in named for env in names.split(",")}

    assert "ends = harness-{lowest,latest}, torch213-{solved,unsolved}-{lowest,latest}" in text
    ends = {f"harness-{end}" for end in ("lowest", "latest")}
    ends |= {f"torch213-{r}-{e}" for r in ("solved", "unsolved") for e in ("lowest", "latest")}
    assert ends <= found
    # YAML 1.1 reads the key `on` as a truth value.
    assert {"schedule", "release", "workflow_dispatch"} == set(nightly[True])


def test_skips_of_our_own_tests_are_named() -> None:
    """The end of a run says why, and not only how many."""
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if " -m pytest " in line and " tests " in line]

    assert 2 == len(lines)
    assert all(" {[own]options}" in line for line in lines)
    assert "\noptions = -rfEs " in text


def test_lines_are_measured_where_every_tool_is_installed() -> None:
    """In the workflow and in `.ci/run`; the README's command does not ask for what it lacks."""
    ini = (ROOT / "tox.ini").read_text(encoding="utf-8")
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    tests = jobs(GITHUB / "workflows/ci.yml")["tests"]["steps"]

    assert "coverage" not in ini.partition("env_list =")[2].partition("#")[0].split()
    assert "coverage run" == tests[2]["env"]["KATAS_MEASURE"]
    assert {"system": "true"} == tests[1]["with"]
    assert 'export KATAS_MEASURE="coverage run"\nsecond_command\ntox -e coverage\n' in run


def test_nightly_builds_with_each_compiler() -> None:
    """The oldest that the course promises, which `.ci/packages` installs, and the newest."""
    job = jobs(GITHUB / "workflows/nightly.yml")["compilers"]
    packages = (ROOT / ".ci/packages").read_text(encoding="utf-8")
    named = job["strategy"]["matrix"]["compiler"]

    oldest = [f"clang++-{OLDEST}", f"g++-{OLDEST_GXX}"]
    assert sorted([*oldest, "clang++", "g++"]) == sorted(named)
    assert f"for name in clang-{OLDEST} g++-{OLDEST_GXX}; do" in packages
    assert {"KATAS_CXX": "${{ matrix.compiler }}"}.items() <= job["steps"][-1]["env"].items()


@pytest.mark.parametrize(
    ("seconds", "parts"),
    [([], 1), ([60, 60], 1), ([PART, 1], 2), ([PART] * 3, 3), ([100 * PART], MOST)],
)
def test_proofs_are_divided_by_their_times(tmp_path: Path, seconds: list[int], parts: int) -> None:
    """Those of the branch alone, and as all where git does not know its base."""
    folder = tmp_path / "katas/lecture02/.meta"

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=k", "-c", "user.email=k@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    def enter(name: str, text: str) -> None:
        (folder / name).mkdir(parents=True)
        (folder / name / "proof.json").write_text(text)

    git("init", "-qb", "main")
    enter("old", json.dumps({"seconds": 99 * PART}))
    enter("moved", json.dumps({"seconds": 98 * PART}))
    enter("gone", "{}")
    git("add", ".")
    git("commit", "-qm", "old")
    git("checkout", "-qb", "branch")
    for number, each in enumerate(seconds):
        enter(f"k{number}", json.dumps({"seconds": each}))
    enter("broken", "{")
    (folder / "gone/proof.json").unlink()
    git("mv", "katas/lecture02/.meta/moved", "katas/lecture02/.meta/there")
    git("add", ".")
    git("commit", "-qm", "new")

    assert parts == parts_of_proofs("main", tmp_path)
    assert PROOFS == parts_of_proofs("nowhere", tmp_path)
    assert [f"1/{parts}"] == plan([], parts)["proofs"][:1]
    assert parts == len(plan([], parts)["proofs"])


def known(env: str) -> list[str]:
    """Return the words of an environment that must exist: its name or each of its factors."""
    return [env] if env in toxes() else env.split("-")


def test_the_last_job_asks_for_all_others() -> None:
    """Except for the one that may fail."""
    found = jobs(GITHUB / "workflows/ci.yml")

    assert {*found} - {"check", "macos"} == set(found["check"]["needs"])
    assert found["macos"]["continue-on-error"] is True
    assert found["check"]["if"].startswith("${{ always() &&")


def test_the_plan_is_what_the_workflow_reads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each kind is one line, in the file that the runner names and in the log."""
    file = tmp_path / "output"
    monkeypatch.setenv("GITHUB_OUTPUT", str(file))
    assert 0 == main([])
    monkeypatch.delenv("GITHUB_OUTPUT")
    assert 0 == main([])

    kinds = dict(line.split("=", 1) for line in file.read_text().splitlines())
    assert 2 * file.read_text() == capsys.readouterr().out
    assert plan(groups()) == {kind: json.loads(text) for kind, text in kinds.items()}
    assert set(kinds) == set(jobs(GITHUB / "workflows/ci.yml")["plan"]["outputs"])


@pytest.mark.parametrize("result", ["failure", "cancelled", "skipped"])
def test_what_did_not_succeed_is_named(result: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A skipped job was waiting for one that failed."""
    needs = {"quick": {"result": "success"}, "gate": {"result": result}}

    assert [f"gate: {result}"] == failed(needs)
    assert 1 == main(["--check", json.dumps(needs)])
    assert 0 == main(["--check", '{"quick": {"result": "success"}}'])
    assert f"gate: {result}\nAll jobs succeeded.\n" == capsys.readouterr().out


def test_labels_name_paths_that_exist() -> None:
    """Each glob finds something."""
    for label, rules in read(GITHUB / "labeler.yml").items():
        for pattern in rules[0]["changed-files"][0]["any-glob-to-any-file"]:
            assert list(ROOT.glob(pattern.replace("**/csrc", "*/csrc"))), f"{label}: {pattern}"


def test_dependabot_is_grouped_and_delayed() -> None:
    """One pull request for all, two weeks after a release at the earliest."""
    for update in read(GITHUB / "dependabot.yml")["updates"]:
        assert update["cooldown"]["default-days"] >= 14
        (group,) = update["groups"].values()
        assert ["*"] == group["patterns"]


def test_forms_are_forms() -> None:
    """Each asks for something, and questions have a place of their own."""
    forms = sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml"))
    names = [file.stem for file in forms]

    assert ["bug-in-a-kata", "config", "idea-for-a-kata"] == names
    for file in (file for file in forms if file.stem != "config"):
        form = read(file)
        assert {"name", "description", "labels", "body"} <= set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert all(field["attributes"]["label"] for field in fields)
        assert len({field["id"] for field in fields}) == len(fields)
    config = read(GITHUB / "ISSUE_TEMPLATE/config.yml")
    assert config["blank_issues_enabled"] is False
    assert any("discussions" in link["url"] for link in config["contact_links"])


def pins_of(table: dict[str, list[Any]], name: str) -> set[str]:
    """Return the pins of a dependency group and of the groups that it includes."""
    pins: set[str] = set()
    for entry in table[name]:
        pins |= {entry} if isinstance(entry, str) else pins_of(table, entry["include-group"])
    return pins


def test_hooks_have_the_versions_of_lint() -> None:
    """Each is local, so it needs only PyPI."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        table = tomllib.load(file)["dependency-groups"]
    (repo,) = read(ROOT / ".pre-commit-config.yaml")["repos"]

    assert "local" == repo["repo"]
    used = {pin for hook in repo["hooks"] for pin in hook.get("additional_dependencies", [])}
    assert used <= pins_of(table, "lint") | pins_of(table, "contribute")
    assert pins_of(table, "lint") <= used


def test_the_container_starts_with_the_pinned_edition() -> None:
    """It installs what the README installs."""
    folder = ROOT / ".devcontainer"
    settings = json.loads((folder / "devcontainer.json").read_text())

    assert "python -m pip install -r requirements.txt" == settings["postCreateCommand"]
    assert (folder / settings["build"]["dockerfile"]).exists()
    index = read(GITHUB / "workflows/practice.yml")["env"]["PIP_EXTRA_INDEX_URL"]
    assert index == settings["containerEnv"]["PIP_EXTRA_INDEX_URL"]


def test_what_a_fragment_may_be_called() -> None:
    """Its type is one that the changelog has a heading for."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["towncrier"]
    types = {entry["directory"] for entry in settings["type"]}
    told = (ROOT / "changes/README.md").read_text()

    for file in (ROOT / settings["directory"]).glob("*.md"):
        assert file.name == "README.md" or file.suffixes[0].lstrip(".") in types
    assert types == set(re.findall(r"^- `(\w+)`", told, re.MULTILINE))
    assert settings["start_string"] in (ROOT / settings["filename"]).read_text()


def test_the_version_is_the_edition() -> None:
    """A year and a month, or a number more, in pyproject.toml and in the change log."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    version = settings["project"]["version"]

    assert re.fullmatch(r"20\d\d\.(0[1-9]|1[0-2])(\.[1-9]\d*)?", version)
    assert version == settings["tool"]["towncrier"]["version"]
    log = (ROOT / settings["tool"]["towncrier"]["filename"]).read_text(encoding="utf-8")
    assert f"\n## {version}, 20" in log


@pytest.mark.parametrize("tool", ["actionlint", "zizmor"])
def test_the_linters_find_nothing(tool: str) -> None:
    """Where they are installed; `tox -e lint` has them."""
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed: {install_group('lint')}")
    options = ["--offline", "--persona", "pedantic", "."] if tool == "zizmor" else []

    done = subprocess.run([tool, *options], cwd=ROOT, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr


def test_the_plan_needs_nothing_but_python() -> None:
    """It runs before anything is installed."""
    command = [sys.executable, "-S", "-m", "tests.ciplan"]

    assert subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
