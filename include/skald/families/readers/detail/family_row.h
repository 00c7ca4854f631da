// SPDX-License-Identifier: Apache-2.0
//
// A family's entry in the registry: how its files name it and are read, the names of its tensors, the conventions of
// its converters. Each family has one such row, in its folder.

#ifndef SKALD_FAMILIES_READERS_DETAIL_FAMILY_ROW_H_
#define SKALD_FAMILIES_READERS_DETAIL_FAMILY_ROW_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/fact_names.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/passed/detail/unread_fields.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/parameters.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

/// A model as its family's reader describes it: families whose layers are of the lineages that the short form of a
/// Config knows by their facts, others whole.
using TextModel = std::variant<ShortForm, DescribedModel>;

/// One "model_type" of config.json.
struct ModelType {
  std::string_view name;
  TextModel (*read)(const JsonFields&);
  std::string_view outer = {};                      ///< of multimodal models, that have such a one as "text_config"
  void (*add_defaults)(nlohmann::json&) = nullptr;  ///< fields that files may leave out
  std::span<const FactRenaming> fact_names = {};    ///< where they are not those of most files
  std::span<const std::string_view> untold = {};    ///< facts that GGUF files do not tell
};

/// How converters to GGUF change the weights of an architecture, against what models of the published sizes assume.
struct ChangedWeights {
  Assumption against;
  std::string_view change;
};

/// One "general.architecture" of GGUF files.
struct GgufArchitecture {
  std::string_view name;
  /// Returns all models that it can be, the likeliest first.
  std::vector<DescribedModel> (*read)(const JsonFields&, const GgufTensorFacts&);
  bool has_rope_pairs = false;  ///< the rows of queries and keys that RoPE turns together lie side by side
  std::optional<ChangedWeights> changed = {};
  bool is_written = false;  ///< by DescribeForGguf: such files were compared with what llama.cpp makes of them
  /// Whether a model of the family is one that files of it describe, where others are of another architecture; null:
  /// all may be.
  bool (*is_of)(const ModelSpec&) = nullptr;
  /// Changes what is said of every model to what files of this architecture say; null: it is the same.
  void (*tell)(const ModelSpec&, nlohmann::json&) = nullptr;
  bool has_scale = false;  ///< llama.cpp takes "attention.scale" from the file, not from a rule of its own
  std::span<const std::string_view> written_for = {};  ///< model_types of other families
  /// Names within a layer, where files of it have others than kGgufNames.
  std::span<const Renaming> written_names = {};
  /// Returns the model that files of it describe, where converters make another one that computes the same, or one
  /// without what files have no place for, which `change_draft` tells.
  ModelSpec (*as_written)(ModelSpec) = nullptr;
  /// Changes the draft of a model to that of its file: shapes of tensors where others are expected than layers have,
  /// the order of rows and their numbers where as_written changes the model.
  void (*change_draft)(const ModelSpec&, GgufDraft&) = nullptr;
  bool writes_unused = false;  ///< also tensors that no layer reads, which llama.cpp asks for
};

struct FamilyRow {
  /// For people. Every family is compared with recorded logits, hidden states and greedy text of its original
  /// implementation, hybrids and recurrent ones with its states too (tests/golden/data).
  std::string_view name;
  std::string_view special;
  std::string_view original = "transformers";  ///< what it is compared with

  std::span<const ModelType> model_types;
  std::span<const GgufArchitecture> architectures = {};
  std::span<const std::string_view> shared_architectures = {};  ///< of other families, that files of this one have too

  /// Names within a layer beside those of all families (common_names.h), in folders and in GGUF files.
  std::span<const Renaming> names = {}, gguf_names = {};
  /// Other conventions. One without renamings has those of all GGUF files.
  std::span<const TensorNames> own_names = {};

  /// Fields that cannot change a logit, beside those of all families.
  std::span<const PassedFields> passed_json = {}, passed_gguf = {};
};

/// Configs of published models.
template <ModelConfig... Configs>
struct ConfigTypes {};

/// A reader as the rows have it.
template <auto kRead>
TextModel ReadOne(const JsonFields& fields) {
  return kRead(fields);
}
template <auto kRead>
std::vector<DescribedModel> ReadOneGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return {kRead(fields, facts)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_FAMILY_ROW_H_
