// SPDX-License-Identifier: Apache-2.0
//
// Runs an engine to its end, and holds every step to what it promises: rows are computed, or something is told.

#ifndef SKALD_TESTS_ENGINE_RUN_ENGINE_H_
#define SKALD_TESTS_ENGINE_RUN_ENGINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"

namespace skald::testing {

// The content of one answer.
struct Ended {
  std::vector<int32_t> tokens = {};
  std::optional<FinishReason> finish = {};
  std::optional<Error> error = {};
};

// Answers by request and sample.
using Endings = std::map<std::pair<RequestId, uint32_t>, Ended>;

// One step; what it tells is added to `endings`.
inline StepReport StepOnce(Engine& engine, Endings& endings) {
  auto report = engine.Step();
  REQUIRE_MESSAGE(report, report.error().message);
  const bool gets_on = report->rows > 0 || !report->events.empty();
  REQUIRE(gets_on);
  for (const Event& event : report->events) {
    Ended& ended = endings[{event.request, event.sample}];
    for (const SampledToken& token : event.tokens) ended.tokens.push_back(token.id);
    if (event.finish) ended.finish = event.finish;
    if (event.error) ended.error = event.error;
  }
  return *std::move(report);
}

inline Endings RunToTheEnd(Engine& engine) {
  Endings endings;
  while (engine.has_work()) StepOnce(engine, endings);
  return endings;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_ENGINE_RUN_ENGINE_H_
