// SPDX-License-Identifier: Apache-2.0
//
// A request and how it is answered, without a word of how either travels: what is behind the HTTP server is written and
// tested against this.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_HTTP_EXCHANGE_H_
#define SKALD_EXAMPLES_SKALD_SERVE_HTTP_EXCHANGE_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::serve {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path, query;  // as they were sent, the query without its question mark
  HeaderList headers;       // names in lower case
  std::string body;

  // The first header of that name, in lower case; empty where there is none.
  std::string_view Header(std::string_view name) const {
    const auto found = std::ranges::find(headers, name, &HeaderList::value_type::first);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

struct HttpHead {
  int status = 200;
  std::string content_type = "application/json";
  HeaderList headers = {};
  // The body comes piece by piece, and how long it will be is not known.
  bool is_stream = false;
};

// What is new of an answer.
struct HttpPiece {
  std::optional<HttpHead> head = {};  // with the first piece that is not empty
  std::string body = {};
  bool is_last = false;
};

// An answer in the making. Destroyed before its last piece was taken: whoever asked has gone. Used by one thread at a
// time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Returns what has come since the last call, which may be nothing at all.
  virtual HttpPiece Next() = 0;
};

// An answer that is known at once.
class WholeAnswer final : public Exchange {
 public:
  explicit WholeAnswer(std::string body, HttpHead head = {}) : piece_{std::move(head), std::move(body), true} {}
  HttpPiece Next() override { return std::move(piece_); }

 private:
  HttpPiece piece_;
};

// Called when Next has something new, from any thread; must be quick.
using Wake = std::function<void()>;

// Begins to answer. Called by any of the server's threads; must not throw.
using Handler = std::function<std::unique_ptr<Exchange>(HttpRequest, Wake)>;

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_HTTP_EXCHANGE_H_
