// SPDX-License-Identifier: Apache-2.0
//
// The files of the chat page, which are part of the program.

#ifndef SKALD_EXAMPLES_SERVER_PAGE_PAGE_FILES_H_
#define SKALD_EXAMPLES_SERVER_PAGE_PAGE_FILES_H_

#include <memory>
#include <string_view>

#include "server/http/exchange.h"

namespace skald::serve {

struct PageFile {
  std::string_view path;  // "/" for the page itself
  std::string_view content_type;
  std::string_view bytes;
};

// The file at a path, or null.
const PageFile* FindPageFile(std::string_view path);

std::unique_ptr<Exchange> AnswerWith(const PageFile& file);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_PAGE_PAGE_FILES_H_
