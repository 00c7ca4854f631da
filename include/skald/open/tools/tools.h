// SPDX-License-Identifier: Apache-2.0
//
// The tools that a request offers to the model.

#ifndef SKALD_OPEN_TOOLS_TOOLS_H_
#define SKALD_OPEN_TOOLS_TOOLS_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/json/json_value.h"

namespace skald {

/// One tool.
struct Tool {
  std::string name;         ///< by which the model calls it
  std::string description;  ///< for the model
  JsonValue parameters;     ///< a JSON Schema of an object; null: any object
};

/// Whether an answer has calls.
enum class ToolChoice {
  kAuto,      ///< as the model chooses
  kNone,      ///< no calls
  kRequired,  ///< at least one
};

/// The tools of a request, and the choice among them.
struct ToolList {
  std::vector<Tool> tools = {};           ///< different names
  ToolChoice choice = ToolChoice::kAuto;  ///< whether they are called
  std::string only = {};                  ///< of kRequired: the tool to call; empty for any
  bool is_parallel = true;                ///< an answer may have several calls

  /// Returns whether an answer may have calls.
  bool may_call() const { return !tools.empty() && choice != ToolChoice::kNone; }
  /// Returns the tool of that name, or null.
  const Tool* Find(std::string_view name) const {
    const auto found = std::ranges::find(tools, name, &Tool::name);
    return found == tools.end() ? nullptr : &*found;
  }
};

}  // namespace skald

#endif  // SKALD_OPEN_TOOLS_TOOLS_H_
