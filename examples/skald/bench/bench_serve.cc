// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_serve.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "skald/model/workspace.h"
#if defined(SKALD_HAS_STORE)
#include "skald/engine/engine.h"
#endif

namespace skald::program {

#if defined(SKALD_HAS_STORE)

namespace {

Latency LatencyOf(std::vector<double> seconds) {
  if (seconds.empty()) return {0.0, 0.0, 0.0};
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    return seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.99), seconds.back()};
}

// Every vocabulary has so many tokens, and which ones they are does not matter; no two users begin alike.
Request RequestOf(uint32_t user, uint32_t prompt, uint32_t answer) {
  Request request;
  for (uint32_t i = 0; i < prompt; ++i) request.prompt.push_back(static_cast<int32_t>((i * 7 + user) % 200));
  request.sampler.temperature = 0.0f;
  request.max_tokens = answer;
  return request;
}

class Serving {
 public:
  Serving(Engine& engine, const ServeCase& serve_case) : engine_(engine), case_(serve_case) {}

  Result<ServeMeasurement> Run() {
    for (uint32_t user = 0; user < case_.users; ++user) {
      SKALD_ASSIGN(const auto id, engine_.Submit(RequestOf(user, case_.prompt, case_.answer)));
      users_[id] = {.submitted = SteadySeconds()};
    }
    while (engine_.has_work()) {
      SKALD_ASSIGN(auto report, engine_.Step());
      const double now = SteadySeconds();
      for (const Event& event : report.events) Note(event, now);
      if (all_write_ || !std::ranges::all_of(users_, [](const auto& user) { return user.second.last > 0.0; })) continue;
      all_write_ = now;
      if (case_.arrival > 0) {
        SKALD_ASSIGN(const auto id, engine_.Submit(RequestOf(case_.users, case_.arrival, 1)));
        arrival_ = id;
      }
    }
    const double seconds = last_token_ - all_write_.value_or(0.0);
    return ServeMeasurement{static_cast<double>(written_) / seconds, LatencyOf(first_), LatencyOf(between_)};
  }

 private:
  struct User {
    double submitted = 0.0, last = 0.0;  // seconds; the latter of its latest token
  };

  void Note(const Event& event, double now) {
    if (event.tokens.empty()) return;
    if (event.request == arrival_) is_over_ = true;
    const auto found = users_.find(event.request);
    if (found == users_.end()) return;
    User& user = found->second;
    if (user.last == 0.0) {
      first_.push_back(now - user.submitted);
    } else if (all_write_ && !is_over_) {
      between_.push_back(now - user.last);
    }
    user.last = now;
    if (!all_write_ || is_over_) return;
    written_ += event.tokens.size();
    last_token_ = now;
    is_over_ = event.finish.has_value();
  }

  Engine& engine_;
  const ServeCase case_;
  std::map<RequestId, User> users_;
  std::vector<double> first_, between_;
  std::optional<double> all_write_;  // since when they all do
  std::optional<RequestId> arrival_;
  bool is_over_ = false;  // the measurement: one is at its end, or the one that arrived writes too
  size_t written_ = 0;    // tokens while all write
  double last_token_ = 0.0;
};

}  // namespace

Result<ServeMeasurement> MeasureServing(const ProgramModel& model, const ServeCase& serve_case) {
  const RuntimeConfig runtime = {.max_tokens = std::max(serve_case.prompt + serve_case.answer, serve_case.arrival + 1),
                                 .kv_type = serve_case.kv_type};
  SKALD_ASSIGN(auto pool, model.CreatePool(runtime));
  SKALD_ASSIGN(auto workspace, CreateWorkspace({.threads = serve_case.threads}));
  EngineOptions options;
  options.max_running = serve_case.users + 1;
  options.step_seconds = serve_case.step_seconds;
  SKALD_ASSIGN(const auto engine, Engine::Create(model, std::move(pool), workspace, options));
  return Serving(*engine, serve_case).Run();
}

#else

Result<ServeMeasurement> MeasureServing(const ProgramModel&, const ServeCase&) {
  return Fail(ErrorCode::kUnsupported, "this program was built without skald::store, which engines need");
}

#endif

}  // namespace skald::program
