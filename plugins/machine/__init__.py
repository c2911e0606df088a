"""What this machine can run: devices, backends, versions of torch, and "not run here".

Begin with `devices` and `backends`, which ask all plugins what they declare, as `builtin` does for
PyTorch's. `absent` skips a test; `poison` fails the one that breaks a device for its process.
"""

from __future__ import annotations
