// SPDX-License-Identifier: Apache-2.0
//
// An observer of rank 0 sees, and may change, the stream that all ranks have: what it makes of it goes to all of them.

#ifndef SKALD_DISTRIBUTED_DETAIL_RANK_OBSERVERS_H_
#define SKALD_DISTRIBUTED_DETAIL_RANK_OBSERVERS_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/model/forward_options.h"

namespace skald::internal {

// Rank 0's. Where it throws the others get nothing, so that none waits for it.
inline Observer ShownToAll(Observer observer, const CommunicatorRef& ranks) {
  struct Message {
    const CommunicatorRef& ranks;
    std::vector<std::byte> bytes;

    // An error is the next exchange's, too.
    ~Message() { static_cast<void>(ranks.Broadcast(bytes)); }
  };
  return [observer = std::move(observer), &ranks](const ResidualStream& stream) {
    Message message = {ranks, {}};
    observer(stream);
    const auto values = std::as_bytes(stream.values);
    message.bytes.assign(values.begin(), values.end());
  };
}

// The exchanges of a step that rank 0 may end at any block, as its observer does: a Communicator of another rank.
class ObservedRanks {
 public:
  explicit ObservedRanks(const CommunicatorRef& ranks) : ranks_(ranks) {}

  RankShare share() const { return ranks_.share(); }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
    return has_ended_ ? Ended() : ranks_.AllGather(all, begins);
  }
  Result<void> Broadcast(std::vector<std::byte>& bytes) { return has_ended_ ? Ended() : ranks_.Broadcast(bytes); }
  Result<void> Wait() { return has_ended_ ? Ended() : ranks_.Wait(); }

  // The stream after rank 0's observer.
  Observer observer() {
    return [this](const ResidualStream& stream) {
      std::vector<std::byte> bytes;
      const auto told = Broadcast(bytes);
      has_ended_ = !told || bytes.size() != stream.values.size_bytes();
      if (!has_ended_) std::memcpy(stream.values.data(), bytes.data(), bytes.size());
    };
  }

 private:
  static Result<void> Ended() { return Fail(ErrorCode::kFailedPrecondition, "rank 0 has ended the step"); }

  const CommunicatorRef& ranks_;
  bool has_ended_ = false;
};

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DETAIL_RANK_OBSERVERS_H_
