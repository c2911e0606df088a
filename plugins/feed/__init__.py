"""``python -m plugins.feed`` updates episodes.toml from a podcast's feed, which is not trusted.

Begin with `__main__`: `download` fetches, `podcast` parses, `sync` merges into the file.
"""

from __future__ import annotations
