// SPDX-License-Identifier: Apache-2.0
//
// RankJob: the processes that mpirun started, as the ranks of one model.

#ifndef SKALD_EXAMPLES_SKALD_RANKS_RANK_JOB_H_
#define SKALD_EXAMPLES_SKALD_RANKS_RANK_JOB_H_

#include <chrono>
#include <memory>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/distributed/communicators/measured_ranks.h"

namespace skald::program {

class RankJob {
 public:
  // Joins the job. A rank that does not answer within `patience` is given up. A job may be one process alone. Errors:
  // kUnsupported in a program without MPI; those of MpiRanks::Create.
  static Result<std::shared_ptr<RankJob>> Start(std::chrono::milliseconds patience);
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;
  // Leaves it, together with all others.
  ~RankJob();

  // Ends all processes of the job: for a rank that failed, since the others would wait for it.
  void Abort(int exit_code);

  const CommunicatorRef& ranks() const;
  RankShare share() const { return ranks().share(); }
  // This process among those of the job that are on the same machine.
  RankShare on_this_machine() const;
  // The bytes that this rank has sent, and the time that it has waited.
  MeasuredRanks& measured();

 private:
  struct Ends;
  explicit RankJob(std::unique_ptr<Ends> ends);

  std::unique_ptr<Ends> ends_;
};

// Returns which rank this process is: the only one if there is no job.
inline RankShare ShareOf(const std::shared_ptr<RankJob>& job) { return job ? job->share() : RankShare(); }

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_RANKS_RANK_JOB_H_
