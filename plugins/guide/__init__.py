"""What a failing kata points to: the line to edit, the source to read, the episode.

Begin with `failures`, which adds this to a failed test; `traceback` finds the line, `reading` the
sources. What of a failure the terminal shows, `summary`, `folding` and `shorten` decide.
"""

from __future__ import annotations
