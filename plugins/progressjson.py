"""``--progress-json FILE`` writes the progress for other programs, and runs nothing."""

from __future__ import annotations

import json
from datetime import UTC
from datetime import datetime
from typing import Any

import pytest

from plugins.course import course_key
from plugins.course import katas_among
from plugins.hintcounts import read_counts
from plugins.memory import recall
from plugins.progressdata import progress
from plugins.showing import configured
from plugins.showing import write_for


STDOUT = "-"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--progress-json",
        metavar="FILE",
        help="Write what is known of the katas to FILE, or to stdout with -, and run nothing.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Write the file and end: no kata is imported, none is run."""
    wanted = config.getoption("progress_json")
    if wanted is None or config.option.help:
        return None
    with configured(config):
        text = document(config)
        if wanted == STDOUT:
            reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
            reporter.write(text)
        else:
            write_for("--progress-json", config.invocation_params.dir / wanted, text)
    return 0


def document(config: pytest.Config) -> str:
    """Return the progress of the katas on the command line, or of all, as JSON in ASCII."""
    root, start = config.rootpath, config.invocation_params.dir
    katas = katas_among(config.stash[course_key], config.args, start)
    known = [(kata, recall(root, kata)) for kata in katas]
    data = progress(known, read_counts(root), datetime.now(UTC))
    return f"{json.dumps(data, indent=2)}\n"
