"""What the learner types: --next, --watch, --hint, --solution.

Begin with `next`, one session over the katas in order; or with `watch`, the process that stays:
`events` waits, `watch_state` decides, `forked_run` forks, `channel` tells back, `screen` shows.
"""

from __future__ import annotations
