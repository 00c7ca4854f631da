// SPDX-License-Identifier: Apache-2.0
//
// CallForm: how a form writes calls, as data. The parser and the filter are made of it alone: a new form is a row of
// object_forms.h or named_forms.h, and one of form_signs.h. Only arguments in a notation of their own (arguments.h)
// need code, and Harmony, whose whole answer is messages.
//
// Calls are written
//     begin open CALL between CALL ... close end
// where CALL is
//     call_begin NAME name_end ARGUMENTS call_end
// In these texts %d represents a number, %w an id of nine letters and digits, %i one of any length, %t the name of a
// type of JSON. The parser takes any white space, or none, where they have some, and objects in brackets or not.

#ifndef SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORM_H_
#define SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORM_H_

#include <array>
#include <string_view>

#include "skald/open/tools/output_format.h"

namespace skald::internal::calls {

// How the parser finds a call's name, and how arguments are written.
enum class Notation {
  kObjects,        // a call is an object of JSON with members for name and arguments, in any order
  kNamesFirst,     // a call is an object of JSON with its name as the one key
  kJson,           // after the name an object of JSON
  kGemma,          // after the name an object with keys without quotes, and texts between two marks
  kFunctionGemma,  // the same with another mark
  kPython,         // after the name arguments of a call in Python
  kPythonAsIs,     // the same, and texts between single quotes that are arguments are as they are (quoted_texts.h)
  kTags,           // after the name each argument between tags; texts as they are
};

// More calls than one.
enum class Several {
  kNever,
  kTogether,  // all between one `begin` and `end`
  kApart,     // each with a `begin` and an `end` of its own, and apart_by before the next
};

// The tags of kTags: key_begin KEY key_end value_begin VALUE value_end.
struct ArgumentTags {
  std::string_view key_begin = {}, key_end = {}, value_begin = {}, value_end = {};
  Notation values = Notation::kJson;  // of values that are no texts; kPython too, which reads JSON as well
  std::string_view text_begin = {};   // before texts in place of value_begin; empty: the same
};
inline constexpr ArgumentTags kParameterTags = {"<parameter=", ">\n", "", "\n</parameter>\n", Notation::kPython};
inline constexpr ArgumentTags kSeedTags = {"<parameter=", ">", "", "</parameter>\n", Notation::kPython};
inline constexpr ArgumentTags kMiniMaxTags = {"<parameter name=\"", "\">", "", "</parameter>\n"};
inline constexpr ArgumentTags kHyTags = {"<arg_key:opensource>", "</arg_key:opensource>\n", "<arg_value:opensource>",
                                         "</arg_value:opensource>\n"};
inline constexpr ArgumentTags kDsmlTags = {"<\uFF5CDSML\uFF5Cparameter name=\"",
                                           "\"",
                                           " string=\"false\">",
                                           "</\uFF5CDSML\uFF5Cparameter>\n",
                                           Notation::kJson,
                                           " string=\"true\">"};
inline constexpr ArgumentTags kKimiTags = {"<|open|>argument key=\"", "\"",
                                           " type=\"%t\"<|sep|>",     "<|close|>argument<|sep|>",
                                           Notation::kJson,           " type=\"string\"<|sep|>"};
inline constexpr ArgumentTags kGlmTags = {"<arg_key>", "</arg_key>\n", "<arg_value>", "</arg_value>\n"};

struct CallForm {
  ToolForm form;
  std::string_view name;  // for options
  bool is_special;        // its marks are special tokens, whose names an answer's text must have
  Notation notation;
  Several several;
  std::string_view begin, open = {}, call_begin = {}, name_end = {}, call_end = {}, between = {}, close = {}, end = {};
  std::string_view apart_by = {};
  ArgumentTags tags = {};
  std::string_view or_call_end = {};  // that a filter allows too
  bool may_lack_lines = false;        // some models write its marks without their line breaks
  // Calls begin only where the answer does, or after a call. `begin` belongs to the first.
  bool begins_answer = false;
  std::string_view trigger = {};                 // what a filter waits for if it is not `begin`
  bool begins_in_prompt = false;                 // a prompt ends with `begin`, unless the model goes on with a text
  std::array<std::string_view, 3> no_text = {};  // marks around texts, which no reader of the text shall see
};

}  // namespace skald::internal::calls

#endif  // SKALD_OPEN_TOOLS_CALLS_FORMS_DETAIL_CALL_FORM_H_
