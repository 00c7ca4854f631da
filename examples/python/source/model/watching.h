// SPDX-License-Identifier: Apache-2.0
//
// Hooks: functions of Python that see, and may change, what a call of `forward` computes. Their arrays show the
// workspace's own memory, without a copy, and only while the function runs: one that is kept longer ends the call with
// an error, and keeps that memory alive, so that it never dangles.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_WATCHING_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_WATCHING_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skald/model/hooks.h"
#include "skald/model/workspace.h"
#include "values/errors.h"
#include "values/held.h"

namespace skald::python {

/// A place and a function for it, of Python or of the library.
struct AnyHook {
  std::string place;
  std::variant<Held, Hook> call;
};

/// Hooks as `forward` takes them: skald.Hook, or pairs of a place and a function.
using Hooks = std::vector<std::variant<AnyHook, std::pair<std::string, nb::callable>>>;

class Watching {
 public:
  /// Returns the hooks, which refer to this and to `given`.
  std::vector<Hook> Watch(const Hooks& given);

  /// To be called when the library's call has ended: arrays that were kept get the memory that they show.
  void End(Workspace& workspace);

  template <class T>
  T Take(Result<T> result) {
    return callbacks_.Take(std::move(result));
  }

 private:
  /// All memory of a workspace that places may show.
  struct Memory {
    Activations activations;
    OutputBuffers outputs;
  };

  Hook Call(std::string place, nb::handle function);
  void Show(HookRows& rows, nb::handle function);

  Callbacks callbacks_;
  std::shared_ptr<Memory> kept_;  ///< set if an array was kept
};

void BindWatching(nb::module_& m);

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_MODEL_WATCHING_H_
