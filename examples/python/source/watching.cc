// SPDX-License-Identifier: Apache-2.0

#include "watching.h"

#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bind.h"

namespace skald::python {

namespace {

// HookRows of the residual stream in Python.
struct Stream {
  size_t block, layer;
  nb::object tokens, positions, sequences, values;
};

template <class T>
nb::object CopyOf(std::span<const T> values) {
  return ArrayOf(std::vector<int32_t>(values.begin(), values.end())).value;
}

void Show(const HookRows& stream, const std::shared_ptr<Activations>& memory, const nb::callable& function) {
  const size_t rows = stream.rows();
  nb::object shown = nb::cast(Stream{stream.place.block, stream.place.layer, CopyOf(stream.tokens),
                                     CopyOf(stream.positions), CopyOf(stream.sequences), nb::none()});
  nb::cast<Stream&>(shown).values = ArrayOf(stream.data, {rows, stream.cols}, memory, true).value;
  function(shown);
  nb::cast<Stream&>(shown).values = nb::none();
}

}  // namespace

Hook Watching::Observe(const nb::callable& function) {
  const auto call = [this, &function](const HookRows& stream) {
    callbacks_.Run([&] {
      const auto memory = std::make_shared<Activations>();
      try {
        Show(stream, memory, function);
      } catch (...) {
        kept_ = memory;  // the traceback may show it
        throw;
      }
      if (memory.use_count() > 1) {
        kept_ = memory;
        Raise(ErrorCode::kFailedPrecondition,
              "an array of the residual stream was kept after the observer returned; keep a copy of it");
      }
    });
  };
  return {"stream.*", call};
}

void Watching::End(Workspace& workspace) {
  if (kept_ != nullptr) *kept_ = std::exchange(workspace.activations, {});
}

void BindWatching(nb::module_& m) {
  nb::class_<Stream>(m, "ResidualStream", Doc("HookRows"))
      .def_ro("block", &Stream::block, Doc("Place::block"))
      .def_ro("layer", &Stream::layer, Doc("Place::layer"))
      .def_ro("tokens", &Stream::tokens, Doc("HookRows::tokens"))
      .def_ro("positions", &Stream::positions, Doc("HookRows::positions"))
      .def_ro("sequences", &Stream::sequences, Doc("HookRows::sequences"))
      .def_ro("values", &Stream::values,
              "[rows, model_dim], the model's own memory: what is written there is what it goes on with. Valid while "
              "the observer runs; keep copies.");
}

}  // namespace skald::python
