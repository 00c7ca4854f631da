// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "bind.h"
#include "model/ranks.h"
#include "model/watching.h"
#include "skald/cache/steps/batch.h"
#include "skald/model/any_model.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"
#include "state/objects.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

using Adapters = std::vector<std::shared_ptr<Adapter>>;
using Wants = std::variant<Want, std::vector<Want>>;

const AnyModel& ModelOf(const AnyModel& model) { return model; }
const RankedModel& ModelOf(const Lead& lead) { return lead.value; }

// The outputs of a batch, with their memory.
struct Rows {
  Outputs outputs;
  std::shared_ptr<OutputBuffers> memory;
  bool is_writable;

  Array<float> At(Py_ssize_t index) const {
    const auto size = static_cast<Py_ssize_t>(outputs.size());
    if (index < -size || index >= size) throw nb::index_error("no such output");
    const std::span<const float> row = outputs[static_cast<size_t>(index < 0 ? index + size : index)];
    return ArrayOf(const_cast<float*>(row.data()), {row.size()}, memory, is_writable);
  }
};

ForwardOptions OptionsOf(uint32_t pass_tokens, const Adapters& adapters) {
  ForwardOptions options;
  options.pass_tokens = pass_tokens;
  for (const auto& adapter : adapters) options.adapters.push_back(adapter.get());
  return options;
}

// Computes with a workspace, without the GIL, and takes its outputs' memory. `call` returns a Result.
template <class Call>
auto Compute(Computer& computer, Watching& watching, Call call) {
  computer.TakeBack();
  auto result = [&] {
    nb::gil_scoped_release release;
    return call(computer.workspace);
  }();
  watching.End(computer.workspace);
  return watching.Take(std::move(result));
}

template <class Model>
Array<float> ForwardOne(const Model& model, const std::shared_ptr<Cache>& cache, TokenIds tokens, Computer& computer,
                        uint32_t pass_tokens, const Hooks& hooks, const Adapters& adapters, bool writable) {
  const std::vector<int32_t> ids = tokens.Read();
  const OneUser computing = computer.Use(), changing = cache->Use();
  Watching watching;
  ForwardOptions options = OptionsOf(pass_tokens, adapters);
  options.hooks = watching.Watch(hooks);
  const std::span<const float> logits = Compute(computer, watching, [&](Workspace& workspace) {
    return ModelOf(model).Forward(cache->value, ids, workspace, options);
  });
  return ArrayOf(const_cast<float*>(logits.data()), {logits.size()}, computer.Lend(), writable);
}

template <class Model>
Rows ForwardBatch(const Model& model, const Requests& requests, Computer& computer, uint32_t pass_tokens,
                  const Hooks& hooks, const Adapters& adapters, bool writable) {
  const OneUser computing = computer.Use();
  const std::vector<Requests::Request> kept = requests.requests;  // another thread may add to it
  std::deque<OneUser> changing;
  std::vector<Cache*> used;
  Batch batch;
  for (const Requests::Request& request : kept) {
    Cache* const cache = request.cache.get();
    if (std::ranges::find(used, cache) == used.end()) {  // the library says why a cache may not be there twice
      changing.emplace_back(cache->in_use, "the cache");
      used.push_back(cache);
    }
    batch.Add(cache->value, request.tokens, request.wants);
  }
  Watching watching;
  ForwardOptions options = OptionsOf(pass_tokens, adapters);
  options.hooks = watching.Watch(hooks);
  Outputs outputs = Compute(computer, watching,
                            [&](Workspace& workspace) { return ModelOf(model).Forward(batch, workspace, options); });
  return {std::move(outputs), computer.Lend(), writable};
}

// The hidden rows of each whole text, [tokens, model_dim]; none if a hook ended the call.
std::vector<Array<float>> EncodeTexts(const AnyModel& model, nb::list texts, Computer& computer,
                                      std::optional<nb::list> types, const Hooks& hooks, bool writable) {
  const size_t count = texts.size();
  if (types && types->size() != count) Raise(ErrorCode::kInvalidArgument, "`types` needs an element for each text");
  std::vector<std::vector<int32_t>> tokens, kinds(count);
  std::vector<std::vector<Want>> wants;
  std::vector<WholeText> whole;
  for (size_t i = 0; i < count; ++i) {
    tokens.push_back(TokenIds{texts[i]}.Read());
    if (types) kinds[i] = TokenIds{(*types)[i]}.Read();
    wants.emplace_back(tokens[i].size(), Want::kHidden);
  }
  for (size_t i = 0; i < count; ++i) whole.push_back({tokens[i], wants[i], kinds[i]});
  const OneUser computing = computer.Use();
  Watching watching;
  ForwardOptions options;
  options.hooks = watching.Watch(hooks);
  const Outputs outputs =
      Compute(computer, watching, [&](Workspace& workspace) { return model.Encode(whole, workspace, options); });
  std::vector<Array<float>> rows;
  if (outputs.stopped()) return rows;
  const auto memory = computer.Lend();
  size_t first = 0;
  for (const auto& ids : tokens) {
    const std::span<const float> row = outputs[first];
    rows.push_back(ArrayOf(const_cast<float*>(row.data()), {ids.size(), row.size()}, memory, writable));
    first += ids.size();
  }
  return rows;
}

Rows LogitsOf(const AnyModel& model, const FloatRows& residual, Computer& computer) {
  const OneUser computing = computer.Use();
  Watching watching;
  Outputs outputs = Compute(computer, watching, [&](Workspace& workspace) {
    return model.Logits({residual.data(), residual.size()}, workspace);
  });
  return {std::move(outputs), computer.Lend(), false};
}

void BindBatch(nb::module_& m) {
  nb::enum_<Want>(m, "Want", Doc("Want"))
      .value("NOTHING", Want::kNothing, Doc("Want::kNothing"))
      .value("LOGITS", Want::kLogits, Doc("Want::kLogits"))
      .value("HIDDEN", Want::kHidden, Doc("Want::kHidden"));
  nb::class_<Requests>(m, "Batch", "Tokens of one or more conversations for one `forward`.")
      .def(nb::init<>())
      .def("__len__", [](const Requests& self) { return self.requests.size(); })
      .def(
          "add",
          [](Requests& self, std::shared_ptr<Cache> cache, TokenIds tokens, const Wants& wants) -> Requests& {
            Requests::Request request{std::move(cache), tokens.Read(), {}};
            if (const auto* each = std::get_if<std::vector<Want>>(&wants)) {
              request.wants = *each;
            } else if (!request.tokens.empty()) {
              request.wants.resize(request.tokens.size(), Want::kNothing);
              request.wants.back() = std::get<Want>(wants);
            }
            self.requests.push_back(std::move(request));
            return self;
          },
          "cache"_a, "tokens"_a, "wants"_a = Want::kLogits, nb::rv_policy::reference, nb::lock_self(),
          "Appends `tokens` to the conversation in `cache`. `wants` is that of the last of them, or one for each.");
}

// `forward` of one conversation and of a batch.
template <class Model>
void BindForwards(nb::module_& m, const char* name) {
  nb::borrow<nb::class_<Model>>(m.attr(name))
      .def("forward", &ForwardOne<Model>, "cache"_a, "tokens"_a, "workspace"_a, nb::kw_only(), "pass_tokens"_a = 512,
           "hooks"_a = Hooks(), "adapters"_a = Adapters(), "writable"_a = false,
           "Appends `tokens` to `cache` and returns the logits [vocab_size] for the token that follows; none if a hook "
           "ended the step.")
      .def("forward", &ForwardBatch<Model>, nb::arg("batch").lock(), "workspace"_a, nb::kw_only(),
           "pass_tokens"_a = 512, "hooks"_a = Hooks(), "adapters"_a = Adapters(), "writable"_a = false,
           Doc("AnyModel::Forward"));
}

}  // namespace

void BindForward(nb::module_& m) {
  nb::class_<Computer>(m, "Workspace", "Memory and threads to compute with. Used by one thread at a time.")
      .def(nb::new_([](std::optional<uint32_t> threads) {
             WorkspaceOptions options;
             if (threads) options.threads = *threads;
             return std::make_shared<Computer>(Take(CreateWorkspace(options)));
           }),
           "threads"_a = nb::none(), Doc("CreateWorkspace"));
  BindBatch(m);
  BindWatching(m);
  nb::class_<Rows>(m, "Outputs", "The outputs of a batch, in the order in which rows that want something were added.")
      .def("__len__", [](const Rows& self) { return self.outputs.size(); })
      .def_prop_ro(
          "stopped", [](const Rows& self) { return self.outputs.stopped(); }, Doc("Outputs::stopped"))
      .def("__getitem__", &Rows::At, "index"_a);
  BindForwards<AnyModel>(m, "Model");
  BindForwards<Lead>(m, "RankedModel");
  nb::borrow<nb::class_<AnyModel>>(m.attr("Model"))
      .def("encode", &EncodeTexts, "texts"_a, "workspace"_a, nb::kw_only(), "types"_a = nb::none(), "hooks"_a = Hooks(),
           "writable"_a = false,
           nb::sig("def encode(self, texts: list[typing.Any], workspace: Workspace, *, types: list[typing.Any] | None "
                   "= None, hooks: collections.abc.Sequence[Hook | tuple[str, collections.abc.Callable]] = (), "
                   "writable: bool = False) -> list[numpy.typing.NDArray[numpy.float32]]"),
           Doc("AnyModel::Encode"))
      .def("logits", &LogitsOf, nb::arg("residual").noconvert(), "workspace"_a, Doc("AnyModel::Logits"));
}

}  // namespace skald::python
