"""What a failing kata points to: the line to edit, the source to read, the episode.

Begin with `failures`, which adds this to a failed test; `traceback` finds the learner's line,
`places` what is left to write, `reading` the sources, `episodes` and `catalogue` the episodes.
"""

from __future__ import annotations
