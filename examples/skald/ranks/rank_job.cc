// SPDX-License-Identifier: Apache-2.0

#include "ranks/rank_job.h"

#include <utility>

#if defined(SKALD_HAS_MPI)
#include "skald/distributed/communicators/mpi_ranks.h"
#endif

namespace skald::program {

#if defined(SKALD_HAS_MPI)

struct RankJob::Ends {
  explicit Ends(MpiRanks ranks) : mpi(std::move(ranks)) {}

  MpiRanks mpi;
  const CommunicatorRef plain{mpi};
  MeasuredRanks measured{plain};
  const CommunicatorRef ref{measured};
  const RankShare on_this_machine = MpiRanks::OnThisMachine();
};

Result<std::shared_ptr<RankJob>> RankJob::Start(std::chrono::milliseconds patience) {
  int threads = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS) {
    return Fail(ErrorCode::kFailedPrecondition, "MPI cannot be started");
  }
  SKALD_ASSIGN(auto ranks, MpiRanks::Create(MPI_COMM_WORLD, patience));
  return std::shared_ptr<RankJob>(new RankJob(std::make_unique<Ends>(std::move(ranks))));
}

RankJob::RankJob(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}

RankJob::~RankJob() {
  ends_.reset();
  MPI_Finalize();
}

void RankJob::Abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

const CommunicatorRef& RankJob::ranks() const { return ends_->ref; }
MeasuredRanks& RankJob::measured() { return ends_->measured; }

#else

struct RankJob::Ends {
  const CommunicatorRef ref;
  MeasuredRanks measured;
  RankShare on_this_machine;
};

Result<std::shared_ptr<RankJob>> RankJob::Start(std::chrono::milliseconds) {
  return Fail(ErrorCode::kUnsupported, "--ranks: this program was built without MPI");
}

// Never called: there is no job without MPI.
RankJob::~RankJob() = default;
void RankJob::Abort(int) {}
const CommunicatorRef& RankJob::ranks() const { return ends_->ref; }
MeasuredRanks& RankJob::measured() { return ends_->measured; }

#endif

RankShare RankJob::on_this_machine() const { return ends_->on_this_machine; }

}  // namespace skald::program
