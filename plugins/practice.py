"""``python -m plugins.practice`` runs the katas of a fork: see `plugins.fork.practice`."""

from __future__ import annotations

import sys
from functools import partial

from plugins import ROOT
from plugins.fork.practice import main
from plugins.tools.terminal import run_command


if __name__ == "__main__":
    run_command(partial(main, sys.argv[1:], ROOT))
