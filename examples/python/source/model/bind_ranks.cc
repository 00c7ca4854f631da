// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "model/ranks.h"
#include "skald/distributed/follow_ranks.h"
#include "state/objects.h"
#include "values/errors.h"

namespace skald::python {

Ranks::Ranks(nb::object object) : share_{nb::cast<size_t>(object.attr("rank")), nb::cast<size_t>(object.attr("size"))} {
  if (share_.ranks == 0 || share_.rank >= share_.ranks) {
    Raise(ErrorCode::kInvalidArgument,
          "ranks: rank " + std::to_string(share_.rank) + " of " + std::to_string(share_.ranks) + " is not one of them");
  }
  object_ = Hold(std::move(object));
}

Result<void> Ranks::AllGather(std::span<std::byte> all, std::span<const size_t> begins) {
  return CallPython<void>("all_gather()", [&]() -> Result<void> {
    const nb::object view = nb::steal(
        PyMemoryView_FromMemory(reinterpret_cast<char*>(all.data()), static_cast<Py_ssize_t>(all.size()), PyBUF_WRITE));
    object_->attr("all_gather")(view, std::vector<size_t>(begins.begin(), begins.end()));
    view.attr("release")();  // a view that is kept shows nothing
    return {};
  });
}

Result<void> Ranks::Broadcast(std::vector<std::byte>& bytes) {
  return CallPython<void>("broadcast()", [&]() -> Result<void> {
    const nb::object sent =
        share_.rank == 0 ? nb::object(nb::bytes(bytes.data(), bytes.size())) : nb::object(nb::none());
    const auto got = nb::cast<nb::bytes>(object_->attr("broadcast")(sent));
    const auto* first = static_cast<const std::byte*>(got.data());
    bytes.assign(first, first + got.size());
    return {};
  });
}

Result<void> Ranks::Wait() {
  return CallPython<void>("wait()", [&]() -> Result<void> {
    object_->attr("wait")();
    return {};
  });
}

void BindRanks(nb::module_& m) {
  nb::class_<Ranks>(m, "Ranks", "The processes that compute a model together, as this one knows them.")
      .def(
          "__init__", [](Ranks* self, nb::object object) { new (self) Ranks(std::move(object)); }, "communicator"_a,
          "`communicator` has `rank` and `size`; all_gather(all, begins), where this rank has written its bytes "
          "[begins[rank], begins[rank + 1]) of the memoryview `all`, which gets those of all; broadcast(bytes), which "
          "returns those of rank 0 (None is given elsewhere); and wait().")
      .def_prop_ro(
          "rank", [](const Ranks& self) { return self.share().rank; }, Doc("RankShare::rank"))
      .def_prop_ro(
          "size", [](const Ranks& self) { return self.share().ranks; }, Doc("RankShare::ranks"))
      .def(
          "follow",
          [](Ranks& self, const AnyModel& model, Computer& computer) {
            const OneUser use = computer.Use();
            nb::gil_scoped_release release;
            Take(FollowRanks(model, CommunicatorRef(self), computer.workspace));
          },
          "model"_a, "workspace"_a, Doc("FollowRanks"));
  nb::class_<Lead>(m, "RankedModel", "A model that ranks compute, in the hands of rank 0: `forward` as a Model's.")
      .def(nb::new_([](std::shared_ptr<AnyModel> model, std::shared_ptr<Ranks> ranks) {
             nb::gil_scoped_release release;
             auto value = Take(RankedModel::Create(*model, CommunicatorRef(*ranks)));
             return std::shared_ptr<Lead>(new Lead{std::move(model), std::move(ranks), std::move(value)});
           }),
           "model"_a, "ranks"_a, Doc("RankedModel::Create"))
      .def(
          "create_pool",
          [](const Lead& self, const RuntimeConfig& runtime) {
            nb::gil_scoped_release release;
            return Take(self.value.CreatePool(runtime));
          },
          "runtime"_a = RuntimeConfig(), Doc("RankedModel::CreatePool"));
}

}  // namespace skald::python
