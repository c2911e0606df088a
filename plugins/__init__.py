"""The pytest plugins behind the katas, one concern each, listed in the root conftest.py.

pytest's hooks are the verbs (when something happens). The course's own hooks, described in
`plugins.hookspecs`, are the nouns (which devices, backends, lectures and episodes exist).
No plugin imports torch when it is imported.
"""

from __future__ import annotations
