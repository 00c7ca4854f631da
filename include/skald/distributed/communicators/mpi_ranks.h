// SPDX-License-Identifier: Apache-2.0
//
// MpiRanks: ranks that are the processes of an MPI job (MPI 3.1: https://www.mpi-forum.org/docs/mpi-3.1/), of Open MPI
// or MPICH. The only header that needs MPI; the program links it.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_MPI_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_MPI_RANKS_H_

// The bindings for C++ were taken out of MPI in version 3; some implementations still have them in their header.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#endif
#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/distributed/communicators/missing_ranks.h"

namespace skald {

/// This process's end, for one thread at a time; it may be another one than that which made it. Move-only; lives no
/// longer than MPI, which is the caller's to start and end.
class MpiRanks {
 public:
  /// Takes the processes of `job`, which must all call this, after MPI_Init_thread with MPI_THREAD_SERIALIZED at least.
  /// A rank that does not answer an exchange within `patience` is given up, and with it all others; one that ends may
  /// be noticed only so. The error names it, as far as the others had come to the exchange by half of that time.
  /// Errors: kFailedPrecondition (MPI is not running, or refuses).
  static Result<MpiRanks> Create(MPI_Comm job = MPI_COMM_WORLD,
                                 std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    int is_running = 0, threads = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_running);
    if (is_running != 0) MPI_Query_thread(&threads);
    if (threads < MPI_THREAD_SERIALIZED) {
      return Fail(ErrorCode::kFailedPrecondition,
                  "MPI must have been started by MPI_Init_thread, with MPI_THREAD_SERIALIZED at least");
    }
    MpiRanks ranks(patience);
    // A communicator of its own, so that messages of other code are not taken for these; errors are returned and do not
    // end the process.
    if (MPI_Comm_dup(job, &ranks.job_) != MPI_SUCCESS) return Fail(ErrorCode::kFailedPrecondition, "MPI_Comm_dup");
    MPI_Comm_set_errhandler(ranks.job_, MPI_ERRORS_RETURN);
    int rank = 0, size = 1;
    MPI_Comm_rank(ranks.job_, &rank);
    MPI_Comm_size(ranks.job_, &size);
    ranks.share_ = {static_cast<size_t>(rank), static_cast<size_t>(size)};
    return ranks;
  }

  MpiRanks(MpiRanks&& other) noexcept
      : job_(std::exchange(other.job_, MPI_COMM_NULL)),
        share_(other.share_),
        patience_(other.patience_),
        exchange_(other.exchange_),
        last_told_(std::move(other.last_told_)),
        is_broken_(other.is_broken_) {}
  MpiRanks& operator=(MpiRanks&&) = delete;
  ~MpiRanks() {
    // Freeing it is something that all ranks do together.
    if (job_ != MPI_COMM_NULL && !is_broken_) MPI_Comm_free(&job_);
  }

  RankShare share() const { return share_; }

  /// This process among those of `job` that are on the same machine (KeepToShare). All of them must call it.
  static RankShare OnThisMachine(MPI_Comm job = MPI_COMM_WORLD) {
    MPI_Comm neighbours = MPI_COMM_NULL;
    int rank = 0, count = 1;
    if (MPI_Comm_split_type(job, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &neighbours) != MPI_SUCCESS) return {};
    MPI_Comm_rank(neighbours, &rank);
    MPI_Comm_size(neighbours, &count);
    MPI_Comm_free(&neighbours);
    return {static_cast<size_t>(rank), static_cast<size_t>(count)};
  }

  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    return NoThrow("MPI", [&]() -> Result<void> {
      std::vector<int> counts(share_.ranks), offsets(share_.ranks);
      if (all.size() > INT_MAX) {
        return Fail(ErrorCode::kOutOfRange, "an exchange of " + std::to_string(all.size()) +
                                                " bytes is more than MPI counts; compute fewer tokens in a pass");
      }
      for (size_t r = 0; r < share_.ranks; ++r) {
        counts[r] = static_cast<int>(begins[r + 1] - begins[r]);
        offsets[r] = static_cast<int>(begins[r]);
      }
      return Finish("MPI_Iallgatherv", Within::kPatience, [&](MPI_Request& request) {
        return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all.data(), counts.data(), offsets.data(), MPI_BYTE, job_,
                               &request);
      });
    });
  }

  Result<void> Broadcast(std::vector<std::byte>& bytes) {
    return NoThrow("MPI", [&]() -> Result<void> {
      if (share_.rank == 0) HearWhoCame();  // of a long time without work, so that it does not pile up
      uint64_t size = bytes.size();
      const Within within = share_.rank == 0 ? Within::kPatience : Within::kAnyTime;
      SKALD_TRY(Finish("MPI_Ibcast", within,
                       [&](MPI_Request& request) { return MPI_Ibcast(&size, 1, MPI_UINT64_T, 0, job_, &request); }));
      if (size > INT_MAX) return Fail(ErrorCode::kOutOfRange, "a message is longer than MPI counts");
      bytes.resize(static_cast<size_t>(size));
      return Finish("MPI_Ibcast", Within::kPatience, [&](MPI_Request& request) {
        return MPI_Ibcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, job_, &request);
      });
    });
  }

  Result<void> Wait() {
    return Finish("MPI_Ibarrier", Within::kAnyTime, [&](MPI_Request& request) { return MPI_Ibarrier(job_, &request); });
  }

 private:
  enum class Within { kPatience, kAnyTime };

  explicit MpiRanks(std::chrono::milliseconds patience) : patience_(patience) {}

  /// Starts an operation and looks until it is done. MPI's own waiting cannot be ended when a rank is gone.
  template <class Start>
  Result<void> Finish(const char* what, Within within, Start start) {
    if (is_broken_) return FailGone(what, "an exchange failed before");
    ++exchange_;
    MPI_Request request = MPI_REQUEST_NULL;
    if (start(request) != MPI_SUCCESS) return FailGone(what, "MPI refuses");
    const auto begin = std::chrono::steady_clock::now();
    int is_done = 0;
    bool has_told = false;
    for (size_t i = 1;; ++i) {
      if (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return FailGone(what, WhoIsMissing() + " is gone");
      }
      if (is_done != 0) return {};
      if (i % kLooks != 0) continue;
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (!has_told && waited > patience_ / 2) {
        TellThatThisCame();
        has_told = true;
      }
      if (within == Within::kPatience && waited > patience_) {
        return FailGone(what, WhoIsMissing() + " did not answer within " + std::to_string(patience_.count()) + " ms");
      }
      // A rank that waits between two requests leaves the processor alone.
      waited > std::chrono::milliseconds(20) ? std::this_thread::sleep_for(std::chrono::microseconds(200))
                                             : std::this_thread::yield();
    }
  }

  /// A rank that has waited long sends the others a message of no bytes whose tag is the exchange, so that they can
  /// name the ranks that are missing. No rank waits for these messages, since a missing rank does not receive them.
  void TellThatThisCame() {
    for (size_t r = 0; r < share_.ranks; ++r) {
      if (r == share_.rank) continue;
      MPI_Request sent = MPI_REQUEST_NULL;
      const bool is_sent =
          MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(r), TagOf(exchange_), job_, &sent) == MPI_SUCCESS;
      if (is_sent) MPI_Request_free(&sent);
    }
    HearWhoCame();
  }

  /// Takes in what others told, which may be of the exchange to come.
  void HearWhoCame() {
    last_told_.resize(share_.ranks, -1);
    for (;;) {
      int is_there = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job_, &is_there, &status) != MPI_SUCCESS || is_there == 0) return;
      const int source = status.MPI_SOURCE, tag = status.MPI_TAG;
      if (MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, job_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
      last_told_[static_cast<size_t>(source)] = tag;
    }
  }

  /// Those that have not told that they came to this exchange.
  std::string WhoIsMissing() {
    HearWhoCame();
    std::vector<bool> came(share_.ranks);
    for (size_t r = 0; r < share_.ranks; ++r) came[r] = r == share_.rank || last_told_[r] == TagOf(exchange_);
    return internal::NamesOfMissing(came);
  }

  /// MPI has at least so many tags.
  static int TagOf(uint64_t exchange) { return static_cast<int>(exchange % 32768); }

  Failure FailGone(const char* what, const std::string& why) {
    is_broken_ = true;
    return Fail(ErrorCode::kFailedPrecondition, "rank " + std::to_string(share_.rank) + " of " +
                                                    std::to_string(share_.ranks) + ": " + what + ": " + why);
  }

  static constexpr size_t kLooks = 64;

  MPI_Comm job_ = MPI_COMM_NULL;
  RankShare share_;
  std::chrono::milliseconds patience_;
  uint64_t exchange_ = 0;            ///< how many this rank has come to; all ranks count the same
  std::vector<int> last_told_ = {};  ///< [ranks], or empty: the tag of what each told last
  bool is_broken_ = false;           ///< what was begun then may still be under way
};

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_MPI_RANKS_H_
