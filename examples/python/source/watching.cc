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

// A ResidualStream in Python.
struct Stream {
  size_t block, layer;
  nb::object tokens, positions, sequences, values;
};

template <class T>
nb::object CopyOf(std::span<const T> values) {
  return ArrayOf(std::vector<int32_t>(values.begin(), values.end())).value;
}

void Show(const ResidualStream& stream, const std::shared_ptr<Activations>& memory, const nb::callable& function) {
  const size_t rows = stream.rows();
  nb::object shown = nb::cast(Stream{stream.block, stream.layer, CopyOf(stream.tokens), CopyOf(stream.positions),
                                     CopyOf(stream.sequences), nb::none()});
  nb::cast<Stream&>(shown).values =
      ArrayOf(stream.values.data(), {rows, stream.values.size() / rows}, memory, true).value;
  function(shown);
  nb::cast<Stream&>(shown).values = nb::none();
}

}  // namespace

Observer Watching::Observe(const nb::callable& function) {
  return [this, &function](const ResidualStream& stream) {
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
}

void Watching::End(Workspace& workspace) {
  if (kept_ != nullptr) *kept_ = std::exchange(workspace.activations, {});
}

void BindWatching(nb::module_& m) {
  nb::class_<Stream>(m, "ResidualStream", Doc("ResidualStream"))
      .def_ro("block", &Stream::block, Doc("ResidualStream::block"))
      .def_ro("layer", &Stream::layer, Doc("ResidualStream::layer"))
      .def_ro("tokens", &Stream::tokens, Doc("ResidualStream::tokens"))
      .def_ro("positions", &Stream::positions, Doc("ResidualStream::positions"))
      .def_ro("sequences", &Stream::sequences, Doc("ResidualStream::sequences"))
      .def_ro("values", &Stream::values,
              "[rows, model_dim], the model's own memory: what is written there is what it goes on with. Valid while "
              "the observer runs; keep copies.");
}

}  // namespace skald::python
