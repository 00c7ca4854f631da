// SPDX-License-Identifier: Apache-2.0
//
// Conversations as Python holds them. Forks share a workspace, so one of them is used at a time.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_CONVERSATIONS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_CONVERSATIONS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "skald/open/conversation.h"
#include "skald/open/open_model.h"
#include "skald/weights/adapters/adapter.h"
#include "values/errors.h"

namespace skald::python {

/// The parts that a conversation shares with its forks.
struct SharedParts {
  /// Raises KeyboardInterrupt and the like, as an error of the answer. Looks for signals a few times a second: taking
  /// the GIL may wait for other threads.
  bool IsStopped() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look < std::chrono::milliseconds(50)) return false;
    last_look = now;
    callbacks.Run([] {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    });
    return false;
  }

  std::shared_ptr<LanguageModel> model;
  std::shared_ptr<Adapter> adapter;  ///< null: none
  Callbacks callbacks = {};
  std::chrono::steady_clock::time_point last_look = {};
  std::atomic<bool> in_use = false;
};

/// A Conversation in Python.
struct Talk {
  Talk(std::shared_ptr<SharedParts> parts, Conversation conversation)
      : shared(std::move(parts)), value(std::move(conversation)) {}

  OneUser Use() const { return OneUser(shared->in_use, "the conversation or a fork of it"); }

  std::shared_ptr<SharedParts> shared;
  Conversation value;
};

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_TEXT_CONVERSATIONS_H_
