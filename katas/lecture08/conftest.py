"""A package of AOTInductor for the katas: built once per PyTorch version, then kept.

``python -m katas.lecture08.conftest FILE`` builds it, too, in half a minute to two minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch import nn

from plugins.kit import build_folder


# The time allowed for a build on a busy machine.
SECONDS = 500


class Network(nn.Module):
    """A linear layer and a ReLU, with the same weights in each process."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        generator = torch.Generator().manual_seed(8)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, 3) for (n, 4)."""
        return torch.relu(self.linear(x))


def export_network() -> torch.export.ExportedProgram:
    """Export a `Network` for inputs of shape (2, 4): no dim is dynamic."""
    return torch.export.export(Network().eval(), (torch.zeros(2, 4),))


def build(file: Path) -> None:
    """Compile `Network` and write the package, with one entry of our own in its metadata."""
    import torch._inductor  # noqa: PLC0415 - takes a second

    x = torch.zeros(2, 4)
    entry = json.dumps([str(x.dtype), list(x.shape), list(x.stride())])
    torch._inductor.aoti_compile_and_package(  # noqa: SLF001 - the documented name
        export_network(),
        package_path=str(file),
        inductor_configs={"aot_inductor.metadata": {"input 0": entry}},
    )


@pytest.fixture(scope="session")
def aoti_package(request: pytest.FixtureRequest) -> Path:
    """Return the file of the package, and build it if no earlier session did.

    A test that asks for it has the marks ``backend("inductor")`` and ``time_limit``. One that
    calls the learner's code first, and then ``request.getfixturevalue``, fails without a build.
    """
    folder, _ = build_folder(request.config.rootpath)
    rests_on = [Path(__file__).read_text("utf-8"), torch.__version__, sys.version]
    key = hashlib.sha256("\n".join(rests_on).encode()).hexdigest()[:16]
    file = folder / f"aoti-{key}.pt2"
    if not file.exists():
        tell(
            request.config, "building a package with AOTInductor: 30 s to 2 minutes, this once ..."
        )
        with tempfile.TemporaryDirectory(dir=folder, prefix="aoti-") as scratch:
            made = Path(scratch, "network.pt2")
            done = subprocess.run(  # noqa: S603 - this module
                [sys.executable, "-m", "katas.lecture08.conftest", made],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
                cwd=request.config.rootpath,
                env=os.environ | {"TORCHINDUCTOR_CACHE_DIR": scratch},
            )
            assert not done.returncode, f"AOTInductor cannot build:\n{done.stderr[-2000:]}"
            # If two sessions build at once, the later one replaces an equal file.
            made.replace(file)
    return file


def tell(config: pytest.Config, line: str) -> None:
    """Write a line to the terminal, although output is captured."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="conftest", description=__doc__)
    parser.add_argument("file", type=Path)
    build(parser.parse_args().file.absolute())
