"""What the learner types: --next, --watch, --hint, --solution.

Begin with `next`, one session over the katas in order; or with `watch`, the process that stays:
`wait` waits for saves and keys, `desk` decides, `run` forks, `screen` shows.
"""

from __future__ import annotations
