"""``python -m plugins.feed``: the whole command."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import feed
from plugins.catalogue import read_episodes
from plugins.feed import BAD_FEED
from plugins.feed import BAD_FILE
from plugins.feed import DIFFERS
from plugins.feed import NO_SOURCE
from plugins.feed import main
from tests.webserver import WebServer
from tests.webserver import answer
from tests.webserver import web_server


if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]
RSS = ROOT / "tests/feeds/rss.xml"
ATOM = ROOT / "tests/feeds/atom.xml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a file that does not exist yet."""
    return tmp_path / "episodes.toml"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A web server that no proxy stands before, and that has the feed and knows its version."""
    monkeypatch.setenv("no_proxy", "*")
    with web_server() as server:
        server.routes["/feed"] = lambda request: (
            answer(request, 304)
            if request.headers["If-None-Match"] == '"one"'
            else answer(request, body=RSS.read_bytes(), ETag='"one"')
        )
        yield server


def sync(source: object, file: Path, *options: str) -> int:
    """Run the command in this process."""
    return main([str(source), "--file", str(file), *options])


def test_rss_and_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All episodes land; the second run changes no byte, not even the time of the last change."""
    assert 0 == sync(RSS, file)
    before = file.read_bytes(), file.stat().st_mtime_ns
    assert 0 == sync(RSS, file)

    assert before == (file.read_bytes(), file.stat().st_mtime_ns)
    assert [1, 2, 3] == [episode.number for episode in read_episodes(file)]
    assert [
        "added 1: First",
        "added 2: C++, second",
        "added 3: What comes third & last",
        "3 added, 0 changed, 0 gone",
        "0 added, 0 changed, 0 gone",
    ] == capsys.readouterr().out.splitlines()


def test_atom(file: Path) -> None:
    """What the feed does not number is numbered by date."""
    assert 0 == sync(ATOM, file)

    assert ["the-earlier-one", "the-later-one"] == [it.slug for it in read_episodes(file)]


def test_a_dry_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows the difference, says by its code whether there is one, and writes nothing."""
    assert 0 == sync(RSS, file)
    text = file.read_text()
    file.write_text(text.replace('title = "First"', 'title = "Frist"'))
    before = file.read_bytes()
    capsys.readouterr()

    assert DIFFERS == sync(RSS, file, "--dry-run")
    assert before == file.read_bytes()
    lines = capsys.readouterr().out.splitlines()
    assert [f"--- {file}, as it is", f"+++ {file}, as it would be"] == lines[:2]
    assert ['-title = "Frist"', '+title = "First"'] == [
        line for line in lines[2:] if line.startswith(("-", "+"))
    ]
    assert ["changed 1: title", "0 added, 1 changed, 0 gone"] == lines[-2:]
    file.write_text(text)
    assert 0 == sync(RSS, file, "--dry-run")


def test_a_dry_run_makes_nothing(tmp_path: Path) -> None:
    """Neither the file nor the folder of what is remembered."""
    assert DIFFERS == sync(RSS, tmp_path / "episodes.toml", "--dry-run")

    assert [] == list(tmp_path.iterdir())


def test_a_removed_episode(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported and stays, and what a person wrote into it too."""
    sync(RSS, file)
    file.write_text(file.read_text().replace("number = 1\n", 'number = 1\ntopics = ["a"]\n'))
    before = file.read_bytes()
    text = RSS.read_text(encoding="utf-8")
    start, end = text.rindex("<item>"), text.rindex("</item>") + len("</item>")
    shorter = tmp_path / "shorter.xml"
    shorter.write_text(text[:start] + text[end:], encoding="utf-8")

    assert 0 == sync(shorter, file)
    assert before == file.read_bytes()
    assert "kept 1: First (gone from the feed)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (RSS.read_text(), "", "it is empty"),
        ("</channel>", "", "it is not well-formed XML: mismatched tag: line 39, column 2"),
        ("<rss ", "<!DOCTYPE r [<!ENTITY a 'b'>]><rss ", "it declares a document type: "),
        ("<title>First", f"<title>{'x' * 1_000_000}", "item 3, line 31: expected no text above 3"),
        ("guid-1", "guid-2", "item 3 ('First'): guid: 'guid-2' is that of item 2 too"),
        ("01 Jan 2023", "01 Jan 9023", "item 3 ('First'): pubDate: expected a date up to today, "),
    ],
)
def test_a_bad_feed_leaves_the_file_as_it_was(
    file: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    """One line on stderr names the source and what is wrong with it."""
    text = RSS.read_text(encoding="utf-8")
    assert 1 == text.count(old)
    source = file.with_name("feed.xml")
    source.write_text(text.replace(old, new), encoding="utf-8")

    assert BAD_FEED == sync(source, file)
    assert not file.exists()
    sync(RSS, file)
    before = file.read_bytes()
    capsys.readouterr()
    assert BAD_FEED == sync(source, file)
    assert before == file.read_bytes()
    out, error = capsys.readouterr()
    assert "" == out
    assert error.startswith(f"plugins.feed: {source}: {message}")
    assert 1 == error.count("\n")


def test_a_feed_that_contradicts_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same number under another guid is left to a person."""
    sync(RSS, file)
    before = file.read_bytes().replace(b"guid-1", b"guid-0")
    file.write_bytes(before)

    assert BAD_FEED == sync(RSS, file)
    assert before == file.read_bytes()
    assert "number 1: expected one episode" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["none.xml", "ftp://radio.example/feed", "http://["])
def test_no_source(file: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
    """It cannot be had, and the line says which one."""
    assert NO_SOURCE == sync(source, file)
    assert capsys.readouterr().err.startswith(f"plugins.feed: {source}: ")
    assert not file.exists()


def test_a_broken_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is left to whoever edited it."""
    file.write_text("[[episode]")

    assert BAD_FILE == sync(RSS, file)
    assert "[[episode]" == file.read_text()
    assert f"plugins.feed: {file}: file: expected valid TOML: " in capsys.readouterr().err


def test_a_file_that_cannot_be_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Something stands in the way."""
    (file.parent / ".katas").write_text("in the way")

    assert BAD_FILE == sync(RSS, file)
    assert not file.exists()
    assert "File exists" in capsys.readouterr().err


def test_an_unchanged_feed_is_not_sent_again(
    file: Path, server: WebServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its version is remembered for as long as the file is what it was made."""
    address = f"{server.address}/feed"
    assert 0 == sync(address, file)
    before = file.read_bytes()
    capsys.readouterr()
    assert 0 == sync(address, file)
    assert "The feed has not changed.\n" == capsys.readouterr().out
    # Restored from an older commit, say.
    file.unlink()
    assert 0 == sync(address, file)

    assert before == file.read_bytes()
    assert [None, '"one"', None] == [it["If-None-Match"] for it in server.requests]


def test_a_dry_run_asks_for_all_and_remembers_nothing(file: Path, server: WebServer) -> None:
    """Else the next run would be told that nothing is new."""
    address = f"{server.address}/feed"
    assert DIFFERS == sync(address, file, "--dry-run")
    assert 0 == sync(address, file)
    assert 0 == sync(address, file, "--dry-run")

    assert [None, None, None] == [it["If-None-Match"] for it in server.requests]


def test_a_failed_run_remembers_nothing(file: Path, server: WebServer) -> None:
    """A damaged feed is read again, even if its version is the same."""
    server.routes["/bad"] = lambda request: answer(request, body=b"<rss>", ETag='"one"')
    assert BAD_FEED == sync(f"{server.address}/bad", file)
    assert BAD_FEED == sync(f"{server.address}/bad", file)

    assert [None, None] == [it["If-None-Match"] for it in server.requests]


def test_a_killed_run_leaves_a_whole_file(file: Path) -> None:
    """Whenever SIGKILL comes, the file is the old one or the new one, and the next run ends it."""
    moments = random.Random(0)  # noqa: S311 - no secret
    sync(RSS, file)
    new = file.read_bytes()
    old = new.replace(b'title = "First"', b'title = "Frist"')
    command = [sys.executable, "-m", "plugins.feed", str(RSS), "--file", str(file)]
    # Whoever measures coverage would be left half-written files by processes that are killed.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    quiet = subprocess.DEVNULL
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=quiet)
    whole = time.monotonic() - start
    for _ in range(8):
        file.write_bytes(old)
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=quiet) as process:
            # Most of a run is the import of Python modules, the end of it is what matters.
            time.sleep(moments.uniform(0.5, 1) * whole)
            os.kill(process.pid, signal.SIGKILL)
        assert file.read_bytes() in {old, new}

    assert 0 == sync(RSS, file)
    assert new == file.read_bytes()


def test_the_command() -> None:
    """Its help lists the exit codes, which are those of the module, and wrong usage is 2."""
    command = [sys.executable, "-m", "plugins.feed"]
    shown = subprocess.run(
        [*command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    codes = [f"{code} " for code in (0, DIFFERS, 2, NO_SOURCE, BAD_FEED, BAD_FILE)]

    assert [1, 3, 4, 5] == [DIFFERS, NO_SOURCE, BAD_FEED, BAD_FILE]
    assert sorted(codes, key=shown.index) == codes
    assert "--dry-run" in shown
    assert str(feed.EPISODES) in shown.replace("\n", "")
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert 2 == wrong.returncode


def test_the_episodes_of_the_course_survive_a_sync(tmp_path: Path) -> None:
    """Those of another podcast come after them, and what is kept by hand stays."""
    file = tmp_path / "episodes.toml"
    shutil.copy(feed.EPISODES, file)
    before = file.read_text(encoding="utf-8")
    assert 0 == sync(ATOM, file)
    after = file.read_text(encoding="utf-8")

    assert after.startswith(before)
    assert len(tomllib.loads(before)["episode"]) + 2 == len(tomllib.loads(after)["episode"])
