"""What tests of katas check with; they get it from `plugins.kit`.

Begin with `aftermath`, which looks at what a call leaves behind; `forbidden` and `tokens` watch
what an exercise uses, in Python and in C++, and `tensors` draws data that bites.
"""

from __future__ import annotations
