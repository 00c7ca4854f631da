// SPDX-License-Identifier: Apache-2.0
//
// DealtState: how the bytes of blocks are dealt to ranks. Keys and values are by kv heads, states and inputs of
// recurrent layers by their sections; what every rank has all of is copied.

#ifndef SKALD_DISTRIBUTED_DEALT_STATE_H_
#define SKALD_DISTRIBUTED_DEALT_STATE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/form/layout.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"

namespace skald::internal {

class DealtState {
 public:
  DealtState(const ModelSpec& spec, size_t ranks, const RuntimeConfig& runtime) : whole_(LayoutOf(spec)) {
    wholes_ = GeometriesOf(whole_, runtime);
    for (size_t r = 0; r < ranks; ++r) parts_.push_back(GeometriesOf(LayoutOf(spec, {r, ranks}), runtime));
    ListSections(spec);
  }

  const CacheLayout& whole() const { return whole_; }
  size_t ranks() const { return parts_.size(); }
  size_t whole_bytes(size_t group) const { return wholes_[group].block_bytes(); }
  size_t part_bytes(size_t group, size_t rank) const { return parts_[rank][group].block_bytes(); }

  // Whether ranks have different parts of a group's blocks; else each has all of them.
  bool is_dealt(size_t group) const { return part_bytes(group, 0) != whole_bytes(group); }

  // Puts a rank's part of a block where it belongs in the whole one,
  void Join(size_t group, size_t rank, const std::byte* part, std::byte* whole) const {
    ForEachRun(group, rank, [&](size_t in_part, size_t in_whole, size_t bytes) {
      std::memcpy(whole + in_whole, part + in_part, bytes);
    });
  }
  // or takes it from there.
  void Cut(size_t group, size_t rank, const std::byte* whole, std::byte* part) const {
    ForEachRun(group, rank, [&](size_t in_part, size_t in_whole, size_t bytes) {
      std::memcpy(part + in_part, whole + in_whole, bytes);
    });
  }

 private:
  static std::vector<BlockGeometry> GeometriesOf(const CacheLayout& layout, const RuntimeConfig& runtime) {
    std::vector<BlockGeometry> geometries;
    for (const CacheGroup& group : layout.groups()) {
      geometries.push_back(BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type));
    }
    return geometries;
  }

  void ListSections(const ModelSpec& spec) {
    sections_.resize(whole_.groups().size());
    auto slot = whole_.layers().begin();
    for (const Block& block : spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        if (!layer.State()) continue;
        const uint32_t group = slot++->group;
        StateSections sections = layer.DealState();
        sections_[group].push_back(std::move(sections.state));
        if (!whole_.groups()[group].is_replayed()) continue;
        sections_[whole_.InputsOf(group)].push_back(std::move(sections.inputs));
      }
    }
  }

  // Calls run(offset in the part, offset in the whole, bytes).
  template <class Run>
  void ForEachRun(size_t group, size_t rank, Run run) const {
    if (!is_dealt(group)) return run(0, 0, whole_bytes(group));
    whole_.groups()[group].is_attention() ? ForEachRunOfHeads(group, rank, run) : ForEachSection(group, rank, run);
  }

  template <class Run>
  void ForEachSection(size_t group, size_t rank, Run run) const {
    const BlockGeometry &part = parts_[rank][group], &whole = wholes_[group];
    for (size_t layer = 0; layer < whole.layers; ++layer) {
      size_t in_part = part.StateOffset(layer);
      for (const DealtRange& range : DealEach(sections_[group][layer], {rank, ranks()})) {
        run(in_part, whole.StateOffset(layer) + range.begin * sizeof(float), range.size() * sizeof(float));
        in_part += range.size() * sizeof(float);
      }
    }
  }

  template <class Run>
  void ForEachRunOfHeads(size_t group, size_t rank, Run run) const {
    const BlockGeometry &part = parts_[rank][group], &whole = wholes_[group];
    // As attention deals them: ranks that share a head have all of it.
    const DealtSection heads_of_all = {whole.kv_heads, whole.kv_heads, ranks(), /*is_copied=*/true};
    const size_t first = Deal(heads_of_all, {rank, ranks()}).begin;
    // Heads lie one behind the other in each of a layer's arrays.
    const auto heads = [&](size_t in_part, size_t in_whole, size_t bytes, size_t whole_bytes) {
      if (bytes > 0) run(in_part, in_whole + first * (whole_bytes / whole.kv_heads), bytes);
    };
    for (size_t layer = 0; layer < whole.layers; ++layer) {
      heads(part.KeyOffset(layer), whole.KeyOffset(layer), part.key_bytes, whole.key_bytes);
      heads(part.KeyScaleOffset(layer), whole.KeyScaleOffset(layer), part.key_scale_bytes, whole.key_scale_bytes);
      heads(part.ValueOffset(layer), whole.ValueOffset(layer), part.value_bytes, whole.value_bytes);
      heads(part.ValueScaleOffset(layer), whole.ValueScaleOffset(layer), part.value_scale_bytes,
            whole.value_scale_bytes);
    }
  }

  CacheLayout whole_;
  std::vector<BlockGeometry> wholes_;              // [groups]
  std::vector<std::vector<BlockGeometry>> parts_;  // [ranks][groups]
  // [groups][layers], of what is no attention's.
  std::vector<std::vector<std::vector<DealtSection>>> sections_;
};

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DEALT_STATE_H_
