# SPDX-License-Identifier: Apache-2.0
"""Ranks give the bits of one process: as threads, by a communicator of our own, and under mpirun."""

import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import skald
from conftest import GOLDEN


class Shared:
    """The parts that threads share as ranks."""

    def __init__(self, size):
        self.size, self.barrier, self.pieces, self.message = size, threading.Barrier(size), [None] * size, None


class ThreadRanks:
    """One rank's end, in a thread."""

    def __init__(self, shared, rank):
        self._shared, self.rank, self.size = shared, rank, shared.size

    def all_gather(self, all, begins):
        shared = self._shared
        shared.pieces[self.rank] = bytes(all[begins[self.rank] : begins[self.rank + 1]])
        shared.barrier.wait()
        for rank, piece in enumerate(shared.pieces):
            all[begins[rank] : begins[rank + 1]] = piece
        shared.barrier.wait()

    def broadcast(self, data):
        if self.rank == 0:
            self._shared.message = data
        self._shared.barrier.wait()
        message = self._shared.message
        self._shared.barrier.wait()
        return message

    def wait(self):
        self._shared.barrier.wait()


@pytest.mark.parametrize("family", ["llama", "mamba2"])
def test_threads_as_ranks(family, workspace):
    path, shared, errors = GOLDEN / family, Shared(2), []
    whole = skald.load_model(path)
    expected = whole.forward(skald.KVCache(whole), list(range(40)), workspace).copy()

    def follow():
        try:
            ranks = skald.Ranks(ThreadRanks(shared, 1))
            ranks.follow(skald.load_model(path, ranks=ranks), skald.Workspace(threads=1))
        except Exception as error:
            errors.append(error)

    follower = threading.Thread(target=follow)
    follower.start()
    ranks = skald.Ranks(ThreadRanks(shared, 0))
    model = skald.RankedModel(skald.load_model(path, ranks=ranks), ranks)
    cache = skald.KVCache(model.create_pool())
    assert np.array_equal(model.forward(cache, list(range(40)), workspace), expected)
    seen, places = {}, {}

    def watch(kept):
        def keep(rows):
            rows.values[:] *= 1.5  # also what only one rank has
            kept.setdefault(rows.place.name, []).append(rows.values.copy())
        return [("block.*", keep)]

    expected = whole.forward(skald.KVCache(whole), list(range(9)), workspace, hooks=watch(seen)).copy()
    ranked = model.forward(skald.KVCache(cache.pool), list(range(9)), workspace, hooks=watch(places))
    assert np.array_equal(ranked, expected) and seen.keys() == places.keys()
    assert all(np.array_equal(a, b) for name in seen for a, b in zip(seen[name], places[name]))
    fork = cache.fork()
    rows = model.forward(skald.Batch().add(cache, [1]).add(fork, [1]), workspace)
    assert np.array_equal(rows[0], rows[1])
    del rows, fork, cache, model
    follower.join(timeout=120)
    assert not follower.is_alive() and not errors


def test_ranks_that_cannot_be(tiny):
    class Wrong:
        rank, size = 2, 2

    with pytest.raises(skald.Error):
        skald.Ranks(Wrong())
    with pytest.raises(AttributeError):
        skald.Ranks(object())


def test_mpirun():
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs mpirun")
    program = f"""
from mpi4py import MPI
import skald
from skald.mpi import MpiRanks

ranks, workspace = skald.Ranks(MpiRanks(MPI.COMM_WORLD)), skald.Workspace(threads=1)
part = skald.load_model({str(GOLDEN / "llama")!r}, ranks=ranks)
if ranks.rank > 0:
    ranks.follow(part, workspace)
else:
    model = skald.RankedModel(part, ranks)
    print(model.forward(skald.KVCache(model.create_pool()), [1, 2, 3], workspace).tobytes().hex())
    del model
"""
    ended = subprocess.run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", program],
                           capture_output=True, text=True, timeout=300)
    if "allow-run-as-root" in ended.stderr:
        pytest.skip("needs Open MPI")
    model = skald.load_model(GOLDEN / "llama")
    expected = model.forward(skald.KVCache(model), [1, 2, 3], skald.Workspace(threads=1)).tobytes().hex()
    assert ended.returncode == 0 and ended.stdout.strip() == expected, ended.stderr
