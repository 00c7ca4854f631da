// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/load_any.h.

#ifndef SKALD_MODEL_DETAIL_LOAD_ANY_H_
#define SKALD_MODEL_DETAIL_LOAD_ANY_H_

#include "skald/model/load_any.h"

#include <string>
#include <utility>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/families/config_json.h"
#include "skald/families/gguf_config.h"
#include "skald/families/spec_json.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/load.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald {

namespace internal {

inline Result<DescribedModel> DescribePacked(const PackedFile& file) {
  SKALD_ASSIGN(const auto text, file.Attachment(kSpecAttachment));
  auto spec = SpecFromJson(text);
  if (!spec) return Annotate(PathText(file.path()), spec);
  return DescribedModel{kPackedModelType, std::move(*spec)};
}

inline Result<DescribedModel> DescribeGguf(const std::filesystem::path& path, const GgufFile& file) {
  auto models = ModelsOf(file);
  if (!models) return Annotate(PathText(path), models);
  return std::move(models->front());
}

inline Result<DescribedModel> DescribeFolder(const std::filesystem::path& path) {
  const bool is_folder = internal::IsFolder(path);
  const auto folder = is_folder ? path : path.parent_path();
  const auto text = ReadSmallFile(folder / "config.json", kMaxConfigJson);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    const char* const where = is_folder ? "in this folder" : "beside it, as it is no GGUF or packed file";
    return Fail(ErrorCode::kNotFound, PathText(path) + ": expected a config.json " + where);
  }
  if (!text) return Failure(text.error());
  auto model = ParseConfigJson(*text);
  if (!model) return Annotate(PathText(folder), model);
  return model;
}

}  // namespace internal

SKALD_INLINE Result<DescribedModel> DescribeModel(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(path));
  return DescribeModel(model);
}

SKALD_INLINE Result<DescribedModel> DescribeModel(const OpenedModel& model) {
  const std::filesystem::path& path = model.path();
  return NoThrow(PathText(path), [&]() -> Result<DescribedModel> {
    SKALD_ASSIGN(auto described, model.packed() != nullptr ? internal::DescribePacked(*model.packed())
                                 : model.gguf() != nullptr ? internal::DescribeGguf(path, *model.gguf())
                                                           : internal::DescribeFolder(path));
    if (const char* why = WhyImpossible(described.spec)) {
      return Fail(ErrorCode::kUnsupported, PathText(path) + ": " + why);
    }
    return described;
  });
}

SKALD_INLINE Result<AnyModel> LoadAnyModel(const std::filesystem::path& path, const LoadOptions& options) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(path));
  return LoadAnyModel(model, options);
}

SKALD_INLINE Result<AnyModel> LoadAnyModel(const OpenedModel& model, const LoadOptions& options) {
  return NoThrow(PathText(model.path()), [&]() -> Result<AnyModel> {
    SKALD_ASSIGN(const auto described, DescribeModel(model));
    const std::string name(described.model_type);
    SKALD_ASSIGN(auto weights, LoadWeights(model, described.spec, name, options));
    return AnyModel(name, std::move(weights), StandardLayers::Functions());
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_LOAD_ANY_H_
