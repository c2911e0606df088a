"""A Slurm of one node on the loopback interface, for as long as a ``with`` block lasts.

It needs no privileges and no configuration of the machine: every file lies in one folder, and the
daemons (``munged``, ``slurmctld`` and ``slurmd``) run as the user that started them. They serve
no other user: they listen on 127.0.0.1 alone, and munge has a key of its own.

The configuration is described in slurm.conf(5).
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from contextlib import contextmanager
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from pathlib import Path


PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
# Debian and Ubuntu; the daemons are in /usr/sbin, which is not on everybody's PATH.
PACKAGES = "munge slurmctld slurmd slurm-client"
FOLDERS = ("/usr/sbin", "/usr/local/sbin")
SECONDS = 60.0
PARTITION = "katas"
CONFIGURATION = """\
ClusterName=katas
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
SlurmdPort={node}
# Without these the daemons listen on every interface.
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
# What needs control groups, a database or a mailer is left out.
# By process group instead, a job waited for a minute, and was then queued anew, where the first
# process of the machine does not reap, as in many containers.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# A job may ask for more processors than this machine has: ranks wait for each other anyway.
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=1024 State=UNKNOWN
PartitionName={partition} Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class SlurmError(RuntimeError):
    """The cluster could not be started; the message names the cause or quotes the logs."""


def missing() -> str | None:
    """Return which programs are missing and how to install them, or None."""
    absent = [name for name in PROGRAMS if program(name) is None]
    if not absent:
        return None
    return f"{', '.join(absent)}: not found; on Debian or Ubuntu: apt-get install {PACKAGES}"


def program(name: str) -> str | None:
    """Return the path of a program of Slurm or munge."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS])
    return shutil.which(name, path=path)


@contextmanager
def slurm(folder: Path, processors: int = 8) -> Iterator[dict[str, str]]:
    """Run a cluster whose files lie in the empty `folder`.

    Its value is the environment for Slurm's commands.

    Raises
    ------
    SlurmError
        If a program is missing or is not ready within a minute.
    """
    if absent := missing():
        raise SlurmError(absent)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key, configuration = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    controller, node = free_ports(2)
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            user=getpass.getuser(),
            folder=folder,
            controller=controller,
            node=node,
            processors=processors,
            partition=PARTITION,
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    munge = ["--force", "--foreground", f"--socket={folder}/munge.sock", f"--key-file={key}"]
    munge += [f"--{file}-file={folder}/munge.{file}" for file in ("pid", "log", "seed")]
    with ExitStack() as daemons:
        for name, arguments in (
            ("munged", munge),
            ("slurmctld", ["-D", "-c", "-f", str(configuration)]),
            ("slurmd", ["-D", "-c", "-f", str(configuration)]),
        ):
            daemons.enter_context(daemon(name, arguments, folder, environment))
            if name == "munged":
                wait_for(folder, "munge to answer", (folder / "munge.sock").exists)
        wait_for(folder, "the node to be idle", lambda: idle(environment))
        yield environment


@contextmanager
def daemon(
    name: str, arguments: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator[None]:
    """Run one of the daemons in the foreground, in a process group that ends with the block."""
    with (folder / f"{name}.out").open("wb") as out:
        process = subprocess.Popen(
            [str(program(name)), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def wait_for(folder: Path, what: str, holds: Callable[[], bool]) -> None:
    """Wait until `holds` is true; after a minute, raise with the end of each log."""
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise SlurmError(f"waited {SECONDS:.0f} s for {what}\n{last_words(folder)}")
        time.sleep(0.1)


def last_words(folder: Path) -> str:
    """Return the last lines of each log."""
    logs = sorted([*folder.glob("*.out"), *folder.glob("*.log")])
    return "\n".join(
        f"{log.name}: {line}"
        for log in logs
        for line in log.read_text(errors="replace").splitlines()[-5:]
    )


def idle(environment: dict[str, str]) -> bool:
    """Whether a job that is submitted now would start."""
    done = subprocess.run(
        [str(program("sinfo")), "--noheader", "--format=%T"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() == "idle"


def free_ports(count: int) -> list[int]:
    """Return unused ports of the loopback interface."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
