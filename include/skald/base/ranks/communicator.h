// SPDX-License-Identifier: Apache-2.0
//
// Communicator: how the ranks that compute one model together exchange bytes. distributed/ has one for MPI and one for
// the threads of a process; any other type that meets the concept will do.

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
///   AllGather(all, begins)  of `all`, which is as long everywhere, this rank has written the bytes [begins[rank],
///                           begins[rank + 1]); makes every rank have all of them
///   Broadcast(bytes)        makes every rank's bytes, and their number, those of rank 0, for which the others wait as
///                           long as it takes
///   Wait()                  returns once all ranks have called it, however long that takes
/// An error means that a rank is gone or does not answer in time; which of the others got their bytes is not known
/// then, and every further call fails.
template <class C>
concept Communicator = requires(C& ranks, const C& same, std::span<std::byte> all, std::span<const size_t> begins,
                                std::vector<std::byte>& bytes) {
  { same.share() } -> std::convertible_to<RankShare>;
  { ranks.AllGather(all, begins) } -> std::same_as<Result<void>>;
  { ranks.Broadcast(bytes) } -> std::same_as<Result<void>>;
  { ranks.Wait() } -> std::same_as<Result<void>>;
};

/// A Communicator that someone else owns, without its type: what is compiled against it is compiled once.
class CommunicatorRef {
 public:
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
