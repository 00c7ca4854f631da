// SPDX-License-Identifier: Apache-2.0
//
// Whether a spec says what the metadata beside the weights say. Tensors tell their sizes alone: a model with another
// RoPE base, epsilon or window would load and compute other numbers.

#ifndef SKALD_MODEL_DETAIL_LOAD_CHECK_H_
#define SKALD_MODEL_DETAIL_LOAD_CHECK_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/config/differences.h"
#include "skald/families/config/fact_names.h"
#include "skald/families/config_json.h"
#include "skald/families/find_named.h"
#include "skald/families/gguf_config.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/gguf.h"

namespace skald::internal {

inline Failure OtherThan(std::string_view file, const std::vector<std::string>& differences) {
  return Fail(ErrorCode::kInvalidArgument,
              Concat({file, ": what it says of the model is not what the Config says: ", Joined(differences)}));
}

// Compares `spec` with the config.json of the folder `path`, or of the folder that contains it. Does nothing if there
// is no config.json, or if it names no family that Skald has a reader for, as with a user's own layers.
inline Result<void> CheckConfigJson(const std::filesystem::path& path, const ModelSpec& spec) {
  const auto folder = internal::IsFolder(path) ? path : path.parent_path();
  const auto file = folder / "config.json";
  if (!internal::Exists(path) || !internal::Exists(file)) return {};
  SKALD_ASSIGN(const auto text, ReadSmallFile(file, kMaxConfigJson));
  const auto is_known = NamesKnownFamily(text);
  if (!is_known) return Annotate(PathText(folder), is_known);
  if (!*is_known) return {};
  const auto described = ParseConfigJson(text);
  if (!described) return Annotate(PathText(folder), described);
  const auto differences = Differences(described->spec, spec, FactNamesOf(described->model_type));
  return differences.empty() ? Result<void>() : OtherThan(PathText(file), differences);
}

// The same of the metadata of a GGUF file. There is nothing to compare with where they lack a value that a description
// needs, or name an architecture that Skald has no reader for. Numbers in them were rounded to floats; and of
// some families they do not tell all.
inline Result<void> CheckGgufMetadata(std::string_view path, const GgufFile& file, const ModelSpec& spec) {
  if (!ReadsArchitecture(file)) return {};
  const auto models = ModelsOf(file);
  if (!models && models.error().code == ErrorCode::kNotFound) return {};
  if (!models) return Annotate(std::string(path), models);
  std::vector<std::string> fewest;
  for (const DescribedModel& model : *models) {
    std::vector<std::string> differences = DifferencesBeyondRounding(model.spec, spec);
    const auto untold = FactsNotInGguf(model.model_type);
    std::erase_if(differences, [&](const std::string& one) {
      return std::ranges::any_of(untold, [&](std::string_view fact) { return one.starts_with(Concat({fact, " ("})); });
    });
    if (differences.empty()) return {};
    if (fewest.empty() || differences.size() < fewest.size()) fewest = std::move(differences);
  }
  return OtherThan(path, fewest);
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_DETAIL_LOAD_CHECK_H_
