"""Where the learner stands: stored by content, shown as map, page, Markdown and JSON.

Begin with `standing`, what is known about a kata, and `store`, where it is kept; `plugin` updates
it from a session's reports. The other modules show it.
"""

from __future__ import annotations
