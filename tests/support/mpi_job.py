# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes: how mpirun is called, and which process is which rank."""

import os
import pathlib
import re
import shutil
import subprocess

# That of the MPI which the program was built with, where several are installed.
MPIRUN = os.environ.get("SKALD_MPIRUN") or shutil.which("mpirun")
# Open MPI: allows more ranks than processors, and root in containers. Other implementations ignore it.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def launcher(count):
    """The command before a program that runs it as so many ranks, and passes on its text as it comes. Open MPI 5 passes
    on whole lines unless told otherwise."""
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, timeout=120).stdout
    open_mpi = re.search(r"Open MPI\) (\d+)", version)
    as_it_comes = ["--output", ":raw"] if open_mpi and int(open_mpi[1]) >= 5 else []
    return [MPIRUN, *as_it_comes, "-n", str(count)]


def can_run(program):
    """Whether there is an mpirun, and the skald program was built with MPI."""
    if MPIRUN is None:
        return False
    alone = subprocess.run([program, "generate", "--ranks", "--prompt", "x", "--max-tokens", "1"], capture_output=True,
                           text=True, timeout=120)
    return "without MPI" not in alone.stderr


def rank_of(pid):
    try:
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    for variable in variables:
        match = re.fullmatch(rb"(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", variable)
        if match:
            return int(match[1])
    return None


def descends_from(pid, ancestor):
    while pid not in ("0", "1"):
        if int(pid) == ancestor:
            return True
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        pid = re.search(r"^PPid:\s+(\d+)", status, re.MULTILINE)[1]
    return False


def pid_of_rank(mpirun_pid, program, rank):
    """The process of this rank in the job of an mpirun that runs."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or rank_of(folder.name) != rank:
            continue
        if os.path.realpath(folder / "exe") == os.path.realpath(program) and descends_from(folder.name, mpirun_pid):
            return int(folder.name)
    raise AssertionError(f"rank {rank} does not run")
