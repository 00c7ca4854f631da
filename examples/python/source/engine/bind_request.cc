// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "engine/engine_callbacks.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/request.h"
#include "text/filters.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

void InitRequest(Request* self, TokenIds prompt, const SamplerSettings& sampler,
                 std::optional<nb::callable> own_sampler, bool penalize_prompt, uint32_t samples,
                 std::optional<uint32_t> max_tokens, std::vector<int32_t> end_tokens,
                 std::vector<std::string> stop_strings, std::optional<size_t> prompt_logprobs,
                 std::optional<PromptEmbedding> embedding, bool special_text, nb::object filter,
                 std::optional<uint32_t> max_drafts, std::string tenant, std::optional<std::string> salt,
                 int32_t priority, std::optional<double> deadline, std::vector<uint32_t> branch_points,
                 std::string note, const Adapter* adapter) {
  Request request;
  request.prompt = prompt.Read();
  request.sampler = sampler;
  if (own_sampler) request.own_sampler = SamplerOf(*own_sampler);
  request.penalize_prompt = penalize_prompt;
  request.samples = samples;
  request.max_tokens = max_tokens;
  request.end_tokens = std::move(end_tokens);
  request.stop_strings = std::move(stop_strings);
  request.prompt_logprobs = prompt_logprobs;
  request.embedding = embedding;
  request.special_text = special_text;
  if (!filter.is_none()) request.filter = FilterOf(filter);
  if (max_drafts) request.max_drafts = *max_drafts;
  request.tenant = std::move(tenant);
  request.salt = std::move(salt);
  request.priority = priority;
  request.deadline = deadline;
  request.branch_points = std::move(branch_points);
  request.note = std::move(note);
  if (adapter != nullptr) request.adapter = adapter->digest;
  new (self) Request(std::move(request));
}

void BindEvent(nb::module_& m) {
  nb::enum_<FinishReason>(m, "FinishReason", "Why an answer ended.")
      .value("END_TOKEN", FinishReason::kEndToken, Doc("FinishReason::kEndToken"))
      .value("STOP_STRING", FinishReason::kStopString, Doc("FinishReason::kStopString"))
      .value("MAX_TOKENS", FinishReason::kMaxTokens, Doc("FinishReason::kMaxTokens"))
      .value("FILTER", FinishReason::kFilter, Doc("FinishReason::kFilter"))
      .value("EMBEDDING", FinishReason::kEmbedding, Doc("FinishReason::kEmbedding"))
      .value("CANCELLED", FinishReason::kCancelled)
      .value("DEADLINE", FinishReason::kDeadline)
      .value("ERROR", FinishReason::kError, Doc("FinishReason::kError"));
  nb::class_<Usage>(m, "Usage", Doc("Usage"))
      .def_ro("prompt_tokens", &Usage::prompt_tokens, Doc("Usage::prompt_tokens"))
      .def_ro("cached_tokens", &Usage::cached_tokens, Doc("Usage::cached_tokens"))
      .def_ro("generated_tokens", &Usage::generated_tokens, Doc("Usage::generated_tokens"))
      .def_ro("drafted_tokens", &Usage::drafted_tokens, Doc("Usage::drafted_tokens"))
      .def_ro("accepted_tokens", &Usage::accepted_tokens, Doc("Usage::accepted_tokens"))
      .def_ro("preemptions", &Usage::preemptions, Doc("Usage::preemptions"))
      .def_ro("submitted", &Usage::submitted, Doc("Usage::submitted"))
      .def_ro("first_token", &Usage::first_token, Doc("Usage::first_token"))
      .def_ro("finished", &Usage::finished, Doc("Usage::first_token"));
  nb::class_<Event>(m, "Event", Doc("Event"))
      .def_ro("request", &Event::request, Doc("Event::request"))
      .def_ro("sample", &Event::sample, Doc("Event::sample"))
      .def_ro("tokens", &Event::tokens, Doc("Event::tokens"))
      .def_ro("prompt_tokens", &Event::prompt_tokens, Doc("Event::prompt_tokens"))
      .def_prop_ro(
          "embedding", [](const Event& self) { return ArrayOf(self.embedding); }, Doc("Event::embedding"))
      .def_ro("text", &Event::text, Doc("Event::text"))
      .def_ro("finish", &Event::finish, Doc("Event::finish"))
      .def_ro("stop_string", &Event::stop_string, Doc("Event::stop_string"))
      .def_prop_ro(
          "error", [](const Event& self) { return self.error ? ExceptionOf(*self.error) : nb::none(); },
          nb::sig("def error(self) -> Error | None"), Doc("Event::error"))
      .def_ro("usage", &Event::usage, Doc("Event::usage"));
}

}  // namespace

void BindRequest(nb::module_& m) {
  nb::enum_<PromptEmbedding>(m, "PromptEmbedding", Doc("PromptEmbedding"))
      .value("LAST", PromptEmbedding::kLast)
      .value("MEAN", PromptEmbedding::kMean);
  BindEvent(m);
  BindEngineCallbacks(m);
  nb::class_<Request>(m, "Request", Doc("Request"))
      .def("__init__", &InitRequest, "prompt"_a, nb::kw_only(), "sampler"_a = SamplerSettings(),
           "own_sampler"_a = nb::none(), "penalize_prompt"_a = false, "samples"_a = 1, "max_tokens"_a = nb::none(),
           "end_tokens"_a = std::vector<int32_t>(), "stop_strings"_a = std::vector<std::string>(),
           "prompt_logprobs"_a = nb::none(), "embedding"_a = nb::none(), "special_text"_a = false,
           "filter"_a = nb::none(), "max_drafts"_a = nb::none(), "tenant"_a = "", "salt"_a = nb::none(),
           "priority"_a = 0, "deadline"_a = nb::none(), "branch_points"_a = std::vector<uint32_t>(), "note"_a = "",
           "adapter"_a = nb::none(),
           "`own_sampler` is a function of (logits, DrawContext) that returns an id or a SampledToken; `filter` a "
           "TokenFilter, or an object of your own with its methods.")
      .def_prop_ro(
          "prompt", [](const Request& self) { return ArrayOf(self.prompt); }, Doc("Request::prompt"))
      .def_ro("note", &Request::note, Doc("Request::note"))
      .def_ro("tenant", &Request::tenant, Doc("Request::tenant"));
  nb::class_<EngineStats>(m, "EngineStats", Doc("EngineStats"))
      .def_ro("waiting", &EngineStats::waiting, "samples that wait, now")
      .def_ro("running", &EngineStats::running, "samples that run, now")
      .def_ro("steps", &EngineStats::steps, "steps so far")
      .def_ro("rows", &EngineStats::rows, "rows that were computed so far")
      .def_ro("generated_tokens", &EngineStats::generated_tokens, Doc("EngineStats::generated_tokens"))
      .def_ro("drafted_tokens", &EngineStats::drafted_tokens, "guesses that were checked so far")
      .def_ro("accepted_tokens", &EngineStats::accepted_tokens, "guesses that were right so far")
      .def_ro("prompt_tokens", &EngineStats::prompt_tokens, Doc("EngineStats::prompt_tokens"))
      .def_ro("cached_tokens", &EngineStats::cached_tokens, "prompts' tokens that were known before")
      .def_ro("preemptions", &EngineStats::preemptions, Doc("EngineStats::preemptions"));
}

}  // namespace skald::python
