// SPDX-License-Identifier: Apache-2.0
//
// The C interface: versions, models and text.

#ifndef SKALD_C_DETAIL_MODELS_H_
#define SKALD_C_DETAIL_MODELS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/version.h"
#include "skald/c/detail/handles.h"
#include "skald/c/detail/types.h"
#include "skald/c/skald.h"
#include "skald/open/open_model.h"
#include "skald/tokenizers/tokenizer_value.h"

#define SKALD_INTERNAL_C_TEXT_OF(value) #value
#define SKALD_INTERNAL_C_TEXT(value) SKALD_INTERNAL_C_TEXT_OF(value)

namespace skald::internal {

inline skald_model_options ModelDefaults() {
  return {.size = sizeof(skald_model_options), .weight_type = nullptr, .threads = 0};
}

inline Result<OpenOptions> OpenOptionsOf(const skald_model_options* given) {
  SKALD_ASSIGN(const skald_model_options known, Known("skald_model_options", ModelDefaults(), given));
  OpenOptions options;
  options.load.threads = ThreadsOf(known.threads);
  if (known.weight_type != nullptr) {
    SKALD_ASSIGN(options.weight_type, TypeNamed("skald_model_options::weight_type", known.weight_type, kWeightTypes));
  }
  return options;
}

// Writes as much of `values` as there is room for.
template <class T, class Values>
void CopyTo(const Values& values, T* room, size_t capacity, size_t* count) {
  *count = values.size();
  if (room != nullptr) std::copy_n(values.begin(), std::min(capacity, values.size()), room);
}

}  // namespace skald::internal

SKALD_INLINE uint32_t skald_c_api(void) { return SKALD_C_API; }

SKALD_INLINE const char* skald_version(void) {
  return SKALD_INTERNAL_C_TEXT(SKALD_VERSION_MAJOR) "." SKALD_INTERNAL_C_TEXT(
      SKALD_VERSION_MINOR) "." SKALD_INTERNAL_C_TEXT(SKALD_VERSION_PATCH);
}

SKALD_INLINE void skald_model_options_init(skald_model_options* options) {
  if (options != nullptr) *options = skald::internal::ModelDefaults();
}

SKALD_INLINE skald_code skald_model_open(const char* path, const skald_model_options* options, skald_model** model,
                                         skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_model_open", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_model_open", path, model));
    SKALD_ASSIGN(const OpenOptions open, OpenOptionsOf(options));
    SKALD_ASSIGN(auto opened, OpenModel(PathOfText(path), open));
    *model = new skald_model{std::make_shared<SharedModel>(std::move(opened))};
    return {};
  });
}

SKALD_INLINE void skald_model_free(skald_model* model) { delete model; }

SKALD_INLINE size_t skald_model_vocab_size(const skald_model* model) {
  return model == nullptr ? 0 : static_cast<size_t>(model->model().info.spec.vocab_size);
}

SKALD_INLINE size_t skald_model_dim(const skald_model* model) {
  return model == nullptr ? 0 : static_cast<size_t>(model->model().info.spec.model_dim);
}

SKALD_INLINE size_t skald_model_trained_context(const skald_model* model) {
  return model == nullptr ? 0 : model->model().info.trained_context;
}

SKALD_INLINE int skald_model_is_stop(const skald_model* model, int32_t id) {
  return model != nullptr && std::ranges::count(model->model().text.stop_ids, id) > 0;
}

SKALD_INLINE const char* skald_model_name(const skald_model* model) {
  return model == nullptr ? "" : model->model().info.name.c_str();
}

SKALD_INLINE skald_code skald_encode(const skald_model* model, const char* text, size_t bytes, unsigned flags,
                                     int32_t* ids, size_t capacity, size_t* count, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_encode", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_encode", model, count));
    constexpr unsigned kKnown = SKALD_ADD_SPECIAL | SKALD_PARSE_SPECIAL;
    if ((flags & ~kKnown) != 0) return Fail(ErrorCode::kInvalidArgument, "skald_encode: flags has an unknown bit");
    const auto parse = (flags & SKALD_PARSE_SPECIAL) != 0 ? ParseSpecial::kYes : ParseSpecial::kNo;
    const auto add = (flags & SKALD_ADD_SPECIAL) != 0 ? AddSpecial::kYes : AddSpecial::kNo;
    SKALD_ASSIGN(const auto encoded, model->model().text.tokenizer.Encode(TextOf(text, bytes), parse, add));
    CopyTo(encoded, ids, capacity, count);
    return {};
  });
}

SKALD_INLINE skald_code skald_decode(const skald_model* model, const int32_t* ids, size_t count, char* text,
                                     size_t capacity, size_t* bytes, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_decode", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_decode", model, bytes));
    if (count > 0) SKALD_TRY(Need("skald_decode", ids));
    SKALD_ASSIGN(const auto decoded, model->model().text.tokenizer.Decode(std::span(ids, count)));
    CopyTo(decoded, text, capacity, bytes);
    return {};
  });
}

#undef SKALD_INTERNAL_C_TEXT
#undef SKALD_INTERNAL_C_TEXT_OF

#endif  // SKALD_C_DETAIL_MODELS_H_
