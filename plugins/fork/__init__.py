"""Commands about git that need no pytest: reset, update, practice, guard of pull requests.

Begin with `reset`, `update`, `practice` or `pullrequest`, one command each; `plan` and `steps` are
the two halves of an update, `judge` is the guard's decision.
"""

from __future__ import annotations
