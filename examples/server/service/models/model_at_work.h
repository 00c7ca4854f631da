// SPDX-License-Identifier: Apache-2.0
//
// ModelAtWork: a model that is loaded, and the facts of it that clients are told.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/service/encoders/encoder_service.h"
#include "skald/base/numbers/numeric.h"
#include "skald/serving/model_service.h"

namespace skald::serve {

// Facts of a model that clients are told, beside its name and text.
struct ModelFacts {
  std::string family = {};       // as its files name it
  uint64_t parameters = 0;       // numbers in all tensors
  uint64_t bytes = 0;            // of them
  DType type = DType::kBF16;     // of its matrices
  uint32_t trained_context = 0;  // tokens of the texts that it learned from; 0: not known
};

// One of the two services is there.
struct ModelAtWork {
  std::unique_ptr<ModelService> service;  // of a model that writes; null for one that embeds or ranks texts
  ModelFacts facts = {};
  std::unique_ptr<EncoderService> encoder = {};  // of that one

  // The model's own name.
  const std::string& name() const { return service ? service->served().name : encoder->named().name; }
  // The model with an adapter, or alone, by the name that clients call it; null for another name.
  const NamedModel* FindModel(std::string_view name) const {
    if (service != nullptr) return service->FindModel(name);
    return encoder->named().name == name ? &encoder->named() : nullptr;
  }
  // Tokens of a conversation, or of a text that is embedded.
  uint32_t context() const { return service ? service->context() : encoder->encoder().facts().longest_text; }
  // Takes no more work.
  void Stop() const {
    if (service != nullptr) service->Stop(std::chrono::milliseconds(0));
    if (encoder != nullptr) encoder->Stop();
  }
};

// A model that stays loaded as long as this lives.
using ModelLease = std::shared_ptr<ModelAtWork>;

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_
