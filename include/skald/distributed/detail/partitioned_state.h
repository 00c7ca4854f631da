// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/partitioned_state.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_PARTITIONED_STATE_H_
#define SKALD_DISTRIBUTED_DETAIL_PARTITIONED_STATE_H_

#include "skald/distributed/partitioned_state.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "skald/base/inline.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald {

namespace internal {

SKALD_INLINE PartitionedState::PartitionedState(const ModelSpec& spec, size_t ranks, const RuntimeConfig& runtime)
    : whole_(LayoutOf(spec)) {
  wholes_ = GeometriesOf(whole_, runtime);
  for (size_t r = 0; r < ranks; ++r) parts_.push_back(GeometriesOf(LayoutOf(spec, {r, ranks}), runtime));
  ListAxes(spec);
}

SKALD_INLINE void PartitionedState::Join(size_t group, size_t rank, const std::byte* part, std::byte* whole) const {
  ForEachRun(group, rank, [&](size_t in_part, size_t in_whole, size_t bytes) {
    std::memcpy(whole + in_whole, part + in_part, bytes);
  });
}

SKALD_INLINE void PartitionedState::Cut(size_t group, size_t rank, const std::byte* whole, std::byte* part) const {
  ForEachRun(group, rank, [&](size_t in_part, size_t in_whole, size_t bytes) {
    std::memcpy(part + in_part, whole + in_whole, bytes);
  });
}

SKALD_INLINE std::vector<BlockGeometry> PartitionedState::GeometriesOf(const CacheLayout& layout,
                                                                       const RuntimeConfig& runtime) {
  std::vector<BlockGeometry> geometries;
  for (const CacheGroup& group : layout.groups()) {
    geometries.push_back(BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type));
  }
  return geometries;
}

SKALD_INLINE void PartitionedState::ListAxes(const ModelSpec& spec) {
  axes_.resize(whole_.groups().size());
  auto slot = whole_.layers().begin();
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (!layer.State()) continue;
      const uint32_t group = slot++->group;
      StateAxes axes = layer.AxesOfState();
      axes_[group].push_back(std::move(axes.state));
      if (!whole_.groups()[group].is_replayed()) continue;
      axes_[whole_.InputsOf(group)].push_back(std::move(axes.inputs));
    }
  }
}

template <class Run>
void PartitionedState::ForEachRun(size_t group, size_t rank, Run run) const {
  if (!is_partitioned(group)) return run(0, 0, whole_bytes(group));
  whole_.groups()[group].is_attention() ? ForEachRunOfHeads(group, rank, run) : ForEachPart(group, rank, run);
}

template <class Run>
void PartitionedState::ForEachPart(size_t group, size_t rank, Run run) const {
  const BlockGeometry &part = parts_[rank][group], &whole = wholes_[group];
  for (size_t layer = 0; layer < whole.layers; ++layer) {
    size_t in_part = part.StateOffset(layer);
    for (const PartitionedRange& range : PartitionEach(axes_[group][layer], {rank, ranks()})) {
      run(in_part, whole.StateOffset(layer) + range.begin * sizeof(float), range.size() * sizeof(float));
      in_part += range.size() * sizeof(float);
    }
  }
}

template <class Run>
void PartitionedState::ForEachRunOfHeads(size_t group, size_t rank, Run run) const {
  const BlockGeometry &part = parts_[rank][group], &whole = wholes_[group];
  // As attention partitions them: ranks that share a head have all of it.
  const Axis heads_of_all = {whole.kv_heads, whole.kv_heads, ranks(), /*is_copied=*/true};
  const size_t first = Partition(heads_of_all, {rank, ranks()}).begin;
  // Heads follow each other in each of a layer's arrays.
  const auto heads = [&](size_t in_part, size_t in_whole, size_t bytes, size_t whole_bytes) {
    if (bytes > 0) run(in_part, in_whole + first * (whole_bytes / whole.kv_heads), bytes);
  };
  for (size_t layer = 0; layer < whole.layers; ++layer) {
    heads(part.KeyOffset(layer), whole.KeyOffset(layer), part.key_bytes, whole.key_bytes);
    heads(part.KeyScaleOffset(layer), whole.KeyScaleOffset(layer), part.key_scale_bytes, whole.key_scale_bytes);
    heads(part.ValueOffset(layer), whole.ValueOffset(layer), part.value_bytes, whole.value_bytes);
    heads(part.ValueScaleOffset(layer), whole.ValueScaleOffset(layer), part.value_scale_bytes, whole.value_scale_bytes);
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_PARTITIONED_STATE_H_
