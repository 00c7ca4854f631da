#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The skald program as several processes of an MPI job: the same text, and what becomes of ranks that go wrong.

usage: ranks_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository; SKALD_KILLS=100 kills so often
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import demo_adapter  # noqa: E402
from mpi_job import ENVIRONMENT, MPIRUN, can_run, launcher, pid_of_rank  # noqa: E402
from skald_program import DEMO, NO_END, PROGRAM, TIMEOUT, skald  # noqa: E402

SMALL = ("-t", "1", "--max-tokens", "24", "--seed", "3")
PATIENCE = 5  # seconds, in which a rank that can answer does so, however busy the machine is


def job(count, *arguments):
    return [*launcher(count), PROGRAM, *map(str, arguments)]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL)


def run_with_models(*models):
    """Runs a job whose ranks have different models. It is one command, as mpirun of Open MPI 5.0.7 cannot run two."""
    script = 'shift "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$0" generate --ranks --prompt x --model "$1"'
    return run([*launcher(len(models)), "sh", "-c", script, PROGRAM, *models])


class Writing:
    """A job of some ranks that writes without an end, once the first words have come."""

    def __init__(self, test, *to_mpirun, count=2, patience=60):
        writes = ["--max-tokens", "1000000", "--max-context", "1000000", "--logit-bias", NO_END]
        self.process = subprocess.Popen(
            [MPIRUN, *to_mpirun, *job(count, "generate", "--ranks", "--rank-timeout", str(patience), "-t", "1",
                                      "--prompt", "In", *writes)[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        test.addCleanup(self.process.communicate)
        test.addCleanup(self.process.kill)
        self.process.stdout.read(40)

    def pid_of_rank(self, rank):
        return pid_of_rank(self.process.pid, PROGRAM, rank)

    def end(self):
        """The job's stderr. Fails if the job does not end by itself."""
        return self.process.communicate(timeout=TIMEOUT)[1].decode()


@unittest.skipUnless(can_run(PROGRAM), "SKIPPED: there is no mpirun, or the program was built without MPI")
class RanksTest(unittest.TestCase):
    def test_text_is_that_of_one_process(self):
        expected = skald("generate", "--prompt", "In the beginning", *SMALL).stdout
        for count in (1, 2, 3):
            found = run(job(count, "generate", "--ranks", "--prompt", "In the beginning", *SMALL))
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(found.stdout, expected)

    def test_adapters_add_to_what_every_rank_has(self):
        with tempfile.TemporaryDirectory() as folder:
            adapter = pathlib.Path(folder) / "adapter"
            demo_adapter.write(adapter, 1)
            arguments = ("--prompt", "In the beginning", "--adapter", adapter, *SMALL)
            expected = skald("generate", *arguments).stdout
            self.assertNotEqual(expected, skald("generate", "--prompt", "In the beginning", *SMALL).stdout)
            for count in (2, 3):
                found = run(job(count, "generate", "--ranks", *arguments))
                self.assertEqual(found.stdout, expected, found.stderr)

    def test_prompts_go_from_ranks_to_one_process(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ("--prompt", "In the beginning God created the heaven and the earth", "--prompt-cache", folder)
            first = run(job(2, "generate", "--ranks", *arguments, *SMALL))
            self.assertEqual(first.returncode, 0, first.stderr)
            second = skald("generate", *arguments, *SMALL)
            self.assertEqual(second.stdout, first.stdout)
            self.assertRegex(second.stderr, r"\d+ known before")

    def test_bench_counts_what_is_sent(self):
        found = run(job(2, "bench", "--ranks", "-p", "16", "-n", "4", "-t", "1", "-r", "1"))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertRegex(found.stdout, r"\| 2 \| tg4 \| \d+\.\d+ \| \d+\.\d \| \d+ % \|")

    @unittest.skipUnless(sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1, "SKIPPED: there is one CPU")
    def test_ranks_of_a_machine_have_cpus_of_their_own(self):
        writing = Writing(self, "--bind-to", "none")
        first, second = (os.sched_getaffinity(writing.pid_of_rank(rank)) for rank in (0, 1))
        if first == second:  # of one core
            self.assertEqual(first, os.sched_getaffinity(0))
        else:
            self.assertFalse(first & second)
            self.assertEqual(first | second, os.sched_getaffinity(0))

    def test_what_cannot_be_started_says_why(self):
        missing = run(job(2, "generate", "--ranks", "--model", "/nonexistent", "--prompt", "x"))
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("/nonexistent: no such folder or file", missing.stderr)

    def test_weights_that_are_damaged_on_one_rank_are_told_of_by_rank_0(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = pathlib.Path(folder) / "model"
            shutil.copytree(DEMO, damaged)
            weights = damaged / "model.safetensors"
            weights.write_bytes(weights.read_bytes()[:-1000])
            found = run_with_models(DEMO, damaged)
            self.assertNotEqual(found.returncode, 0)
            self.assertRegex(found.stderr, r"skald: rank 1: .*model\.safetensors")

    def test_packed_files_are_loaded_in_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            packed, damaged = pathlib.Path(folder) / "demo.packed", pathlib.Path(folder) / "damaged.packed"
            self.assertEqual(skald("pack", DEMO, packed).returncode, 0)
            expected = skald("generate", "--prompt", "In the beginning", *SMALL).stdout
            found = run(job(3, "generate", "--ranks", "--model", packed, "--prompt", "In the beginning", *SMALL))
            self.assertEqual(found.stdout, expected, found.stderr)
            damaged.write_bytes(packed.read_bytes()[:-1000])
            found = run_with_models(packed, damaged)
            self.assertNotEqual(found.returncode, 0)
            self.assertRegex(found.stderr, r"skald: rank 1: .*damaged\.packed: cut short: it has \d+ bytes, expected")

    def test_a_rank_that_does_not_answer_is_named(self):
        for lost in (1, 2):
            writing = Writing(self, count=3, patience=PATIENCE)
            time.sleep(0.2)
            os.kill(writing.pid_of_rank(lost), signal.SIGSTOP)
            errors = writing.end()
            self.assertRegex(errors, rf"ranks? [^:]*\b{lost}\b[^:]* did not answer within {PATIENCE}000 ms")

    def test_a_rank_that_is_killed_ends_the_job(self):
        for number in range(int(os.environ.get("SKALD_KILLS", "2"))):
            writing = Writing(self)
            time.sleep(random.Random(number).random() * 0.3)
            os.kill(writing.pid_of_rank(number % 2), signal.SIGKILL)
            writing.end()
            self.assertNotEqual(writing.process.returncode, 0)

    def test_a_signal_that_mpirun_passes_on_ends_the_text(self):
        writing = Writing(self)
        writing.process.send_signal(signal.SIGUSR1)
        self.assertRegex(writing.end(), r"generated \d+ tokens .*; interrupted\]")

    def test_a_rank_that_hangs_ends_the_job_with_an_error(self):
        writing = Writing(self, patience=PATIENCE)
        pid = writing.pid_of_rank(1)
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertRegex(writing.end(), rf"rank 0 of 2: .*did not answer within {PATIENCE}000 ms")
        finally:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertNotEqual(writing.process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
