// SPDX-License-Identifier: Apache-2.0
//
// Communicator: how the ranks that compute one model together exchange bytes. distributed/ has one for MPI and one for
// the threads of a process; any other type that meets the concept works too.

#ifndef SKALD_BASE_RANKS_COMMUNICATOR_H_
#define SKALD_BASE_RANKS_COMMUNICATOR_H_

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"

namespace skald {

/// One rank's end. All ranks make the same calls in the same order, each from one thread at a time:
///   share()                 which rank this is, and how many there are
///   AllGather(all, begins)  of `all`, which has the same length on all ranks, this rank has written the bytes
///                           [begins[rank], begins[rank + 1]); gives every rank all of them
///   Broadcast(bytes)        gives every rank the bytes of rank 0, and their number; the other ranks wait for it
///                           without a time limit
///   Wait()                  returns when all ranks have called it, without a time limit
/// An error means that a rank is gone or did not answer in time. It is then unknown which ranks got their bytes,
/// and every further call fails.
template <class C>
concept Communicator = requires(C& ranks, const C& same, std::span<std::byte> all, std::span<const size_t> begins,
                                std::vector<std::byte>& bytes) {
  { same.share() } -> std::convertible_to<RankShare>;
  { ranks.AllGather(all, begins) } -> std::same_as<Result<void>>;
  { ranks.Broadcast(bytes) } -> std::same_as<Result<void>>;
  { ranks.Wait() } -> std::same_as<Result<void>>;
};

/// A Communicator without its type, which the caller keeps alive: code that uses it is compiled once.
class CommunicatorRef {
 public:
  /// Refers to `ranks`, which must outlive all copies of this.
  template <Communicator C>
  requires(!std::same_as<C, CommunicatorRef>) explicit CommunicatorRef(C& ranks)
      : object_(std::addressof(ranks)),
        share_(ranks.share()),
        all_gather_([](void* object, std::span<std::byte> all, std::span<const size_t> begins) {
          return static_cast<C*>(object)->AllGather(all, begins);
        }),
        broadcast_(
            [](void* object, std::vector<std::byte>& bytes) { return static_cast<C*>(object)->Broadcast(bytes); }),
        wait_([](void* object) { return static_cast<C*>(object)->Wait(); }) {}

  RankShare share() const { return share_; }
  Result<void> AllGather(std::span<std::byte> all, std::span<const size_t> begins) const;
  Result<void> Broadcast(std::vector<std::byte>& bytes) const { return broadcast_(object_, bytes); }
  Result<void> Wait() const { return wait_(object_); }

 private:
  void* object_;
  RankShare share_;
  Result<void> (*all_gather_)(void*, std::span<std::byte>, std::span<const size_t>);
  Result<void> (*broadcast_)(void*, std::vector<std::byte>&);
  Result<void> (*wait_)(void*);
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/ranks/detail/communicator.h"
#endif

#endif  // SKALD_BASE_RANKS_COMMUNICATOR_H_
