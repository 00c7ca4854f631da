// SPDX-License-Identifier: Apache-2.0
//
// The tools that a request offers to the model, whatever API they came by.

#ifndef SKALD_EXAMPLES_SERVER_CHAT_TOOLS_H_
#define SKALD_EXAMPLES_SERVER_CHAT_TOOLS_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace skald::serve {

struct Tool {
  std::string name;
  std::string description;
  nlohmann::ordered_json parameters;  // a JSON Schema of an object
};

// Whether tools are called is the model's choice, forbidden, or a must; then perhaps of one of them alone.
enum class ToolChoice { kAuto, kNone, kRequired };

struct ToolList {
  std::vector<Tool> tools = {};
  ToolChoice choice = ToolChoice::kAuto;
  std::string only = {};  // of kRequired: the tool to call; empty for any
  bool is_parallel = true;

  // Whether an answer may have calls.
  bool may_call() const { return !tools.empty() && choice != ToolChoice::kNone; }
  const Tool* Find(std::string_view name) const {
    const auto found = std::ranges::find(tools, name, &Tool::name);
    return found == tools.end() ? nullptr : &*found;
  }
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_CHAT_TOOLS_H_
