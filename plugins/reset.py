"""``python -m plugins.reset`` restores the stub of a kata: see `plugins.fork.reset`."""

from __future__ import annotations

import sys
from functools import partial

from plugins import ROOT
from plugins.fork.reset import main
from plugins.tools.terminal import run_command


if __name__ == "__main__":
    run_command(partial(main, sys.argv[1:], ROOT))
