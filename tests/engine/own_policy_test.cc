// SPDX-License-Identifier: Apache-2.0
//
// Policies of the caller's own: they decide the order, and nothing else.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/engine.h"
#include "skald/engine/plan/policy.h"
#include "tests/engine/alone.h"
#include "tests/engine/run_engine.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace own_policy_test {

// The earliest deadline goes first, and takes the places of those that have more time.
struct EarliestDeadline {
  double without_deadline;

  Urgency operator()(const Standing& standing) const {
    return {0.0, standing.deadline.value_or(standing.arrival + without_deadline), /*displaces=*/true};
  }
};

// Requests on an engine with one place.
class OnePlace {
 public:
  explicit OnePlace(OwnPolicy policy) {
    EngineOptions options;
    options.max_running = 1;
    options.step_tokens = 16;
    options.policy.own = std::move(policy);
    options.clock = [this] { return now_; };
    auto engine = Engine::Create(model_, NewPool(small_, {.max_tokens = kMaxContext}), workspace_, options);
    REQUIRE(engine);
    engine_ = std::move(*engine);
  }

  RequestId Submit(uint32_t seed, std::optional<double> deadline, std::string tenant = {}) {
    Request request;
    request.prompt = RandomTokens(small_, seed, 20);
    request.max_tokens = 5;
    request.deadline = deadline;
    request.tenant = std::move(tenant);
    expected_.push_back(Alone(model_, request, 0, 5, workspace_).tokens);
    ids_.push_back(*engine_->Submit(std::move(request)));
    return ids_.back();
  }

  void Step() { StepOnce(*engine_, endings_); }

  // Runs to the end and returns the requests in the order of their ends.
  std::vector<RequestId> Order() {
    std::vector<RequestId> order;
    while (engine_->has_work()) {
      now_ += 1.0;
      for (const Event& event : StepOnce(*engine_, endings_).events) {
        if (event.finish) order.push_back(event.request);
      }
    }
    for (size_t i = 0; i < ids_.size(); ++i) CHECK(endings_[{ids_[i], 0}].tokens == expected_[i]);
    return order;
  }

 private:
  const SmallModel& small_ = SmallModelNamed("one-layer");
  const RandomModel model_{small_, 5};
  Workspace workspace_ = *CreateWorkspace({.threads = 1});
  double now_ = 0.0;
  std::unique_ptr<Engine> engine_;
  std::vector<RequestId> ids_;
  std::vector<std::vector<int32_t>> expected_;
  Endings endings_;
};

TEST_CASE("a policy of the caller's own orders requests, and answers are what they would be alone") {
  OnePlace place(EarliestDeadline{1e6});
  const RequestId late = place.Submit(1, 3000.0);
  place.Step();
  place.Step();
  const RequestId never = place.Submit(2, {});
  const RequestId early = place.Submit(3, 1000.0);  // displaces the one that runs
  CHECK(place.Order() == std::vector<RequestId>{early, late, never});
}

TEST_CASE("a policy of the caller's own sees tenants") {
  OnePlace place([](const Standing& standing) { return Urgency{standing.tenant == "paying" ? 0.0 : 1.0}; });
  const RequestId other = place.Submit(1, {}, "other");
  const RequestId paying = place.Submit(2, {}, "paying");
  CHECK(place.Order() == std::vector<RequestId>{paying, other});
}

TEST_CASE("numbers that are none come last") {
  const PolicyOptions options = {.own = [](const Standing& standing) {
    return Urgency{standing.priority > 0 ? NAN : 0.0, standing.priority > 1 ? NAN : 1.0};
  }};
  CHECK(UrgencyOf({.priority = 0}, options) < UrgencyOf({.priority = 1}, options));
  CHECK(UrgencyOf({.priority = 1}, options) < UrgencyOf({.priority = 2}, options));
  CHECK(UrgencyOf({.priority = 2}, options) == UrgencyOf({.priority = 3}, options));
}

#if defined(__cpp_exceptions)
TEST_CASE("a policy that throws leaves the order of arrival") {
  OnePlace place([](const Standing&) -> Urgency { throw std::runtime_error("no opinion"); });
  const RequestId first = place.Submit(1, {});
  const RequestId second = place.Submit(2, {});
  CHECK(place.Order() == std::vector<RequestId>{first, second});
}
#endif

}  // namespace own_policy_test
}  // namespace skald::testing
