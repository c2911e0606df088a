"""What the learner types: --next, --watch, --hint, --solution.

Begin with `next`, one session over the katas in order; or with `watch`, the process that stays:
`events` waits for saves and keys, `watch_state` decides, `forked_run` forks a run, which tells over
`channel` how it went, and `screen` shows.
"""

from __future__ import annotations
