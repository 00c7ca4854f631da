// SPDX-License-Identifier: Apache-2.0
//
// Samplers, policies and drafters that a program writes in Python, as an engine calls them from its thread. A failure
// in one is an error where the engine has one to give; elsewhere sys.unraisablehook tells it.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_CALLBACKS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_CALLBACKS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/drafter.h"
#include "skald/sampling/token_sampler.h"
#include "values/held.h"

namespace skald::python {

/// A DrawContext with copies of what it refers to, so that it may be kept.
struct Drawing {
  std::vector<int32_t> tokens;
  size_t prompt_tokens;
  uint64_t position;
  SamplerSettings settings;
  SamplerState state;
  std::optional<std::vector<uint64_t>> allowed;
};

/// A DraftTask of the same kind.
struct Guessing {
  uint64_t sequence;
  std::vector<int32_t> tokens;
  uint32_t most;
};

/// Calls function(logits, drawing), which returns an id or a SampledToken.
AnySampler SamplerOf(nb::callable function);

/// Calls function(standing), which returns a level or an Urgency.
OwnPolicy PolicyOf(nb::callable function);

/// Calls function(tasks), which returns a list of guesses for each task.
std::shared_ptr<Drafter> DrafterOf(nb::callable function);

/// Binds the values that these functions get and give.
void BindEngineCallbacks(nb::module_& m);

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_ENGINE_ENGINE_CALLBACKS_H_
