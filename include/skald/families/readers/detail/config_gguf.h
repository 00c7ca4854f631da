// SPDX-License-Identifier: Apache-2.0
//
// Reads what the metadata of a GGUF file say of a model, for the families of the short form all of whose
// layers are attention, and by their own readers for others. Names and defaults are those of llama.cpp
// (https://github.com/ggml-org/llama.cpp: llama-arch.cpp, llama-model.cpp, convert_hf_to_gguf.py). Nothing throws,
// whatever the metadata hold.

#ifndef SKALD_FAMILIES_READERS_DETAIL_CONFIG_GGUF_H_
#define SKALD_FAMILIES_READERS_DETAIL_CONFIG_GGUF_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/float_environment.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/experts.h"
#include "skald/families/readers/detail/family_readers.h"
#include "skald/families/readers/detail/gguf_rope.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/passed/detail/gguf_values.h"
#include "skald/families/readers/passed/detail/unread_fields.h"

namespace skald {

namespace internal {

// Adds the values whose names begin with `prefix` to `fields`, under the rest of their names.
inline void AddFieldsBehind(const nlohmann::json& metadata, const std::string& prefix, nlohmann::json& fields) {
  for (const auto& [name, value] : metadata.items()) {
    if (name.starts_with(prefix)) fields[name.substr(prefix.size())] = value;
  }
}

// Returns a window that may be absent or 0: none.
inline int ReadGgufWindow(const JsonFields& fields) {
  return fields.Integer("attention.sliding_window", 0, 1 << 30, 0);
}

// Returns the model's layers. In families with a window all are sliding where the file gives one, or all but each nth;
// in those with layers without RoPE each nth is one, which no value tells.
inline std::vector<LayerKind> GgufLayers(const JsonFields& fields, const FamilyRules& family) {
  std::vector<LayerKind> layers(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)),
                                LayerKind::kFullAttention);
  for (size_t i = 0; family.nth_without_rope > 0 && i < layers.size(); ++i) {
    if ((i + 1) % static_cast<size_t>(family.nth_without_rope) == 0) layers[i] = LayerKind::kNopeAttention;
  }
  if (family.layers == LayerRule::kAllIfGiven && ReadGgufWindow(fields) > 0) {
    std::ranges::fill(layers, LayerKind::kSlidingAttention);
  }
  if (family.layers != LayerRule::kAllButNth) return layers;
  const auto nth = static_cast<size_t>(fields.Size("attention.sliding_window_pattern", family.nth));
  for (size_t i = 0; i < layers.size(); ++i) {
    if ((i + 1) % nth != 0) layers[i] = LayerKind::kSlidingAttention;
  }
  return layers;
}

// Refuses what would change the logits and has no place in a ShortForm.
inline void RefuseUnsupportedGguf(const JsonFields& fields, int head_dim) {
  fields.Expect("attention.value_length", head_dim);
}

// Returns the query_pre_scale of that of the Configs which has the sizes of `a`.
template <class... Configs>
std::optional<double> QueryPreScaleAmong(const ShortForm& a) {
  std::optional<double> found;
  const auto look = [&](const ShortForm& one) {
    const bool same = one.model_type == a.model_type && one.layers.size() == a.layers.size() &&
                      one.model_dim == a.model_dim && one.heads == a.heads && one.head_dim == a.head_dim;
    if (same) found = one.query_pre_scale;
  };
  (look(ShortFormOf<Configs>()), ...);
  return found;
}

// Returns what scores are divided by the root of. Files that have "attention.scale" say what they are multiplied by,
// as float32. Gemma 2 and 3 have a number of their own for each model, which the converter leaves out. In other
// architectures llama.cpp takes no notice of it.
inline double ReadGgufQueryPreScale(const JsonFields& fields, const ShortForm& a) {
  constexpr const char* kName = "attention.scale";
  const bool is_gemma = a.model_type == Gemma2Family::kModelType || a.model_type == Gemma3Family::kModelType;
  if (fields.Find(kName) != nullptr) {
    const double scale = fields.Positive(kName), divisor = 1.0 / (scale * scale), whole = std::round(divisor);
    const bool is_whole = static_cast<float>(1.0 / std::sqrt(whole)) == static_cast<float>(scale);
    const bool is_usual = is_whole && whole == a.head_dim;
    if (!is_gemma && !is_usual) fields.Unsupported(kName, scale, "1 divided by the root of attention.key_length");
    return is_whole ? whole : divisor;
  }
  if (!is_gemma) return a.head_dim;
  const auto published =
      QueryPreScaleAmong<Gemma2_2B, Gemma2_9B, Gemma2_27B, Gemma3_270M, Gemma3_1B, Gemma3_4B, Gemma3_12B, Gemma3_27B>(
          a);
  if (!published) fields.Missing(kName, ", and no published model of this family has as many layers, heads and sizes");
  return published.value_or(1.0);
}

inline ShortForm ReadGgufModel(const JsonFields& fields, const FamilyRules& family, const GgufTensorFacts& facts) {
  constexpr int kGemma2Window = 4096;
  ShortForm a = family.implied;
  a.model_dim = fields.Size("embedding_length");
  a.feed_forward_dim = fields.Size("feed_forward_length");
  a.vocab_size = facts.vocab_size;
  a.heads = fields.Size("attention.head_count");
  a.kv_heads = fields.Size("attention.head_count_kv", a.heads);
  a.head_dim = fields.Size("attention.key_length", std::max(1, a.model_dim / a.heads));
  a.rotary_dim = fields.Size("rope.dimension_count", a.head_dim);
  RefuseUnsupportedGguf(fields, a.head_dim);
  a.layers = GgufLayers(fields, family);
  const bool is_gemma2 = a.model_type == Gemma2Family::kModelType, is_gemma3 = a.model_type == Gemma3Family::kModelType;
  if (is_gemma2) a.window = fields.Size("attention.sliding_window", kGemma2Window);
  if (is_gemma3) a.window = fields.Size("attention.sliding_window");
  if (family.layers == LayerRule::kAllIfGiven) a.window = ReadGgufWindow(fields);
  a.rope = ReadGgufRope(fields, facts, static_cast<size_t>(a.rotary_dim));
  if (a.sliding_rope) a.sliding_rope->base = fields.Positive("rope.freq_base_swa", a.sliding_rope->base);
  a.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  a.query_pre_scale = ReadGgufQueryPreScale(fields, a);
  if (family.reads_caps) {
    a.attention_softcap = ReadSoftcap(fields, "attn_logit_softcapping", a.attention_softcap);
    a.final_softcap = ReadSoftcap(fields, "final_logit_softcapping", a.final_softcap);
  }
  a.tied_embeddings = !facts.has_head;
  ReadGgufExperts(fields, family.experts, a);
  return a;
}

// Mistral models, whose files say that they are Llama, and those with a window, which no field tells.
inline std::vector<ShortForm> WithMistral(const ShortForm& llama) {
  ShortForm mistral = llama, sliding = llama;
  mistral.model_type = sliding.model_type = MistralFamily::kModelType;
  std::ranges::fill(sliding.layers, LayerKind::kSlidingAttention);
  sliding.window = 4096;
  return {llama, mistral, sliding};
}

// What GGUF files call a family, where it is not as its model_type. Mixtral is Llama with experts there.
inline constexpr std::pair<std::string_view, std::string_view> kGgufArchitectures[] = {
    {Gemma3Family::kModelType, "gemma3"},
    {Qwen3MoeFamily::kModelType, "qwen3moe"},
    {MixtralFamily::kModelType, "llama"},
    {MistralFamily::kModelType, "llama"}};

inline std::string_view GgufArchitecture(std::string_view model_type) {
  const auto found = std::ranges::find(kGgufArchitectures, model_type, [](const auto& pair) { return pair.first; });
  return found == std::end(kGgufArchitectures) ? model_type : found->second;
}

// Returns those of all families, for people.
inline std::string GgufArchitectures(std::span<const FamilyRules> families) {
  std::set<std::string_view> told;
  std::string text;
  for (const FamilyRules& family : families) {
    const std::string_view architecture = GgufArchitecture(family.implied.model_type);
    if (told.insert(architecture).second) text.append(text.empty() ? "" : ", ").append(architecture);
  }
  for (const FamilyReader& family : kFamilyReaders) {
    if (family.read_gguf != nullptr) text.append(", ").append(family.architecture);
  }
  return text;
}

// Returns the family of a model of this architecture, or null.
inline const FamilyRules* GgufFamily(std::span<const FamilyRules> families, std::string_view architecture,
                                     bool has_experts) {
  for (const FamilyRules& family : families) {
    const std::string_view type = family.implied.model_type;
    if (type == MistralFamily::kModelType || GgufArchitecture(type) != architecture) continue;
    if (architecture != "llama" || has_experts == (family.experts != ExpertRule::kNone)) return &family;
  }
  return nullptr;
}

}  // namespace internal

namespace internal {

// Names in `fields` of the tensors that only a RoPE's reader knows to take.
inline void AddRopeTensors(const GgufTensorFacts& facts, nlohmann::json& fields) {
  if (!facts.rope_divisors.empty()) fields[kRopeDivisors] = "a tensor";
  if (!facts.long_rope_divisors.empty()) fields[kLongRopeDivisors] = "a tensor";
  if (!facts.short_rope_divisors.empty()) fields[kShortRopeDivisors] = "a tensor";
}

// Returns whether there is a reader for the architecture that metadata name.
inline bool IsKnownArchitecture(const nlohmann::json& metadata) {
  const auto found = metadata.find("general.architecture");
  const auto* const name = found == metadata.end() ? nullptr : found->get_ptr<const std::string*>();
  if (name == nullptr) return false;
  const auto reads = [&](const FamilyReader& family) {
    return family.architecture == *name && family.read_gguf != nullptr;
  };
  return std::ranges::any_of(kFamilyReaders, reads) || GgufFamily(TransformerFamilies(), *name, false) != nullptr;
}

inline std::vector<DescribedModel> ReadGguf(const JsonFields& whole, const std::string& architecture,
                                            const JsonFields& fields, const GgufTensorFacts& facts) {
  for (const FamilyReader& family : kFamilyReaders) {
    if (architecture == family.architecture && family.read_gguf != nullptr) return {family.read_gguf(fields, facts)};
  }
  const std::vector<FamilyRules> families = TransformerFamilies();
  if (GgufFamily(families, architecture, /*has_experts=*/false) == nullptr) {
    whole.Unsupported("general.architecture", architecture, GgufArchitectures(families));
    return {};
  }
  const bool has_experts = fields.Integer("expert_count", 0, kMaxExperts, 0) > 0;
  const FamilyRules* const family = GgufFamily(families, architecture, has_experts);
  const ShortForm read = ReadGgufModel(fields, *family, facts);
  std::vector<DescribedModel> models;
  const bool may_be_mistral = read.model_type == LlamaFamily::kModelType;
  for (const ShortForm& form : may_be_mistral ? WithMistral(read) : std::vector{read}) {
    models.push_back({form.model_type, Expand(form)});
  }
  return models;
}

}  // namespace internal

// Returns all models that it can be: one, but several for "llama", the likeliest first. `metadata` is
// an object of names like "llama.block_count". Of those with the architecture's name in front each is read, or cannot
// change a logit (passed/gguf_values.h), or is refused. Fails with kDataLoss when a value cannot be right, kNotFound
// when one is missing, and kUnsupported for an architecture or value that is none that Skald runs. The sentence names
// the value.
inline Result<std::vector<DescribedModel>> ParseConfigGguf(const nlohmann::json& metadata,
                                                           const GgufTensorFacts& facts) {
  return NoThrow("the metadata", [&]() -> Result<std::vector<DescribedModel>> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    std::optional<Error> error;
    internal::FieldsRead read;
    const internal::JsonFields whole(&metadata, nullptr, "", &error);
    const std::string name = whole.String("general.architecture"), prefix = name + ".";
    nlohmann::json of_model = nlohmann::json::object();
    const internal::JsonGuard guard(of_model);
    internal::AddFieldsBehind(metadata, prefix, of_model);
    internal::AddRopeTensors(facts, of_model);
    const internal::JsonFields fields(&of_model, nullptr, prefix, &error, &read);
    std::vector<DescribedModel> models;
    if (!error) models = internal::ReadGguf(whole, name, fields, facts);
    const internal::UnreadFields unread(internal::kPassedGguf, name, read, prefix);
    if (!error) unread.Refuse(of_model, prefix, &error);
    if (error) return Fail(error->code, "metadata: " + error->message);
    return models;
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_READERS_DETAIL_CONFIG_GGUF_H_
