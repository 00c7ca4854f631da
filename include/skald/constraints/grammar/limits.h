// SPDX-License-Identifier: Apache-2.0
//
// Limits of an untrusted grammar. A grammar that needs more is refused with a sentence, not cut short.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_LIMITS_H_
#define SKALD_CONSTRAINTS_GRAMMAR_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace skald {

/// Bytes of a grammar or a schema as text.
inline constexpr size_t kMaxGrammarText = size_t{1} << 20;
/// Parentheses in parentheses, values in values.
inline constexpr size_t kMaxGrammarNesting = 100;
inline constexpr size_t kMaxGrammarRules = 8192;
/// Expressions that a text is read into, and properties of one object of a schema.
inline constexpr size_t kMaxGrammarExpressions = size_t{1} << 20;
inline constexpr size_t kMaxSchemaProperties = 5000;
/// States of all rules. A repetition counts once for each time, but for long ones of what is no beginning of itself, as
/// characters are: these have a count.
inline constexpr size_t kMaxGrammarStates = size_t{1} << 18;
inline constexpr size_t kMostCopiedStates = 4096;  ///< of a repetition without a count
/// Steps of compiling: about a second.
inline constexpr size_t kMaxGrammarWork = size_t{1} << 26;
/// Calls within calls while a text is read. A text that would nest deeper is not allowed: the calls that a text needs
/// to come to its end are counted in, so that no text begins that this limit would not let end.
inline constexpr size_t kMaxGrammarDepth = 256;
/// Ways to read one text that are followed side by side.
inline constexpr size_t kMaxGrammarReadings = 1024;
/// Steps of computing a mask, and of reading a token: words of readings that are looked at. They are counted from
/// nothing for each, so that a grammar is beyond a limit always or never. In time: some hundred and some ten
/// milliseconds.
inline constexpr size_t kMaxMaskWork = size_t{1} << 24;
inline constexpr size_t kMaxReadWork = size_t{1} << 19;
/// Work that is done in the call that asks for the mask, and not by other threads meanwhile: about a millisecond.
inline constexpr size_t kMaxQuickMaskWork = size_t{1} << 16;
/// Memory while one mask is computed, and for masks that are kept, in bytes.
inline constexpr size_t kMaxExploredBytes = size_t{64} << 20;
inline constexpr size_t kMaxKeptMaskBytes = size_t{32} << 20;

}  // namespace skald

#endif  // SKALD_CONSTRAINTS_GRAMMAR_LIMITS_H_
