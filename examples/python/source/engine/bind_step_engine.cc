// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bind.h"
#include "engine/engine_callbacks.h"
#include "engine/engine_parts.h"
#include "skald/engine/engine.h"
#include "text/filters.h"
#include "values/errors.h"
#include "values/held.h"

namespace skald::python {

namespace {

// An engine that its caller steps.
class StepEngine {
 public:
  explicit StepEngine(std::unique_ptr<EngineParts> parts) : parts_(std::move(parts)) {}

  // Calls `function` with the engine, without the GIL, for one user at a time.
  template <class Function>
  auto With(Function function) {
    parts_->CheckHere();
    const OneUser use(in_use_, "the engine");
    nb::gil_scoped_release release;
    return function(*parts_->engine);
  }

  const EngineParts& parts() const { return *parts_; }

 private:
  const std::unique_ptr<EngineParts> parts_;
  std::atomic<bool> in_use_ = false;
};

struct MakeStepEngine {
  std::shared_ptr<StepEngine> operator()(std::unique_ptr<EngineParts> parts) const {
    return std::make_shared<StepEngine>(std::move(parts));
  }
};

// Functions of Python that make what could not be written down, from the request.
FilterMaker FilterMakerOf(const std::optional<nb::callable>& function) {
  if (!function) return {};
  return [held = Hold(*function)](const Request& request) {
    return CallPython<std::shared_ptr<const TokenFilter>>(
        "make_filter", [&]() -> Result<std::shared_ptr<const TokenFilter>> { return FilterOf((*held)(request)); });
  };
}

SamplerMaker SamplerMakerOf(const std::optional<nb::callable>& function) {
  if (!function) return {};
  return [held = Hold(*function)](const Request& request) {
    return CallPython<AnySampler>(
        "make_sampler", [&]() -> Result<AnySampler> { return SamplerOf(nb::cast<nb::callable>((*held)(request))); });
  };
}

}  // namespace

void BindStepEngine(nb::module_& m) {
  nb::class_<StepEngine> bound(m, "StepEngine",
                               "Many requests on one model, without a thread of its own: the caller steps it. One "
                               "thread at a time.");
  DefEngine<MakeStepEngine>(bound);
  bound
      .def(
          "submit",
          [](StepEngine& self, const Request& request) {
            return self.With([&](Engine& engine) { return Take(engine.Submit(request)); });
          },
          "request"_a, Doc("Engine::Submit"))
      .def(
          "step", [](StepEngine& self) { return self.With([](Engine& engine) { return Take(engine.Step()).events; }); },
          Doc("Engine::Step"))
      .def(
          "cancel", [](StepEngine& self, RequestId id) { self.With([&](Engine& engine) { engine.Cancel(id); }); },
          "id"_a, Doc("Engine::Cancel"))
      .def(
          "pause",
          [](StepEngine& self, RequestId id, bool is_paused) {
            self.With([&](Engine& engine) { engine.Pause(id, is_paused); });
          },
          "id"_a, "is_paused"_a = true, Doc("Engine::Pause"))
      .def(
          "suspend",
          [](StepEngine& self) {
            const auto bytes = self.With([](Engine& engine) { return Take(engine.Suspend()); });
            return nb::bytes(bytes.data(), bytes.size());
          },
          Doc("Engine::Suspend"))
      .def(
          "resume",
          [](StepEngine& self, const nb::bytes& bytes, const std::optional<nb::callable>& make_filter,
             const std::optional<nb::callable>& make_sampler) {
            const FilterMaker filters = FilterMakerOf(make_filter);
            const SamplerMaker samplers = SamplerMakerOf(make_sampler);
            const std::span<const std::byte> written(static_cast<const std::byte*>(bytes.data()), bytes.size());
            return self.With([&](Engine& engine) { return Take(engine.Resume(written, filters, samplers)); });
          },
          "bytes"_a, "make_filter"_a = nb::none(), "make_sampler"_a = nb::none(), Doc("Engine::Resume"))
      .def(
          "check", [](const StepEngine& self, const Request& request) { Take(self.parts().engine->Check(request)); },
          "request"_a, Doc("Engine::Check"))
      .def_prop_ro(
          "has_work", [](StepEngine& self) { return self.With([](Engine& engine) { return engine.has_work(); }); },
          Doc("Engine::has_work"))
      .def_prop_ro(
          "stats", [](StepEngine& self) { return self.With([](Engine& engine) { return engine.stats(); }); },
          Doc("Engine::stats"))
      .def_prop_ro(
          "capacity", [](const StepEngine& self) { return self.parts().engine->capacity(); }, Doc("Engine::capacity"))
      .def_prop_ro(
          "pool", [](const StepEngine& self) { return self.parts().pool; }, "The pool of its caches.");
}

}  // namespace skald::python
