// SPDX-License-Identifier: Apache-2.0
//
// Paths as text for messages and files. On POSIX systems a path is that text; on Windows it has wide characters, and
// std::filesystem's own conversions differ between its implementations.

#ifndef SKALD_BASE_FILES_PATH_TEXT_H_
#define SKALD_BASE_FILES_PATH_TEXT_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace skald {

namespace internal {

inline const std::string& TextOfNative(const std::string& native) noexcept { return native; }

/// Returns UTF-8 of UTF-16 or UTF-32; U+FFFD for what is neither. If memory runs out, returns "a file".
std::string TextOfNative(const std::wstring& native) noexcept;

}  // namespace internal

/// Returns the path in UTF-8: a reference to its own text on POSIX systems, else a string.
inline decltype(auto) PathText(const std::filesystem::path& path) noexcept {
  return internal::TextOfNative(path.native());
}

/// The same of a path that does not live on.
inline std::string PathText(std::filesystem::path&& path) { return internal::TextOfNative(path.native()); }

/// Returns the path of a text in UTF-8. On POSIX systems of any text.
std::filesystem::path PathOfText(std::string_view text);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/files/detail/path_text.h"
#endif

#endif  // SKALD_BASE_FILES_PATH_TEXT_H_
