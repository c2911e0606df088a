"""A crash or a hang is one failed test: fork, journal, replay, verdict; the same under xdist.

Begin with `plugin`, which decides on a guard: `parent` forks and waits, `recorder` writes the
child's journal, `replay` repeats the reports of a dead child. `workers` does the same for xdist.
"""

from __future__ import annotations
