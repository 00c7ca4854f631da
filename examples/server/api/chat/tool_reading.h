// SPDX-License-Identifier: Apache-2.0
//
// The tools of a request and which of them is to be called: three APIs say the same in three spellings.

#ifndef SKALD_EXAMPLES_SERVER_API_CHAT_TOOL_READING_H_
#define SKALD_EXAMPLES_SERVER_API_CHAT_TOOL_READING_H_

#include <map>
#include <string>
#include <string_view>

#include "server/api/request/json_reader.h"
#include "skald/open/tools/tools.h"

namespace skald::serve {

// How an API spells tools and the choice among them.
struct ToolSpelling {
  std::string_view schemas;  // of tools in the table of fields
  std::string_view type;     // of a tool, and of the object around its fields where they are nested
  bool is_nested;            // {"type": "function", "function": {"name": ...}}, else {"type": ..., "name": ...}
  std::string_view schema;   // the field with the parameters' JSON Schema
  bool has_words;            // a choice is a word, or an object for one tool; else always an object
  std::string_view any;      // the choice of some tool, whichever
  std::string_view one;      // the type of the choice of one
};

inline constexpr ToolSpelling kChatTools = {"ChatTool", "function", true, "parameters", true, "required", "function"};
inline constexpr ToolSpelling kResponseTools = {"ResponseTool", "function", false,     "parameters",
                                                true,           "required", "function"};
inline constexpr ToolSpelling kAnthropicTools = {"AnthropicTool", "custom", false, "input_schema",
                                                 false,           "any",    "tool"};

// The place of a tool in a request that has namespaces of tools.
struct ToolPlace {
  std::string space, name;

  friend auto operator<=>(const ToolPlace&, const ToolPlace&) = default;
};

struct RequestTools {
  ToolList list;
  // Those of namespaces, by their names in the list, and their names in the list.
  std::map<std::string, ToolPlace> places;
  std::map<ToolPlace, std::string> names;

  // The name in the list of a tool that a client names so; `space` may be empty.
  std::string NameOf(const ToolPlace& place) const;
};

// Reads tools, tool_choice, and whether several may be called at once. Tools of other types, which models of those who
// made an API know without a description, are left out and noted. Thrown: names that are none or come twice, a choice
// that none of the tools is.
RequestTools ReadTools(JsonReader& request, const ToolSpelling& spelling);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_CHAT_TOOL_READING_H_
