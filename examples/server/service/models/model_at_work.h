// SPDX-License-Identifier: Apache-2.0
//
// ModelAtWork: a model that is loaded, and the facts of it that clients are told.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_

#include <cstdint>
#include <memory>
#include <string>

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

struct ModelAtWork {
  std::unique_ptr<ModelService> service;  // never null
  ModelFacts facts = {};
};

// A model that stays loaded as long as this lives.
using ModelLease = std::shared_ptr<ModelAtWork>;

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODEL_AT_WORK_H_
