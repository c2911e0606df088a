"""``python -m plugins.feed SOURCE`` brings ``episodes.toml`` up to date with a podcast's feed.

SOURCE is an RSS or Atom feed: a file, or an http or https address. The version read from an
address is remembered, and an unchanged feed is not downloaded again.

An item of the feed that lacks a fact, has an absurd one or contradicts the file is passed over, and
a line names it; the others are taken.

Exit codes: 0 done, or nothing to do; 1 ``--dry-run`` found something to do; 2 wrong usage;
3 the source cannot be read; 4 the source is damaged or hostile, or no item of it can be taken;
5 the file cannot be read or written. From 2 on the file is unchanged.
"""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import ROOT
from plugins.feed.download import DownloadError
from plugins.feed.download import is_address
from plugins.feed.download import read_document
from plugins.feed.download import recall_version
from plugins.feed.download import remember_version
from plugins.feed.podcast import FeedError
from plugins.feed.podcast import read_podcast
from plugins.feed.sync import merge_feed
from plugins.tools.files import write_whole
from plugins.tools.terminal import run_command
from plugins.tools.text import cut_printable
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.feed.sync import Sync


EPISODES = ROOT / "episodes.toml"
DIFFERS = 1
NO_SOURCE = 3
BAD_FEED = 4
BAD_FILE = 5
# Lines about items that were passed over.
SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    usage, _, codes = (__doc__ or "").partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("plugins.feed", None, usage, codes, formatter_class=formatter)
    parser.add_argument("source", metavar="SOURCE", help="a file, or an http or https address")
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    parser.add_argument(
        "--file", type=Path, default=EPISODES, help="the file to bring up to date (%(default)s)"
    )
    options = parser.parse_args(arguments)
    if not options.file.parent.is_dir():
        return _fail(BAD_FILE, f"--file {options.file}: there is no folder {options.file.parent}")
    try:
        return _run(options.source, options.file, dry_run=options.dry_run)
    except DownloadError as error:
        return _fail(NO_SOURCE, f"{options.source}: {error}")
    except FeedError as error:
        return _fail(BAD_FEED, f"{options.source}: {error}")
    except BrokenPipeError:
        # stdout was closed early; the file is written.
        raise
    except (TomlError, OSError) as error:
        return _fail(BAD_FILE, str(error))


def _run(source: str, file: Path, *, dry_run: bool) -> int:
    known = {} if dry_run else recall_version(source, file)
    document = read_document(source, known)
    if document.body is None:
        print("The feed has not changed.")  # noqa: T201 - the report
        return 0
    today = dt.datetime.now(dt.UTC).date()
    sync = merge_feed(file, read_podcast(document.body, today))
    differs = sync.after != sync.before
    if dry_run:
        _show_difference(sync, file)
    else:
        if differs:
            write_whole(file, sync.after.encode())
        # An item passed over today, for a date in the future, may be taken another day.
        if is_address(source) and not sync.passed_over:
            remember_version(source, file, document.validators)
    counts = f"{len(sync.added)} added, {len(sync.changed)} changed, {len(sync.gone)} gone"
    left = list(describe_passed_over(sync.passed_over))
    if left:
        counts += f", {len(sync.passed_over)} passed over"
    print(*sync.added, *sync.changed, *sync.gone, *left, counts, sep="\n")  # noqa: T201 - the report
    return DIFFERS if dry_run and differs else 0


def describe_passed_over(lines: Sequence[str]) -> Iterator[str]:
    """Return a line for each item that was passed over: the first ones, of a feed full of them."""
    for line in lines[:SHOWN]:
        yield f"passed over {cut_printable(line)}"
    if (more := len(lines) - SHOWN) > 0:
        yield f"passed over {more} more {'item' if more == 1 else 'items'}"


def _show_difference(sync: Sync, file: Path) -> None:
    before, after = sync.before.splitlines(), sync.after.splitlines()
    names = (f"{file}, as it is", f"{file}, as it would be")
    for line in difflib.unified_diff(before, after, *names, lineterm=""):
        print(line)  # noqa: T201 - the report


def _fail(code: int, message: str) -> int:
    print(f"plugins.feed: {cut_printable(message)}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    run_command(main)
