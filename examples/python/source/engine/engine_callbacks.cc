// SPDX-License-Identifier: Apache-2.0

#include "engine/engine_callbacks.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "bind.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

template <class T>
std::vector<T> VectorOf(std::span<const T> values) {
  return {values.begin(), values.end()};
}

struct PythonSampler {
  Result<SampledToken> Draw(std::span<const float> logits, const DrawContext& context, SamplerScratch&) const {
    return CallPython<SampledToken>("the sampler", [&] {
      Drawing drawing{VectorOf(context.tokens), context.prompt_tokens, context.position,
                      context.settings,         context.state,         {}};
      if (context.allowed) drawing.allowed = VectorOf(*context.allowed);
      const nb::object drawn = (*function)(ArrayOf(VectorOf(logits)), std::move(drawing));
      if (nb::isinstance<SampledToken>(drawn)) return nb::cast<SampledToken>(drawn);
      return SampledToken{.id = nb::cast<int32_t>(nb::int_(drawn)), .logprob = {}, .top_logprobs = {}};
    });
  }

  Held function;
};

class PythonDrafter final : public Drafter {
 public:
  explicit PythonDrafter(Held function) : function_(std::move(function)) {}

  Result<void> Draft(std::span<DraftTask> tasks) override {
    return CallPython<void>("the drafter", [&]() -> Result<void> {
      nb::list given;
      for (const DraftTask& task : tasks) given.append(Guessing{task.sequence, VectorOf(task.tokens), task.most});
      const auto drafts = nb::cast<std::vector<std::vector<int32_t>>>((*function_)(given));
      if (drafts.size() != tasks.size()) {
        return Fail(ErrorCode::kInvalidArgument, "the drafter returned " + std::to_string(drafts.size()) +
                                                     " lists of guesses, expected " + std::to_string(tasks.size()));
      }
      for (size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].drafts = drafts[i];
        if (tasks[i].drafts.size() > tasks[i].most) tasks[i].drafts.resize(tasks[i].most);
      }
      return {};
    });
  }

 private:
  Held function_;
};

}  // namespace

AnySampler SamplerOf(nb::callable function) { return PythonSampler{Hold(std::move(function))}; }

OwnPolicy PolicyOf(nb::callable function) {
  return [held = Hold(std::move(function))](const Standing& standing) -> Urgency {
    nb::gil_scoped_acquire gil;
    try {
      const nb::object urgency = (*held)(standing);
      if (nb::isinstance<Urgency>(urgency)) return nb::cast<Urgency>(urgency);
      return {.level = nb::cast<double>(nb::float_(urgency)), .since = standing.arrival};
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable("a policy of skald.Engine");
    }
    throw std::runtime_error("the policy raised an exception");
  };
}

std::shared_ptr<Drafter> DrafterOf(nb::callable function) {
  return std::make_shared<PythonDrafter>(Hold(std::move(function)));
}

void BindEngineCallbacks(nb::module_& m) {
  nb::class_<Drawing>(m, "DrawContext", Doc("DrawContext"))
      .def_prop_ro(
          "tokens", [](const Drawing& self) { return ArrayOf(self.tokens); }, Doc("DrawContext::tokens"))
      .def_ro("prompt_tokens", &Drawing::prompt_tokens, Doc("DrawContext::prompt_tokens"))
      .def_ro("position", &Drawing::position, Doc("DrawContext::position"))
      .def_ro("settings", &Drawing::settings, Doc("DrawContext::settings"))
      .def_ro("state", &Drawing::state, Doc("DrawContext::state"))
      .def_prop_ro(
          "allowed",
          [](const Drawing& self) -> std::optional<Array<uint64_t>> {
            if (!self.allowed) return std::nullopt;
            return ArrayOf(*self.allowed);
          },
          Doc("DrawContext::allowed"))
      .def(
          "sample",
          [](const Drawing& self, const FloatVector& logits) {
            SamplerScratch scratch;
            std::optional<std::span<const uint64_t>> allowed;
            if (self.allowed) allowed.emplace(*self.allowed);
            return Take(
                Sample({logits.data(), logits.size()}, self.settings, self.state, self.position, scratch, allowed));
          },
          nb::arg("logits").noconvert(),
          "Draws as the request's own settings say: for samplers that change the logits.");
  nb::class_<Standing>(m, "Standing", Doc("Standing"))
      .def_ro("arrival", &Standing::arrival, Doc("Standing::arrival"))
      .def_ro("priority", &Standing::priority, Doc("Standing::priority"))
      .def_ro("tokens", &Standing::tokens, Doc("Standing::tokens"))
      .def_ro("served", &Standing::served, Doc("Standing::served"))
      .def_ro("before", &Standing::before, Doc("Standing::before"))
      .def_ro("held", &Standing::held, Doc("Standing::held"))
      .def_ro("deadline", &Standing::deadline, Doc("Standing::deadline"));
  nb::class_<Urgency>(m, "Urgency", Doc("Urgency"))
      .def(
          "__init__",
          [](Urgency* self, double level, double since, bool displaces) {
            new (self) Urgency{level, since, displaces};
          },
          "level"_a, "since"_a = 0.0, "displaces"_a = false)
      .def_ro("level", &Urgency::level, Doc("Urgency::level"))
      .def_ro("since", &Urgency::since, Doc("Urgency::since"))
      .def_ro("displaces", &Urgency::displaces, Doc("Urgency::displaces"));
  nb::class_<Guessing>(m, "DraftTask", Doc("DraftTask"))
      .def_ro("sequence", &Guessing::sequence, Doc("DraftTask::sequence"))
      .def_prop_ro(
          "tokens", [](const Guessing& self) { return ArrayOf(self.tokens); }, Doc("DraftTask::tokens"))
      .def_ro("most", &Guessing::most, Doc("DraftTask::most"));
}

}  // namespace skald::python
