// SPDX-License-Identifier: Apache-2.0

#include "server/api/call.h"

namespace skald::serve {

ModelAtWork& Call::Use(const std::string& name, bool tries_again) const {
  if (!held) throw ApiErrorOfModel(held.error());
  if (*held != nullptr && (*held)->FindModel(name) != nullptr) return **held;
  held = service->models().Take(name);
  if (*held == nullptr) throw ModelWanted{name, tries_again};
  return **held;
}

ModelService& Call::model() const {
  const ModelAtWork& model = at_work();
  if (model.service != nullptr) return *model.service;
  throw ApiError{400, "the model '" + model.name() + "' embeds or ranks texts and writes none", "model"};
}

EncoderService* Call::encoder() const { return at_work().encoder.get(); }

}  // namespace skald::serve
