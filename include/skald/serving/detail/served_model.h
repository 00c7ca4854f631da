// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/serving/served_model.h.

#ifndef SKALD_SERVING_DETAIL_SERVED_MODEL_H_
#define SKALD_SERVING_DETAIL_SERVED_MODEL_H_

#include "skald/serving/served_model.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/distributed/ranked_model.h"

namespace skald {

namespace internal {

// A model and the ranks that compute it, at one address.
struct OwnedModel {
  explicit OwnedModel(AnyModel owned) : model(std::move(owned)) {}

  AnyModel model;
  std::optional<RankedModel> ranked = {};  // refers to `model`
};

}  // namespace internal

SKALD_INLINE Result<void> CheckAdapters(std::string_view name, const std::vector<NamedAdapter>& adapters) {
  return NoThrow("adapters", [&]() -> Result<void> {
    for (size_t i = 0; i < adapters.size(); ++i) {
      bool is_taken = adapters[i].name == name;
      for (size_t k = 0; k < i && !is_taken; ++k) {
        is_taken = adapters[k].name == adapters[i].name;
        if (is_taken || adapters[k].adapter.digest != adapters[i].adapter.digest) continue;
        return Fail(ErrorCode::kInvalidArgument,
                    "'" + adapters[k].name + "' and '" + adapters[i].name + "' are the same adapter");
      }
      if (!is_taken) continue;
      return Fail(ErrorCode::kInvalidArgument, "'" + adapters[i].name + "' is the name of another model");
    }
    return {};
  });
}

SKALD_INLINE Result<ServedModel> ServeModel(LanguageModel model, ServedModelOptions options) {
  return NoThrow("a model to be served", [&]() -> Result<ServedModel> {
    std::string name = options.name.empty() ? std::move(model.info.name) : std::move(options.name);
    SKALD_TRY(CheckAdapters(name, options.adapters));
    const auto owned = std::make_shared<internal::OwnedModel>(std::move(model.model));
    if (options.ranks) {
      SKALD_ASSIGN(auto ranked, RankedModel::Create(owned->model, *options.ranks));
      owned->ranked.emplace(std::move(ranked));
    }
    SKALD_ASSIGN(auto pool, owned->ranked ? owned->ranked->CreatePool(options.runtime)
                                          : CreateBlockPool(LayoutOf(owned->model.spec()), options.runtime));
    return ServedModel{.name = std::move(name),
                       .owner = owned,
                       .model = owned->ranked ? ModelRef(*owned->ranked) : ModelRef(owned->model),
                       .model_dim = owned->model.spec().model_dim,
                       .text = std::move(model.text),
                       .pool = std::move(pool),
                       .identity = std::move(options.identity),
                       .adapters = std::move(options.adapters)};
  });
}

}  // namespace skald

#endif  // SKALD_SERVING_DETAIL_SERVED_MODEL_H_
