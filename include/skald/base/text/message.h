// SPDX-License-Identifier: Apache-2.0
//
// Names and shapes in error messages about checkpoints, and the composition of messages.

#ifndef SKALD_BASE_TEXT_MESSAGE_H_
#define SKALD_BASE_TEXT_MESSAGE_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace skald {

/// Returns the parts, concatenated. A chain of operator+ would do the same, but compilers expand each of its links:
/// over all messages that takes a second of compile time.
std::string Concat(std::initializer_list<std::string_view> parts);

/// Returns "[256, 2048]".
std::string ShapeText(std::span<const uint64_t> shape);

/// Returns a name from a file for an error message: in quotes, printable and cut to a readable length.
std::string QuotedName(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/text/detail/message.h"
#endif

#endif  // SKALD_BASE_TEXT_MESSAGE_H_
