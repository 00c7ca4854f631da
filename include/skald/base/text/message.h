// SPDX-License-Identifier: Apache-2.0
//
// How error messages about checkpoints write names and shapes, and how they are put together.

#ifndef SKALD_BASE_TEXT_MESSAGE_H_
#define SKALD_BASE_TEXT_MESSAGE_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace skald {

/// Returns the parts one after the other. A chain of operator+ would do the same, but compilers
/// expand each of its links: over all messages of this folder that takes a second of everybody's
/// compile time.
std::string Concat(std::initializer_list<std::string_view> parts);

/// Returns "[256, 2048]".
std::string ShapeText(std::span<const uint64_t> shape);

/// Returns a name from a file as an error message may show it: in quotes, cut to a readable length and printable.
std::string QuotedName(std::string_view name);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/text/detail/message.h"
#endif

#endif  // SKALD_BASE_TEXT_MESSAGE_H_
