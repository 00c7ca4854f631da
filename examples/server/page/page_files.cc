// SPDX-License-Identifier: Apache-2.0

#include "server/page/page_files.h"

#include <algorithm>
#include <span>
#include <string>

#include "page_bytes.h"  // made by CMake of the files beside this one and in its rooms: kPageFiles

namespace skald::serve {

const PageFile* FindPageFile(std::string_view path) {
  const auto found = std::ranges::find(kPageFiles, path, &PageFile::path);
  return found == std::end(kPageFiles) ? nullptr : found;
}

std::unique_ptr<Exchange> AnswerWith(const PageFile& file, const HttpRequest& request) {
  HttpHead head;
  head.content_type = file.content_type;
  head.headers = {{"Cache-Control", "no-cache"},
                  {"ETag", std::string(file.entity_tag)},
                  {"Content-Security-Policy",
                   "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
                   "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"},
                  {"Referrer-Policy", "no-referrer"}};
  if (request.Header("if-none-match") == file.entity_tag) {
    head.status = 304;
    return std::make_unique<WholeAnswer>(std::string(), std::move(head));
  }
  return std::make_unique<WholeAnswer>(std::string(file.bytes), std::move(head));
}

}  // namespace skald::serve
