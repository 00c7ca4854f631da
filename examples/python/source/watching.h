// SPDX-License-Identifier: Apache-2.0
//
// Functions of Python that see, and may change, what a call of `forward` computes. Their arrays show the workspace's
// own memory, without a copy, and only while the function runs: one that is kept longer ends the call with an error,
// and keeps that memory alive, so that it never dangles.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_WATCHING_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_WATCHING_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "errors.h"
#include "skald/model/forward_options.h"
#include "skald/model/workspace.h"

namespace skald::python {

class Watching {
 public:
  /// Returns a hook at the residual stream that calls `function`, which must outlive it.
  Hook Observe(const nb::callable& function);

  /// To be called when the library's call has ended: arrays that were kept get the memory that they show.
  void End(Workspace& workspace);

  template <class T>
  T Take(Result<T> result) {
    return callbacks_.Take(std::move(result));
  }

 private:
  Callbacks callbacks_;
  std::shared_ptr<Activations> kept_;  ///< set where an array was kept
};

void BindWatching(nb::module_& m);

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_WATCHING_H_
