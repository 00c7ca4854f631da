// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/tensor_names.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_TENSOR_NAMES_H_
#define SKALD_WEIGHTS_FILES_DETAIL_TENSOR_NAMES_H_

#include "skald/weights/files/tensor_names.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE std::string TensorNames::NameOf(std::string_view name, std::optional<size_t> layer) const {
  if (layer) return OfLayer(*layer, SpellingsOf(name).front().name);
  if (name == "embed_tokens.weight") return Concat({body, embedding});
  if (name.starts_with("norm.")) return Concat({body, final_norm, name.substr(5)});
  if (name.starts_with("lm_head.")) return Concat({head, name.substr(8)});
  return Concat({body, SpellingsOf(name).front().name});
}

SKALD_INLINE std::vector<Spelling> TensorNames::SpellingsOf(std::string_view name) const {
  std::vector<Spelling> spellings;
  for (const Renaming& renaming : renamings) {
    if (!name.starts_with(renaming.ours)) continue;
    spellings.push_back({Concat({renaming.theirs, name.substr(renaming.ours.size())}), renaming.layout});
  }
  if (spellings.empty()) spellings.push_back({std::string(name)});
  return spellings;
}

SKALD_INLINE std::string TensorNames::OfLayer(size_t layer, std::string_view name) const {
  return Concat({body, layers, std::to_string(layer), ".", name});
}

SKALD_INLINE std::string_view TensorNames::WithinLayer(std::string_view tensor) const {
  for (const std::string_view prefix : {body, layers}) {
    if (!tensor.starts_with(prefix)) return {};
    tensor.remove_prefix(prefix.size());
  }
  const size_t dot = tensor.find('.');
  return dot == tensor.npos ? std::string_view() : tensor.substr(dot + 1);
}

SKALD_INLINE const TensorNames& DetectTensorNames(const Checkpoint& checkpoint, std::span<const TensorNames> known) {
  const TensorNames* best = &known.front();
  int most = 0;
  for (const TensorNames& names : known) {
    int found = 0;
    for (const std::string& name : {names.NameOf("embed_tokens.weight", {}), names.NameOf("input_layernorm.weight", 0),
                                    names.NameOf("norm.weight", {})}) {
      if (checkpoint.Find(name) != nullptr) ++found;
    }
    if (!names.mark.empty()) found += checkpoint.Find(names.OfLayer(0, names.mark)) != nullptr ? 1 : -1;
    if (found <= most) continue;
    most = found;
    best = &names;
  }
  return *best;
}

SKALD_INLINE bool IsDerivedTensor(std::string_view name) {
  // Of GPT-NeoX and GPT-2.
  const std::string_view masks[] = {".attention.bias", ".attention.masked_bias", ".attn.bias", ".attn.masked_bias"};
  const auto ends = [name](std::string_view end) { return name.ends_with(end); };
  return std::ranges::any_of(masks, ends) || std::ranges::any_of(kTaskPairs, ends) ||
         name.ends_with("embeddings.position_ids") || name.ends_with(".rotary_emb.inv_freq") ||
         name == "rope_freqs.weight" || name == "rope_factors_long.weight" || name == "rope_factors_short.weight";
}

SKALD_INLINE bool IsOfOtherPart(std::string_view name) {
  return std::ranges::any_of(kOtherParts, [&](std::string_view part) { return name.starts_with(part); });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_TENSOR_NAMES_H_
