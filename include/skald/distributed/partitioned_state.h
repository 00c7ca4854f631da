// SPDX-License-Identifier: Apache-2.0
//
// PartitionedState: how the bytes of blocks are partitioned to ranks. Keys and values are by kv heads, states and
// inputs of recurrent layers by their sections; what every rank has all of is copied.

#ifndef SKALD_DISTRIBUTED_PARTITIONED_STATE_H_
#define SKALD_DISTRIBUTED_PARTITIONED_STATE_H_

#include <cstddef>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/layers/model_spec.h"

namespace skald::internal {

class PartitionedState {
 public:
  PartitionedState(const ModelSpec& spec, size_t ranks, const RuntimeConfig& runtime);

  const CacheLayout& whole() const { return whole_; }
  size_t ranks() const { return parts_.size(); }
  size_t whole_bytes(size_t group) const { return wholes_[group].block_bytes(); }
  size_t part_bytes(size_t group, size_t rank) const { return parts_[rank][group].block_bytes(); }

  /// Whether ranks have different parts of a group's blocks; else each has all of them.
  bool is_partitioned(size_t group) const { return part_bytes(group, 0) != whole_bytes(group); }

  /// Puts a rank's part of a block where it belongs in the whole one,
  void Join(size_t group, size_t rank, const std::byte* part, std::byte* whole) const;
  /// or takes it from there.
  void Cut(size_t group, size_t rank, const std::byte* whole, std::byte* part) const;

 private:
  static std::vector<BlockGeometry> GeometriesOf(const CacheLayout& layout, const RuntimeConfig& runtime);

  void ListAxes(const ModelSpec& spec);

  /// Calls run(offset in the part, offset in the whole, bytes).
  template <class Run>
  void ForEachRun(size_t group, size_t rank, Run run) const;

  template <class Run>
  void ForEachPart(size_t group, size_t rank, Run run) const;

  template <class Run>
  void ForEachRunOfHeads(size_t group, size_t rank, Run run) const;

  CacheLayout whole_;
  std::vector<BlockGeometry> wholes_;              ///< [groups]
  std::vector<std::vector<BlockGeometry>> parts_;  ///< [ranks][groups]
  /// [groups][layers], of what is no attention's.
  std::vector<std::vector<std::vector<Axis>>> axes_;
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/partitioned_state.h"
#endif

#endif  // SKALD_DISTRIBUTED_PARTITIONED_STATE_H_
