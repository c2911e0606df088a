"""What this machine can run: devices, backends, versions of torch, and "not run here".

Begin with `devices` and `backends`, which ask all plugins what they declare. `builtin` declares
what comes with PyTorch; `absent` skips a test and reports how to get what it lacks.
"""

from __future__ import annotations
