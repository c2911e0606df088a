"""``python -m plugins.update`` brings new katas into a fork: see `plugins.fork.update`."""

from __future__ import annotations

import sys
from functools import partial

from plugins import ROOT
from plugins.fork.update import main
from plugins.tools.terminal import run_command


if __name__ == "__main__":
    run_command(partial(main, sys.argv[1:], ROOT))
