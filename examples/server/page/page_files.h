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
  std::string_view entity_tag;  // quoted, as headers have it
  std::string_view bytes;
};

// The file at a path, or null.
const PageFile* FindPageFile(std::string_view path);

// Status 304 where the request says that the file is there already.
std::unique_ptr<Exchange> AnswerWith(const PageFile& file, const HttpRequest& head);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_PAGE_PAGE_FILES_H_
