"""The fixture ``world``: a function called in several processes at once, one verdict.

Begin with `world`; a call goes through `client` and `server`, which forks each `rank`, and
`watched` ends those that hang. `report` says how they ended, `traffic` what they sent.
"""

from __future__ import annotations
