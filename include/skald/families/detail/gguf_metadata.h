// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/gguf_metadata.h.

#ifndef SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_
#define SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_

#include "skald/families/gguf_metadata.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/detail/parse_gguf.h"
#include "skald/families/detail/registry.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/spec_json.h"
#include "skald/layers/kinds/altup/streams.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/weights/writing/mixture.h"

namespace skald {

namespace internal {

// Which layers have a window, and the base of their RoPE: files of some architectures say so, of others they must not.
inline void WriteWindows(const ModelSpec& spec, bool pattern, bool base, nlohmann::json& fields) {
  nlohmann::json slides = nlohmann::json::array();
  ForEachLayer<Attention>(spec, [&](const Attention& attention, uint32_t) {
    slides.push_back(attention.window > 0);
    if (base && attention.window > 0) fields["rope.freq_base_swa"] = Rounded(attention.rope.base);
  });
  if (pattern) fields["attention.sliding_window_pattern"] = slides;
}

// Returns the facts that a file's tensors will tell its reader.
inline GgufTensorFacts FactsForGguf(const ModelSpec& spec, const RopeTensors& rope) {
  GgufTensorFacts facts{.vocab_size = spec.vocab_size,
                        .has_head = !spec.tied_embeddings,
                        .positions = spec.positions,
                        .token_types = spec.token_types,
                        .rope_divisors = rope.divisors,
                        .long_rope_divisors = rope.long_divisors,
                        .short_rope_divisors = rope.short_divisors};
  facts.has_feed_forward_bias = FindLayer<GatedFeedForward>(spec, [](const auto& layer) { return layer.bias; });
  facts.has_feed_forward_gate = FindLayer<GatedFeedForward>(spec) != nullptr;
  facts.has_ssm_norm = FindLayer<Mamba2>(spec, [](const Mamba2& layer) { return layer.has_norm; });
  if (const auto* const laurel = FindLayer<LaurelResidual>(spec)) facts.laurel_rank = laurel->rank;
  ForEachLayer<MixtureOfExperts>(spec, [&](const auto&, uint32_t number) { facts.expert_layers.insert(number); });
  ForEachLayer<Attention>(spec, [&](const Attention& attention, uint32_t) {
    facts.value_projections += attention.keys_as_values || attention.shared_layer >= 0 ? 0 : 1;
    facts.has_query_bias |= attention.qkv_bias;
    facts.has_output_bias |= attention.output_bias;
    facts.has_query_norm |= attention.head_norm || attention.projection_norm;
  });
  for (const Block& block : spec.blocks) {
    const std::string norm = kCommonGguf.SpellingsOf(Concat({std::string_view(block.norm_name), "."})).front().name;
    facts.has_second_attention_norm |= block.norm && norm == "attn_norm_2.";
    facts.has_feed_forward_norm |= block.norm && norm == "ffn_norm.";
  }
  return facts;
}

inline GgufEntry EntryOf(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return GgufText(name, value.get_ref<const std::string&>());
  if (value.is_boolean()) return GgufTruth(name, value.get<bool>());
  if (value.is_number_float()) return GgufNumber(name, value.get<float>());
  if (value.is_number()) return GgufNumber(name, value.get<uint32_t>());
  if (value.front().is_number_float()) return GgufNumbers(name, value.get<std::vector<float>>());
  if (value.front().is_number()) return GgufNumbers(name, value.get<std::vector<int32_t>>());
  std::vector<uint8_t> truths;
  for (const nlohmann::json& one : value) truths.push_back(one.get<bool>() ? 1 : 0);
  return GgufTruths(name, truths);
}

// Names the first fact in which a model that is read back differs from what it was; nothing where JSON cannot say it.
inline std::string FirstDifference(const ModelSpec& read, const ModelSpec& expected) {
  constexpr size_t kMaxShown = 60;
  const auto from = SpecToJson(read), to = SpecToJson(expected);
  nlohmann::json known, meant;
  if (!from || !to || !ParseJson(*from, known).empty() || !ParseJson(*to, meant).empty()) return "";
  const nlohmann::json changes = nlohmann::json::diff(known, meant);
  if (changes.empty()) return "";
  const std::string path = changes.front()["path"];
  const auto shown = [&](const nlohmann::json& spec) {
    const nlohmann::json::json_pointer place(path);
    return spec.contains(place) ? spec.at(place).dump().substr(0, kMaxShown) : "nothing";
  };
  return Concat({", with ", shown(known), " at ", path, " in place of ", shown(meant)});
}

// Returns the model_type under which the metadata describe this very model, or why they do not.
inline Result<std::string> ModelTypeRead(const nlohmann::json& metadata, const GgufTensorFacts& facts,
                                         ModelSpec expected) {
  SKALD_ASSIGN(const auto models, ParseConfigGguf(metadata, facts));
  const DescribedModel& likeliest = models.front();  // which is what a file without a Config is
  ChangeLayers<Attention>(expected, [](Attention& one) { one.rope.base = Rounded(one.rope.base); });
  if (likeliest.spec == expected) return std::string(likeliest.model_type);
  return Fail(ErrorCode::kUnsupported,
              Concat({"they would be read as another model", FirstDifference(likeliest.spec, expected)}));
}

// An architecture, and the family that it is of.
struct WrittenArchitecture {
  const FamilyRow* row;
  const GgufArchitecture* architecture;
};

// Those of the family that are written of such a model, and those of others that are written for it.
inline std::vector<WrittenArchitecture> ArchitecturesFor(const FamilyRow* family, std::string_view model_type,
                                                         const ModelSpec& spec) {
  std::vector<WrittenArchitecture> found;
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& architecture : row.architectures) {
      const auto& others = architecture.written_for;
      const bool is_for = &row == family || std::ranges::find(others, model_type) != others.end();
      const bool is_of = architecture.is_of == nullptr || architecture.is_of(spec);
      if (architecture.is_written && is_for && is_of) found.push_back({&row, &architecture});
    }
  }
  return found;
}

// The names of tensors in files of an architecture: those of its family, if it has its own, or those of all.
inline const TensorNames& NamesFor(const WrittenArchitecture& written) {
  if (written.architecture->has_rope_pairs) return kGgufInPairs;
  const auto own = std::ranges::find(written.row->own_names, true, &TensorNames::stores_converted);
  return own == written.row->own_names.end() ? kCommonGguf : *own;
}

inline void AddTensor(const char* name, const std::vector<float>& values, GgufDescription& description) {
  if (values.empty()) return;
  const auto shared = std::make_shared<const std::vector<float>>(values);
  description.tensors.push_back(
      {name, {shared->size()}, FindGgufTypeByName("F32"), [shared](uint64_t, std::span<float> to) {
         std::ranges::copy(*shared, to.begin());
       }});
}

inline GgufDescription DescriptionOf(const nlohmann::json& metadata, const WrittenArchitecture& written,
                                     const RopeTensors& rope, const ModelSpec& spec) {
  const GgufArchitecture& architecture = *written.architecture;
  const TensorNames& own = NamesFor(written);
  const std::span<const Renaming> common = own.renamings.empty() ? kCommonGguf.renamings : own.renamings;
  GgufDescription description{std::string(architecture.name), {}, {}, {}, own, {}};
  std::vector<Renaming>& renamings = description.renamings;
  renamings.assign(architecture.written_names.begin(), architecture.written_names.end());
  renamings.insert(renamings.end(), common.begin(), common.end());
  description.names.renamings = renamings;
  for (const auto& [name, value] : metadata.items()) description.entries.push_back(EntryOf(name, value));
  AddTensor(kRopeDivisors, rope.divisors, description);
  AddTensor(kLongRopeDivisors, rope.long_divisors, description);
  AddTensor(kShortRopeDivisors, rope.short_divisors, description);
  description.with_unused = architecture.writes_unused;
  if (architecture.change_draft == nullptr) return description;
  description.change_draft = [change = architecture.change_draft, spec](GgufDraft& draft) { change(spec, draft); };
  return description;
}

// Tries what files of an architecture may say of windows. Returns what describes the model, or why nothing does.
inline Result<GgufDescription> DescribeAs(const WrittenArchitecture& written, uint32_t context, const ModelSpec& spec) {
  const GgufArchitecture& architecture = *written.architecture;
  const ModelSpec expected = architecture.as_written == nullptr ? spec : architecture.as_written(spec);
  nlohmann::json fields = nlohmann::json::object();
  const JsonGuard guard(fields);
  const RopeTensors rope = WriteFacts(expected, context, fields);
  if (!architecture.has_scale) fields.erase("attention.scale");
  std::string why;
  for (const bool base : {false, true}) {
    for (const bool pattern : {false, true}) {
      nlohmann::json metadata = {{"general.architecture", architecture.name}}, all = fields;
      const JsonGuard guards[] = {JsonGuard(metadata), JsonGuard(all)};
      WriteWindows(expected, pattern, base, all);
      if (architecture.tell != nullptr) architecture.tell(expected, all);
      for (const auto& [name, value] : all.items()) metadata[Concat({architecture.name, ".", name})] = value;
      auto read = ModelTypeRead(metadata, FactsForGguf(expected, rope), expected);
      if (read) {
        GgufDescription description = DescriptionOf(metadata, written, rope, spec);
        description.model_type = *std::move(read);
        return description;
      }
      if (why.empty()) why = read.error().message;
    }
  }
  return Fail(ErrorCode::kUnsupported, Concat({"as ", architecture.name, ": ", why}));
}

}  // namespace internal

SKALD_INLINE Result<GgufDescription> DescribeForGguf(const ModelSpec& spec, std::string_view model_type,
                                                     uint32_t context) {
  return NoThrow("the metadata", [&]() -> Result<GgufDescription> {
    const internal::FamilyRow* const family = internal::FamilyOfModelType(model_type);
    const auto architectures = internal::ArchitecturesFor(family, model_type, spec);
    if (architectures.empty()) {
      return Fail(ErrorCode::kUnsupported,
                  Concat({"models like this one (", model_type,
                          ") cannot be written as GGUF files: llama.cpp has no architecture for them"}));
    }
    std::string why;
    std::optional<GgufDescription> other;  // that computes the same
    for (const internal::WrittenArchitecture& written : architectures) {
      auto described = internal::DescribeAs(written, context, spec);
      if (described && described->model_type == model_type) return described;
      if (described && !other) other = *std::move(described);
      if (!described) why = described.error().message;
    }
    if (other) return *std::move(other);
    return Fail(ErrorCode::kUnsupported,
                Concat({"models like this one (", model_type, ") cannot be written as GGUF files yet: ", why}));
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_GGUF_METADATA_H_
