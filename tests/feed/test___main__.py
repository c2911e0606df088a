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
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.feed import __main__ as feed
from plugins.feed.__main__ import BAD_FEED
from plugins.feed.__main__ import BAD_FILE
from plugins.feed.__main__ import DIFFERS
from plugins.feed.__main__ import NO_SOURCE
from plugins.feed.__main__ import main
from plugins.guide.catalogue import read_episodes
from tests.support.webserver import WebServer
from tests.support.webserver import answer
from tests.support.webserver import web_server


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


RSS = ROOT / "tests/feed/rss.xml"
ATOM = ROOT / "tests/feed/atom.xml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a file that does not exist yet."""
    return tmp_path / "episodes.toml"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """Yield a web server, past any proxy, that serves the feed and knows its version."""
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
    """All episodes are added; a second run does not write the file."""
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
    """Episodes without numbers are numbered by date."""
    assert 0 == sync(ATOM, file)

    assert ["the-earlier-one", "the-later-one"] == [it.slug for it in read_episodes(file)]


def test_a_dry_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows the difference, exits with 1 if there is one, and writes nothing."""
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
    """Neither the file nor the folder ``.katas``."""
    assert DIFFERS == sync(RSS, tmp_path / "episodes.toml", "--dry-run")

    assert [] == list(tmp_path.iterdir())


def test_a_removed_episode(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported and stays, with its hand-written keys."""
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
        ("Radio Kata", "x" * 1_000_000, "outside of its items, line 4: expected no text above 30"),
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


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("<title>First", f"<title>{'x' * 1_000_000}", "item 3, line 31: expected no text above 3"),
        ("guid-1", "guid-2", "item 3 ('First'): guid: 'guid-2' is that of item 2 too"),
        ("01 Jan 2023", "01 Jan 9023", "item 3 ('First'): pubDate: expected a date from 2000-01"),
        (
            ">600<",
            ">0<",
            "item 3 ('First'): itunes:duration: expected HH:MM:SS, MM:SS or seconds, ",
        ),
    ],
)
def test_a_bad_item_is_passed_over(
    file: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, line: str
) -> None:
    """The others are added; the report names it, and counts it."""
    text = RSS.read_text(encoding="utf-8")
    assert 1 == text.count(old)
    source = file.with_name("feed.xml")
    source.write_text(text.replace(old, new), encoding="utf-8")

    assert 0 == sync(source, file)
    assert [2, 3] == [episode.number for episode in read_episodes(file)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith(f"passed over {line}")
    assert ["2 added, 0 changed, 0 gone, 1 passed over"] == lines[3:]


def test_of_many_bad_items_the_first_ones_are_named(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the others are counted."""
    text = RSS.read_text(encoding="utf-8")
    for count, last in ((20, "passed over item 23 "), (21, "passed over 1 more item"), (22, "pas")):
        source = file.with_name("feed.xml")
        bad = "<item><title>Bad</title></item>" * count
        source.write_text(text.replace("</channel>", f"{bad}</channel>"), encoding="utf-8")
        sync(source, file)

        *_, shown, counts = capsys.readouterr().out.splitlines()
        assert shown.startswith(last)
        assert counts.endswith(f", {count} passed over")
    assert "passed over 2 more items" == shown


def test_a_feed_with_a_bad_item_is_downloaded_again(file: Path, server: WebServer) -> None:
    """An item that is dated the day after tomorrow is no longer bad then."""
    body = RSS.read_bytes().replace(b">600<", b">0<")
    server.routes["/bad"] = lambda request: answer(request, body=body, ETag='"one"')
    assert 0 == sync(f"{server.address}/bad", file)
    assert 0 == sync(f"{server.address}/bad", file)

    assert [None, None] == [it["If-None-Match"] for it in server.requests]


def test_a_feed_that_contradicts_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An item with the number of another episode is passed over; the file stays."""
    sync(RSS, file)
    before = file.read_bytes().replace(b"guid-1", b"guid-0")
    file.write_bytes(before)

    assert 0 == sync(RSS, file)
    assert before == file.read_bytes()
    assert "passed over number 1: expected one episode" in capsys.readouterr().out


def test_a_file_in_a_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the folder, not a file of ours in it, and nothing is made or downloaded."""
    file = tmp_path / "none/episodes.toml"
    for options in ((), ("--dry-run",)):
        assert BAD_FILE == sync("http://127.0.0.1:9/feed", file, *options)

        error = capsys.readouterr().err
        assert f"plugins.feed: --file {file}: there is no folder {file.parent}\n" == error
    assert [] == [*tmp_path.iterdir()]


def test_a_report_that_nobody_reads(file: Path) -> None:
    """``| head`` is no error of the file: it is written."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-u", "-m", "plugins.feed", str(RSS), "--file", str(file)]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert (1, b"") == (done.returncode, done.stderr)
    assert 3 == len(read_episodes(file))


@pytest.mark.parametrize("source", ["none.xml", "ftp://radio.example/feed", "http://["])
def test_no_source(file: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
    """The error names the source."""
    assert NO_SOURCE == sync(source, file)
    assert capsys.readouterr().err.startswith(f"plugins.feed: {source}: ")
    assert not file.exists()


def test_a_broken_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays broken, and the error names it."""
    file.write_text("[[episode]")

    assert BAD_FILE == sync(RSS, file)
    assert "[[episode]" == file.read_text()
    assert f"plugins.feed: {file}: file: expected valid TOML: " in capsys.readouterr().err


def test_a_file_that_cannot_be_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file stands where the folder ``.katas`` belongs."""
    (file.parent / ".katas").write_text("in the way")

    assert BAD_FILE == sync(RSS, file)
    assert not file.exists()
    assert "File exists" in capsys.readouterr().err


def test_an_unchanged_feed_is_not_sent_again(
    file: Path, server: WebServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its version is remembered until the file changes."""
    address = f"{server.address}/feed"
    assert 0 == sync(address, file)
    before = file.read_bytes()
    capsys.readouterr()
    assert 0 == sync(address, file)
    assert "The feed has not changed.\n" == capsys.readouterr().out
    # As if an older commit were checked out.
    file.unlink()
    assert 0 == sync(address, file)

    assert before == file.read_bytes()
    assert [None, '"one"', None] == [it["If-None-Match"] for it in server.requests]


def test_a_dry_run_asks_for_all_and_remembers_nothing(file: Path, server: WebServer) -> None:
    """Otherwise the next run would find nothing new."""
    address = f"{server.address}/feed"
    assert DIFFERS == sync(address, file, "--dry-run")
    assert 0 == sync(address, file)
    assert 0 == sync(address, file, "--dry-run")

    assert [None, None, None] == [it["If-None-Match"] for it in server.requests]


def test_a_failed_run_remembers_nothing(file: Path, server: WebServer) -> None:
    """A damaged feed is downloaded again, even if its version is the same."""
    server.routes["/bad"] = lambda request: answer(request, body=b"<rss>", ETag='"one"')
    assert BAD_FEED == sync(f"{server.address}/bad", file)
    assert BAD_FEED == sync(f"{server.address}/bad", file)

    assert [None, None] == [it["If-None-Match"] for it in server.requests]


def test_a_killed_run_leaves_a_whole_file(file: Path) -> None:
    """Whenever SIGKILL comes, the file is the old or the new one, and the next run finishes."""
    moments = random.Random(0)  # noqa: S311 - no secret
    sync(RSS, file)
    new = file.read_bytes()
    old = new.replace(b'title = "First"', b'title = "Frist"')
    command = [sys.executable, "-m", "plugins.feed", str(RSS), "--file", str(file)]
    # Under coverage, killed processes would leave half-written data files.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    quiet = subprocess.DEVNULL
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=quiet)
    whole = time.monotonic() - start
    for _ in range(8):
        file.write_bytes(old)
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=quiet) as process:
            # Most of a run imports modules; the file is written at its end.
            time.sleep(moments.uniform(0.5, 1) * whole)
            os.kill(process.pid, signal.SIGKILL)
        assert file.read_bytes() in {old, new}

    assert 0 == sync(RSS, file)
    assert new == file.read_bytes()


def test_the_command() -> None:
    """Its help has the command and the module's exit codes; wrong usage is 2."""
    command = [sys.executable, "-m", "plugins.feed"]
    shown = subprocess.run(
        [*command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    codes = [f"{code} " for code in (0, DIFFERS, 2, NO_SOURCE, BAD_FEED, BAD_FILE)]

    assert [1, 3, 4, 5] == [DIFFERS, NO_SOURCE, BAD_FEED, BAD_FILE]
    assert sorted(codes, key=shown.index) == codes
    assert "``python -m plugins.feed SOURCE``" in shown
    assert "--dry-run" in shown
    assert str(feed.EPISODES) in shown.replace("\n", "")
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert 2 == wrong.returncode


def test_the_episodes_of_the_course_survive_a_sync(tmp_path: Path) -> None:
    """Another podcast's come after them, and not a byte of theirs changes."""
    file = tmp_path / "episodes.toml"
    shutil.copy(feed.EPISODES, file)
    before = file.read_text(encoding="utf-8")
    assert 0 == sync(ATOM, file)
    after = file.read_text(encoding="utf-8")

    assert after.startswith(before)
    assert len(tomllib.loads(before)["episode"]) + 2 == len(tomllib.loads(after)["episode"])
