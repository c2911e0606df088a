"""What a failing kata points to: the line to edit, the source to read, the episode.

Begin with `failure`, data until it is shown, which `failures` makes; `traceback` finds the line,
`reading` the sources. What the terminal shows, `summary`, `folding` and `shorten` decide.
"""

from __future__ import annotations
