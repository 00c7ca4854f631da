// SPDX-License-Identifier: Apache-2.0

#include "model/watching.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/layers/model_spec.h"
#include "skald/model/any_model.h"
#include "skald/model/control_vector.h"
#include "values/arrays.h"

namespace skald::python {

namespace {

// HookRows in Python.
struct Shown {
  Place place;
  nb::object tokens, positions, sequences, experts, values;
  bool stops = false;
};

template <class T>
nb::object CopyOf(std::span<const T> values) {
  return ArrayOf(std::vector<int32_t>(values.begin(), values.end())).value;
}

// Rows of floats that lie as far apart as HookRows says, or one after the other in `copy`.
nb::object ValuesOf(const HookRows& rows, float* data, size_t stride, std::shared_ptr<void> owner) {
  const size_t parts = rows.place.parts, part_cols = rows.cols / parts;
  std::vector<size_t> shape = {rows.rows()};
  std::vector<int64_t> strides = {static_cast<int64_t>(stride)};
  if (parts > 1) {
    shape.push_back(parts);
    strides.push_back(static_cast<int64_t>(part_cols));
  }
  shape.push_back(part_cols);
  strides.push_back(1);
  return StridedArrayOf(data, shape, strides, std::move(owner), rows.place.may_change).value;
}

// Whether the values are in memory that ends with the layer, or that belongs to a cache.
bool IsElsewhere(const Place& place) { return place.rows == PlaceRows::kSequences || place.what == "probabilities"; }

}  // namespace

std::vector<Hook> Watching::Watch(const Hooks& given) {
  std::vector<Hook> hooks;
  for (const auto& one : given) {
    if (const auto* pair = std::get_if<std::pair<std::string, nb::callable>>(&one)) {
      hooks.push_back(Call(pair->first, pair->second));
    } else {
      const AnyHook& hook = std::get<AnyHook>(one);
      const Held* function = std::get_if<Held>(&hook.call);
      hooks.push_back(function != nullptr ? Call(hook.place, **function) : std::get<Hook>(hook.call));
    }
  }
  return hooks;
}

Hook Watching::Call(std::string place, nb::handle function) {
  return {std::move(place), [this, function](HookRows& rows) { callbacks_.Run([&] { Show(rows, function); }); }};
}

void Watching::Show(HookRows& rows, nb::handle function) {
  const auto memory = std::make_shared<Memory>();
  std::shared_ptr<std::vector<float>> copy;
  if (IsElsewhere(rows.place)) {
    copy = std::make_shared<std::vector<float>>();
    for (size_t i = 0; i < rows.rows(); ++i) copy->insert(copy->end(), rows.row(i).begin(), rows.row(i).end());
  }
  bool stops = false;
  try {
    nb::object shown = nb::cast(Shown{rows.place, CopyOf(rows.tokens), CopyOf(rows.positions), CopyOf(rows.sequences),
                                      CopyOf(rows.experts), nb::none()});
    Shown& view = nb::cast<Shown&>(shown);
    view.values = copy ? ValuesOf(rows, copy->data(), rows.cols, copy) : ValuesOf(rows, rows.data, rows.stride, memory);
    function(shown);
    view.values = nb::none();
    stops = view.stops;
  } catch (...) {
    kept_ = memory;  // the traceback may show it
    throw;
  }
  if (memory.use_count() > 1) {
    kept_ = memory;
    Raise(ErrorCode::kFailedPrecondition,
          "an array of the place " + rows.place.name + " was kept after the hook returned; keep a copy of it");
  }
  for (size_t i = 0; copy && rows.place.may_change && i < rows.rows(); ++i) {
    std::copy_n(copy->data() + i * rows.cols, rows.cols, rows.row(i).data());
  }
  if (stops) rows.Stop();
}

void Watching::End(Workspace& workspace) {
  if (kept_ == nullptr) return;
  kept_->activations = std::exchange(workspace.activations, {});
  kept_->outputs = std::exchange(workspace.outputs, {});
}

void BindWatching(nb::module_& m) {
  nb::enum_<PlaceRows>(m, "PlaceRows", Doc("PlaceRows"))
      .value("TOKENS", PlaceRows::kTokens, Doc("PlaceRows::kTokens"))
      .value("LOGITS", PlaceRows::kLogits, Doc("PlaceRows::kLogits"))
      .value("SEQUENCES", PlaceRows::kSequences, Doc("PlaceRows::kSequences"))
      .value("CHOICES", PlaceRows::kChoices, Doc("PlaceRows::kChoices"));
  nb::class_<Place>(m, "Place", Doc("Place"))
      .def_ro("name", &Place::name, Doc("Place::name"))
      .def_ro("what", &Place::what, Doc("Place::what"))
      .def_ro("block", &Place::block, Doc("Place::block"))
      .def_ro("layer", &Place::layer, Doc("Place::layer"))
      .def_ro("parts", &Place::parts, Doc("Place::parts"))
      .def_ro("part_cols", &Place::part_cols, Doc("Place::part_cols"))
      .def_ro("may_change", &Place::may_change, Doc("Place::may_change"))
      .def_ro("rows", &Place::rows, Doc("PlaceRows"))
      .def("__repr__", [](const Place& self) { return "<Place " + self.name + ">"; });
  nb::class_<Shown>(m, "HookRows", Doc("HookRows"))
      .def_ro("place", &Shown::place, "the place, by which a function for several tells them apart")
      .def_ro("tokens", &Shown::tokens, Doc("HookRows::tokens"))
      .def_ro("positions", &Shown::positions, Doc("HookRows::positions"))
      .def_ro("sequences", &Shown::sequences, Doc("HookRows::sequences"))
      .def_ro("experts", &Shown::experts, Doc("HookRows::experts"))
      .def_ro(
          "values", &Shown::values,
          "[rows, cols], or [rows, parts, part_cols] of a place with several parts: the model's own memory. What is "
          "written there is what it goes on with, if the place may change. Valid while the hook runs: keep copies. "
          "(Of probabilities and states it is a copy, which is written back.)",
          nb::for_getter(nb::sig("def values(self) -> numpy.typing.NDArray[numpy.float32]")))
      .def(
          "stop", [](Shown& self) { self.stops = true; }, Doc("HookRows::Stop"));
  nb::class_<AnyHook>(m, "Hook", "A place, or a pattern of names with *, and a function of HookRows.")
      .def(
          "__init__",
          [](AnyHook* self, std::string place, nb::callable function) {
            new (self) AnyHook{std::move(place), Hold(std::move(function))};
          },
          "place"_a, "function"_a)
      .def_ro("place", &AnyHook::place, Doc("Hook::place"));
  nb::class_<ControlVector>(m, "ControlVector", "Directions that are added to the residual stream after layers.")
      .def(
          "__init__",
          [](ControlVector* self, std::vector<std::vector<float>> directions) {
            new (self) ControlVector{std::move(directions)};
          },
          "directions"_a)
      .def_static(
          "load",
          [](const std::filesystem::path& path, const AnyModel& model) {
            return Take(LoadControlVector(path, model.spec()));
          },
          "path"_a, "model"_a, Doc("LoadControlVector"))
      .def_ro("directions", &ControlVector::directions, Doc("ControlVector::directions"))
      .def("add", &ControlVector::Add, "other"_a, "scale"_a = 1.0f, nb::lock_self(), Doc("ControlVector::Add"))
      .def("keep_layers", &ControlVector::KeepLayers, "first"_a, "last"_a, Doc("ControlVector::KeepLayers"))
      .def(
          "hooks",
          [](const ControlVector& self, const AnyModel& model) {
            std::vector<AnyHook> hooks;
            for (Hook& hook : Take(HooksOf(self, model.spec()))) {
              std::string place = hook.place;
              hooks.push_back({std::move(place), std::move(hook)});
            }
            return hooks;
          },
          "model"_a, Doc("HooksOf"));
  nb::borrow<nb::class_<AnyModel>>(m.attr("Model"))
      .def(
          "places", [](const AnyModel& self) { return std::vector<Place>(self.Places().begin(), self.Places().end()); },
          Doc("AnyModel::Places"));
}

}  // namespace skald::python
