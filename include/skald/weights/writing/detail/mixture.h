// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/mixture.h.

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_MIXTURE_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_MIXTURE_H_

#include "skald/weights/writing/mixture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

namespace internal {

// Of `count` layers or matrices of a kind, those that a type is for.
enum class Which {
  kAll,
  kFirstTwo,
  kFirstFour,
  kFirstSixteenth,
  kFirstEighth,
  kOutermostAndThirds,  // the first and the last eighth, and every third of the others
  kSharedValues,        // of models whose values are each for at least four query heads
};

inline bool IsAmong(Which which, size_t index, size_t count, bool shares_values) {
  switch (which) {
    case Which::kAll:
      return true;
    case Which::kFirstTwo:
      return index < 2;
    case Which::kFirstFour:
      return index < 4;
    case Which::kFirstSixteenth:
      return index < count / 16;
    case Which::kFirstEighth:
      return index < count / 8;
    case Which::kOutermostAndThirds:
      return index < count / 8 || index >= 7 * count / 8 || (index - count / 8) % 3 == 2;
    case Which::kSharedValues:
      return shares_values;
  }
  return false;
}

// A better type, and for which.
struct Better {
  std::string_view type = {};
  Which which = Which::kAll;
};

struct Mixture {
  std::string_view name;
  uint32_t file_type;     // llama.cpp's number of it
  std::string_view base;  // of matrices that nothing is said of
  // Of projections to values, of feed-forward layers' last matrices: the first that fits.
  std::array<Better, 2> values = {}, down = {};
  std::string_view attention_output = {};  // where it is not the base
  bool eight_experts_output = false;       // models of eight experts have Q5_K there
  std::string_view head = "Q6_K";
};

inline constexpr Mixture kMixtures[] = {
    {"q2_k_s", 21, "Q2_K", {{{"Q4_K", Which::kSharedValues}}}, {{{"Q4_K", Which::kFirstEighth}}}},
    {"q2_k", 10, "Q2_K", {{{"Q4_K", Which::kSharedValues}, {"Q3_K"}}}, {{{"Q3_K"}}}, "Q3_K", true},
    {"q3_k_s", 11, "Q3_K", {}, {}, {}, true},
    {"q3_k_m",
     12,
     "Q3_K",
     {{{"Q5_K", Which::kFirstTwo}, {"Q4_K"}}},
     {{{"Q5_K", Which::kFirstSixteenth}, {"Q4_K"}}},
     "Q4_K",
     true},
    {"q3_k_l", 13, "Q3_K", {{{"Q5_K"}}}, {{{"Q5_K"}}}, "Q5_K"},
    {"iq4_xs", 30, "IQ4_XS", {{{"Q5_K", Which::kSharedValues}}}, {{{"Q5_K", Which::kFirstEighth}}}, {}, true},
    {"iq4_nl", 25, "IQ4_NL", {{{"Q5_K", Which::kSharedValues}}}, {{{"Q5_K", Which::kFirstEighth}}}, {}, true},
    {"mxfp4_moe", 38, "MXFP4", {}, {}, {}, false, "Q8_0"},
    {"q4_0", 2, "Q4_0"},
    {"q4_1", 3, "Q4_1"},
    {"q4_k_s", 14, "Q4_K", {{{"Q5_K", Which::kFirstFour}}}, {{{"Q5_K", Which::kFirstEighth}}}, {}, true},
    {"q4_k_m",
     15,
     "Q4_K",
     {{{"Q6_K", Which::kOutermostAndThirds}}},
     {{{"Q6_K", Which::kOutermostAndThirds}}},
     {},
     true},
    {"q5_0", 8, "Q5_0"},
    {"q5_1", 9, "Q5_1"},
    {"q5_k_s", 16, "Q5_K"},
    {"q5_k_m", 17, "Q5_K", {{{"Q6_K", Which::kOutermostAndThirds}}}, {{{"Q6_K", Which::kOutermostAndThirds}}}},
    {"q6_k", 18, "Q6_K"},
    {"q8_0", 7, "Q8_0", {}, {}, {}, false, "Q8_0"},
    {"bf16", 32, "BF16", {}, {}, {}, false, "BF16"},
    {"f16", 1, "F16", {}, {}, {}, false, "F16"},
    {"f32", 0, "F32", {}, {}, {}, false, "F32"},
};

// A type whose blocks are smaller, for rows that are no multiple of the other's block.
inline constexpr std::pair<std::string_view, std::string_view> kSmallerBlocks[] = {
    {"Q2_K", "Q4_0"}, {"Q3_K", "Q4_0"}, {"Q4_K", "Q5_0"}, {"Q5_K", "Q5_1"}, {"Q6_K", "Q8_0"}, {"IQ4_XS", "IQ4_NL"}};

// The facts of a model that mixtures depend on.
struct MixtureFacts {
  std::string architecture;
  uint64_t layers = 0, experts = 0, width = 0;
  bool shares_values = false;  // by at least four query heads
  bool has_head = false;       // a tensor of its own
};

// Returns the number of an entry of type UINT32 or INT32, the largest of an array of them; 0 if there is none.
inline uint64_t NumberIn(const GgufDraft& draft, const std::string& name) {
  const GgufEntry* const entry = draft.Find(name);
  if (entry == nullptr) return 0;
  const bool is_array = entry->type == GgufValueType::kArray;
  uint32_t largest = 0;
  for (size_t at = is_array ? 12 : 0; at + 4 <= entry->bytes.size(); at += 4) {
    uint32_t value;
    std::memcpy(&value, entry->bytes.data() + at, sizeof(value));
    largest = std::max(largest, value);
  }
  return largest;
}

inline MixtureFacts MixtureFactsOf(const GgufDraft& draft) {
  MixtureFacts facts;
  constexpr size_t kLength = 8;  // bytes before a text
  const GgufEntry* const name = draft.Find("general.architecture");
  if (name != nullptr && name->bytes.size() >= kLength) facts.architecture = name->bytes.substr(kLength);
  const auto number = [&](const char* of_model) { return NumberIn(draft, facts.architecture + "." + of_model); };
  facts.layers = number("block_count");
  facts.experts = number("expert_count");
  facts.width = number("embedding_length");
  const uint64_t heads = number("attention.head_count"), kv_heads = number("attention.head_count_kv");
  facts.shares_values = kv_heads > 0 && heads / kv_heads >= 4;
  for (const DraftTensor& tensor : draft.tensors) facts.has_head |= tensor.name == "output.weight";
  return facts;
}

inline bool HasPart(const DraftTensor& tensor, std::string_view part) {
  return tensor.name.find(part) != std::string::npos;
}

SKALD_INLINE bool MayBeQuantized(const DraftTensor& tensor) {
  static constexpr std::string_view kKept[] = {
      "_norm.weight",         "ffn_gate_inp.",   "ffn_gate_tid2eid.", "altup",        "laurel",
      "per_layer_model_proj", "position_embd",   "token_types",       "ssm_conv1d",   "shortconv.conv.",
      "indexer.k_proj.",      "indexer.q_proj.", "time_mix_first.",   "time_mix_w0.", "time_mix_w1.",
      "time_mix_w2.",         "time_mix_v0.",    "time_mix_v1.",      "time_mix_v2.", "time_mix_a0.",
      "time_mix_a1.",         "time_mix_a2.",    "time_mix_g1.",      "time_mix_g2.", "time_mix_decay_w",
      "time_mix_lerp_fused.", "attn_rel_b."};
  return tensor.shape.size() >= 2 && tensor.name.ends_with("weight") &&
         std::ranges::none_of(kKept, [&](std::string_view part) { return HasPart(tensor, part); });
}

inline bool IsValues(const DraftTensor& tensor) {
  return HasPart(tensor, "attn_v.weight") || HasPart(tensor, "attn_qkv.weight") || HasPart(tensor, "attn_kv_b.weight");
}
inline bool IsEmbedding(const DraftTensor& tensor) {
  return tensor.name == "token_embd.weight" || tensor.name == "per_layer_token_embd.weight";
}
inline bool IsDown(const DraftTensor& tensor) { return HasPart(tensor, "ffn_down"); }

// Returns the layer that a tensor's name tells; 0 for others.
inline size_t LayerOfTensor(std::string_view name) {
  size_t layer = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

// The places of tensors among those of their kind, in the order of layers.
template <class IsOfKind>
std::map<std::string_view, size_t> PlacesAmong(const GgufDraft& draft, IsOfKind is_of_kind) {
  std::vector<std::pair<size_t, std::string_view>> found;
  for (const DraftTensor& tensor : draft.tensors) {
    if (is_of_kind(tensor)) found.emplace_back(LayerOfTensor(tensor.name), tensor.name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<size_t, std::string_view>::first);
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < found.size(); ++i) places.emplace(found[i].second, i);
  return places;
}

inline std::string_view FirstFitting(const std::array<Better, 2>& types, size_t index, size_t count, bool shares_values,
                                     std::string_view base) {
  for (const Better& better : types) {
    if (!better.type.empty() && IsAmong(better.which, index, count, shares_values)) return better.type;
  }
  return base;
}

inline bool IsFloat(const GgufType& type) { return type.block_elements == 1; }

// Chooses types by the parts that tensors are.
class TypeChooser {
 public:
  TypeChooser(const Mixture& mixture, const MixtureOptions& options, const GgufDraft& draft)
      : mixture_(mixture),
        options_(options),
        facts_(MixtureFactsOf(draft)),
        values_(PlacesAmong(draft, IsValues)),
        down_(PlacesAmong(draft, IsDown)) {}

  const GgufType* Choose(const DraftTensor& tensor) const {
    if (IsHead(tensor) && options_.output != nullptr) return options_.output;
    if (IsEmbedding(tensor) && !IsHead(tensor) && options_.embeddings != nullptr) return options_.embeddings;
    return Fitting(*FindGgufTypeByName(Name(tensor)), tensor.cols());
  }

 private:
  // Embeddings are the output head too where that has no tensor of its own.
  bool IsHead(const DraftTensor& tensor) const {
    return tensor.name == "output.weight" || (IsEmbedding(tensor) && !facts_.has_head);
  }

  std::string_view Name(const DraftTensor& tensor) const {
    const std::string_view base = mixture_.base;
    const GgufType& base_type = *FindGgufTypeByName(base);
    if (options_.pure || IsFloat(base_type)) return base;
    if (IsHead(tensor)) return tensor.cols() % base_type.block_elements != 0 ? "Q8_0" : mixture_.head;
    if (mixture_.name == "mxfp4_moe") return tensor.shape.size() > 2 ? base : "Q8_0";
    if (IsValues(tensor)) return NameOfValues(tensor);
    if (HasPart(tensor, "attn_k.weight")) return facts_.experts == 8 ? "Q8_0" : base;
    if (HasPart(tensor, "attn_output.weight")) return NameOfAttentionOutput();
    if (!IsDown(tensor)) return base;
    const size_t index = facts_.experts > 0 ? LayerOfTensor(tensor.name) : down_.at(tensor.name);
    return FirstFitting(mixture_.down, index, static_cast<size_t>(facts_.layers), facts_.shares_values, base);
  }

  std::string_view NameOfAttentionOutput() const {
    if (facts_.experts == 8) return mixture_.eight_experts_output ? "Q5_K" : mixture_.base;
    return mixture_.attention_output.empty() ? mixture_.base : mixture_.attention_output;
  }

  std::string_view NameOfValues(const DraftTensor& tensor) const {
    if (facts_.experts == 8) return "Q8_0";
    const std::string_view type =
        FirstFitting(mixture_.values, values_.at(tensor.name), values_.size(), facts_.shares_values, mixture_.base);
    // The largest Llama's values are small matrices, for eight query heads each.
    const bool is_largest = facts_.layers == 80 && facts_.width == 8192;
    return is_largest && (type == "Q3_K" || type == "Q4_K") ? "Q5_K" : type;
  }

  static const GgufType* Fitting(const GgufType& type, uint64_t cols) {
    if (cols % type.block_elements == 0) return &type;
    const auto smaller =
        std::ranges::find(kSmallerBlocks, type.name, &std::pair<std::string_view, std::string_view>::first);
    const GgufType* const other = smaller == std::end(kSmallerBlocks) ? nullptr : FindGgufTypeByName(smaller->second);
    return other != nullptr && cols % other->block_elements == 0 ? other : FindGgufTypeByName("F16");
  }

  const Mixture& mixture_;
  const MixtureOptions& options_;
  const MixtureFacts facts_;
  const std::map<std::string_view, size_t> values_, down_;  // numbers by name
};

}  // namespace internal

SKALD_INLINE std::string MixtureNames() {
  std::string names;
  for (const internal::Mixture& mixture : internal::kMixtures) {
    names.append(names.empty() ? "" : ", ").append(mixture.name);
  }
  return names;
}

SKALD_INLINE const GgufType* FindGgufTypeByName(std::string_view name) {
  const auto same = [name](std::string_view other) {
    return std::ranges::equal(name, other,
                              [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; });
  };
  const auto found = std::ranges::find_if(kGgufTypes, [&](const GgufType& type) { return same(type.name); });
  return found == kGgufTypes.end() ? nullptr : &*found;
}

SKALD_INLINE Result<void> ChooseTypes(std::string_view name, const MixtureOptions& options, GgufDraft& draft) {
  const auto mixture = std::ranges::find(internal::kMixtures, name, &internal::Mixture::name);
  if (mixture == std::end(internal::kMixtures)) {
    return Fail(ErrorCode::kInvalidArgument, Concat({"type ", QuotedName(name), ": expected one of ", MixtureNames()}));
  }
  const internal::TypeChooser chooser(*mixture, options, draft);
  for (DraftTensor& tensor : draft.tensors) {
    if (tensor.read_row && internal::MayBeQuantized(tensor)) tensor.type = chooser.Choose(tensor);
  }
  draft.Set(GgufNumber("general.file_type", mixture->file_type));
  draft.Set(GgufNumber("general.quantization_version", uint32_t{2}));
  return {};
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_MIXTURE_H_
