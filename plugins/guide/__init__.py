"""What a failing kata points to: the line to edit, the source to read, the episode.

Begin with `failure`, which is data until it is shown. `failures` makes it of a report; `traceback`
finds the line, `reading` the sources. What the terminal shows, `summary`, `folding` and `shorten`
decide.
"""

from __future__ import annotations
