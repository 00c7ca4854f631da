# SPDX-License-Identifier: Apache-2.0
"""Ranks under mpi4py's `mpirun`.

    from mpi4py import MPI
    import skald
    from skald.mpi import MpiRanks

    ranks, workspace = skald.Ranks(MpiRanks(MPI.COMM_WORLD)), skald.Workspace(threads=2)
    part = skald.load_model("my-model", ranks=ranks)   # of each matrix, this rank's part
    if ranks.rank > 0:
        ranks.follow(part, workspace)                  # until rank 0 lets its model go
    else:
        model = skald.RankedModel(part, ranks)
        logits = model.forward(skald.KVCache(model.create_pool()), [1, 2, 3], workspace)

A rank that ends does not end the others here: mpirun does, where one fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class MpiRanks:
    """The processes of a communicator of mpi4py."""

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator.Dup()  # messages of the program are not taken for these
        self.rank: int = self._communicator.Get_rank()
        self.size: int = self._communicator.Get_size()

    def all_gather(self, all: memoryview, begins: Sequence[int]) -> None:
        from mpi4py import MPI

        counts = [end - begin for begin, end in zip(begins, begins[1:])]
        self._communicator.Allgatherv(MPI.IN_PLACE, [all, counts, list(begins[:-1]), MPI.BYTE])

    def broadcast(self, data: bytes | None) -> bytes:
        received: bytes = self._communicator.bcast(data)
        return received

    def wait(self) -> None:
        self._communicator.Barrier()
