// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/registry.h.

#ifndef SKALD_FAMILIES_DETAIL_REGISTRY_H_
#define SKALD_FAMILIES_DETAIL_REGISTRY_H_

#include "skald/families/registry.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/families/config/fact_names.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/readers/detail/common_names.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/parameters.h"

namespace skald {

SKALD_INLINE std::vector<FamilyFacts> Families() {
  std::vector<FamilyFacts> families;
  for (const internal::FamilyRow& row : internal::kFamilies) {
    FamilyFacts& family = families.emplace_back(FamilyFacts{row.name, {}, row.special, row.original});
    for (const internal::ModelType& type : row.model_types) family.model_types.push_back(type.name);
    for (const internal::GgufArchitecture& one : row.architectures) family.architectures.push_back(one.name);
    for (const std::string_view name : row.shared_architectures) family.architectures.push_back(name);
  }
  return families;
}

SKALD_INLINE bool ReadsGguf(std::string_view model_type) {
  const internal::FamilyRow* const family = internal::FamilyOfModelType(model_type);
  return family != nullptr && !(family->architectures.empty() && family->shared_architectures.empty());
}

namespace internal {

// Returns the names of all families within a layer: `common` and those that the rows add.
template <const auto& kCommon, auto kAdded>
constexpr auto JoinedNames() {
  constexpr size_t kCount = [] {
    size_t count = std::size(kCommon);
    for (const FamilyRow& row : kFamilies) count += (row.*kAdded).size();
    return count;
  }();
  std::array<Renaming, kCount> all{};
  auto end = std::copy(std::begin(kCommon), std::end(kCommon), all.begin());
  for (const FamilyRow& row : kFamilies) end = std::copy((row.*kAdded).begin(), (row.*kAdded).end(), end);
  return all;
}

inline constexpr auto kAllFolderNames = JoinedNames<kFolderNames, &FamilyRow::names>();
inline constexpr auto kAllGgufNames = JoinedNames<kGgufNames, &FamilyRow::gguf_names>();

// The same of files whose converter laid rows that RoPE turns together side by side.
inline constexpr auto kGgufNamesInPairs = [] {
  auto names = kAllGgufNames;
  for (Renaming& name : names) {
    name.layout.pairs_adjacent |= name.theirs == "attn_q." || name.theirs == "attn_k." || name.theirs == "attn_qkv.";
  }
  return names;
}();

// The same of folders with stacked experts whose matrices are transposed.
inline constexpr auto kTransposedFolderNames = [] {
  auto names = kAllFolderNames;
  for (Renaming& name : names) name.layout.transposed |= name.theirs == kStackedGates || name.theirs == kStackedDown;
  return names;
}();

// Heads of rerankers and dense layers of encoders.
inline constexpr std::string_view kGgufHeads[] = {"cls.", "dense_2.", "dense_3."};

// One language model and nothing else.
constexpr TensorNames GgufTensors(std::span<const Renaming> names) {
  return {.body = "",
          .head = "output.",
          .embedding = "token_embd.weight",
          .final_norm = "output_norm.",
          .layers = "blk.",
          .renamings = names,
          .stores_converted = true,
          .other_parts = kGgufHeads};
}

inline constexpr TensorNames kCommonTensors[] = {
    // Text models,
    {.body = "model.", .head = "lm_head.", .renamings = kAllFolderNames},
    // multimodal models as first published and as later versions write them.
    {.body = "language_model.model.", .head = "language_model.lm_head.", .renamings = kAllFolderNames},
    {.body = "model.language_model.", .head = "lm_head.", .renamings = kAllFolderNames},
    GgufTensors(kAllGgufNames),
    // Text models without a head, as encoders are published.
    {.body = "", .head = "lm_head.", .renamings = kAllFolderNames},
};
inline constexpr const TensorNames& kCommonMultimodal = kCommonTensors[2];
inline constexpr const TensorNames& kCommonGguf = kCommonTensors[3];
inline constexpr TensorNames kGgufInPairs = GgufTensors(kGgufNamesInPairs);

inline constexpr auto kAllTensors = [] {
  constexpr size_t kCount = [] {
    size_t count = std::size(kCommonTensors);
    for (const FamilyRow& row : kFamilies) count += row.own_names.size();
    return count;
  }();
  std::array<TensorNames, kCount> all{};
  auto end = std::copy(std::begin(kCommonTensors), std::end(kCommonTensors), all.begin());
  for (const FamilyRow& row : kFamilies) {
    for (TensorNames names : row.own_names) {
      if (names.renamings.empty()) names.renamings = kAllGgufNames, names.other_parts = kGgufHeads;
      *end++ = names;
    }
  }
  return all;
}();

SKALD_INLINE std::span<const TensorNames> KnownTensorNames() { return kAllTensors; }

inline const GgufArchitecture* ArchitectureOf(const Checkpoint& checkpoint) {
  return checkpoint.gguf() == nullptr ? nullptr : ArchitectureIn(checkpoint.gguf()->metadata());
}

// Whether the converter that wrote a file laid rows that RoPE turns together side by side.
inline bool HasRopePairs(const Checkpoint& checkpoint) {
  const GgufArchitecture* const architecture = ArchitectureOf(checkpoint);
  return architecture != nullptr && architecture->has_rope_pairs;
}

// Whether the matrices of stacked experts are transposed. Folders of Qwen3-VL are published like that, and transformers
// 5 writes them as those of all others. The tensors of one layer tell it together, even where one of them is square:
// the width of the model is the number of lines of the gates and that of columns of the others.
inline bool HasTransposedExperts(const Checkpoint& checkpoint) {
  const auto& tensors = checkpoint.tensors();
  const auto found = std::ranges::find_if(
      tensors, [](const TensorView& tensor) { return kCommonMultimodal.WithinLayer(tensor.name) == kStackedGates; });
  if (found == tensors.end()) return false;
  const std::string_view layer = found->name.substr(0, found->name.size() - kStackedGates.size());
  const TensorView* const down = checkpoint.Find(Concat({layer, kStackedDown}));
  const TensorView* const router = checkpoint.Find(Concat({layer, "mlp.gate.weight"}));
  if (down == nullptr || down->shape.empty() || router == nullptr || router->shape.empty()) return false;
  uint64_t lines = 1;  // of all experts; quantised ones have no axis of their own
  for (size_t i = 0; i + 1 < found->shape.size(); ++i) lines *= found->shape[i];
  return lines == router->shape.front() * down->shape.back();
}

SKALD_INLINE std::vector<TensorNames> TensorNamesIn(const Checkpoint& checkpoint) {
  std::vector<TensorNames> known(kAllTensors.begin(), kAllTensors.end());
  if (HasTransposedExperts(checkpoint)) {
    known[&kCommonMultimodal - kCommonTensors].renamings = kTransposedFolderNames;
  }
  if (HasRopePairs(checkpoint)) known[&kCommonGguf - kCommonTensors] = kGgufInPairs;
  return known;
}

SKALD_INLINE TensorNames TensorNamesOf(const Checkpoint& checkpoint) {
  return DetectTensorNames(checkpoint, TensorNamesIn(checkpoint));
}

SKALD_INLINE std::span<const FactRenaming> FactNamesOf(std::string_view model_type) {
  const ModelType* const type = FindModelType(model_type);
  return type == nullptr ? std::span<const FactRenaming>() : type->fact_names;
}

SKALD_INLINE std::span<const std::string_view> FactsNotInGguf(std::string_view model_type) {
  const ModelType* const type = FindModelType(model_type);
  return type == nullptr ? std::span<const std::string_view>() : type->untold;
}

SKALD_INLINE bool ReadsArchitecture(const GgufFile& file) { return ArchitectureIn(file.metadata()) != nullptr; }

SKALD_INLINE Result<void> CheckConverter(const Checkpoint& checkpoint, std::span<const Assumption> assumptions) {
  const GgufArchitecture* const architecture = ArchitectureOf(checkpoint);
  if (architecture == nullptr || !architecture->changed) return {};
  const auto& [against, change] = *architecture->changed;
  if (std::ranges::find(assumptions, against) == assumptions.end()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              Concat({checkpoint.path().string(), ": GGUF files of ", architecture->name, " have ", change,
                      ", for which the model would have to be another Config, as LoadAnyModel finds it"}));
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_REGISTRY_H_
