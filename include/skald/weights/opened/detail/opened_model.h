// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/opened/opened_model.h.

#ifndef SKALD_WEIGHTS_OPENED_DETAIL_OPENED_MODEL_H_
#define SKALD_WEIGHTS_OPENED_DETAIL_OPENED_MODEL_H_

#include "skald/weights/opened/opened_model.h"

#include <system_error>
#include <utility>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packed_files/packed_source.h"
#include "skald/weights/quantised/quantisation.h"
#include "skald/weights/quantised/quantised_checkpoint.h"

namespace skald {

struct OpenedModel::State {
  std::filesystem::path path;
  std::shared_ptr<const PackedFile> packed = nullptr;
  std::shared_ptr<const Checkpoint> gguf = nullptr;  // of a GGUF file and its parts
};

SKALD_INLINE Result<OpenedModel> OpenedModel::Open(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&]() -> Result<OpenedModel> {
    State state = {path};
    if (!internal::Exists(path)) {
      return Fail(ErrorCode::kNotFound,
                  Concat({PathText(path), ": no such folder or file, expected one with a model"}));
    }
    if (!internal::IsFolder(path)) {
      // The reader of a file that cannot be opened says why.
      auto map = MappedFile::Open(path, MappedFile::Use::kParts);
      if (map && PackedFile::Recognises(map->bytes())) {
        SKALD_ASSIGN(state.packed, PackedFile::From(path, std::move(*map)));
      } else if (map && IsGguf(map->bytes())) {
        map->WillReadOnce();
        SKALD_ASSIGN(auto file, GgufFile::From(path, std::move(*map)));
        state.gguf = std::make_shared<const Checkpoint>(path, std::move(file));
      }
    }
    return OpenedModel(std::make_shared<const State>(std::move(state)));
  });
}

SKALD_INLINE const std::filesystem::path& OpenedModel::path() const { return state_->path; }

SKALD_INLINE std::filesystem::path OpenedModel::folder() const {
  std::error_code ignored;
  if (is_whole() || internal::IsFolder(path())) return path();
  return std::filesystem::absolute(path(), ignored).parent_path();
}

SKALD_INLINE const GgufFile* OpenedModel::gguf() const {
  return state_->gguf == nullptr ? nullptr : state_->gguf->gguf();
}

SKALD_INLINE const std::shared_ptr<const PackedFile>& OpenedModel::packed() const { return state_->packed; }

SKALD_INLINE Result<std::shared_ptr<const Checkpoint>> OpenedModel::checkpoint() const {
  return NoThrow(PathText(path()), [&]() -> Result<std::shared_ptr<const Checkpoint>> {
    if (state_->gguf != nullptr) return state_->gguf;
    SKALD_ASSIGN(auto opened, Checkpoint::Open(path()));
    SKALD_ASSIGN(const auto quantisation, QuantisationAt(path()));
    if (quantisation) return WithQuantised(std::move(opened), *quantisation);
    return std::make_shared<const Checkpoint>(std::move(opened));
  });
}

SKALD_INLINE Result<std::string> OpenedModel::DescribeSource() const {
  return NoThrow(PathText(path()), [&]() -> Result<std::string> {
    std::string text;
    if (gguf() == nullptr) {
      SKALD_ASSIGN(text, skald::DescribeSource(path()));
      SKALD_ASSIGN(const auto quantisation, QuantisationAt(path()));
      if (!quantisation) return text;
      // Its numbers depend on what config.json says of them.
      const std::filesystem::path file = folder() / "config.json";
      SKALD_ASSIGN(const auto map, MappedFile::Open(file));
      SKALD_ASSIGN(const auto line, DescribeSourceFile(file, map));
      return text + line;
    }
    for (const GgufPart& part : gguf()->parts()) {
      SKALD_ASSIGN(const auto line, DescribeSourceFile(part.path, part.map));
      text += line;
    }
    return text;
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_OPENED_DETAIL_OPENED_MODEL_H_
