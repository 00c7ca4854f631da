// SPDX-License-Identifier: Apache-2.0
//
// A request and its answer, without a word of how either travels. The code that the HTTP server calls is written and
// tested against this.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_EXCHANGE_H_
#define SKALD_EXAMPLES_SERVER_HTTP_EXCHANGE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/spool.h"

namespace skald::serve {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path, query;   // as they were sent, the query without its question mark
  HeaderList headers;        // names in lower case
  std::string peer;          // address of the other end of the connection
  bool is_http_1_0 = false;  // where a Host may be missing
  bool is_tls = false;
  bool is_crowded = false;  // all connections are in use: only what is urgent should be answered

  std::string body;
  std::shared_ptr<SpooledFile> file = {};  // the body instead, if its admission says so
  // Keeps the body counted among those in memory.
  std::shared_ptr<const void> counted = {};

  // The first header of that name, which is in lower case; empty if there is none.
  std::string_view Header(std::string_view name) const {
    const auto found = std::ranges::find(headers, name, &HeaderList::value_type::first);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
  size_t CountOf(std::string_view name) const {
    return static_cast<size_t>(std::ranges::count(headers, name, &HeaderList::value_type::first));
  }
};

struct HttpHead {
  int status = 200;
  std::string content_type = "application/json";
  HeaderList headers = {};
  // The body is sent piece by piece, as it comes.
  bool is_stream = false;
  // Bytes of a stream's body, if they are known.
  std::optional<uint64_t> length = {};
  // The thing that the request was about, where its path does not name it; for the log, and not sent.
  std::string target = {};
};

// The new part of an answer.
struct HttpPiece {
  std::optional<HttpHead> head = {};  // with the first piece that is not empty
  std::string body = {};
  bool is_last = false;
};

// An answer in the making. If it is destroyed before its last piece was taken, the client has gone. Used by one thread
// at a time.
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

// The decision about a request that is made from its head, before any of its body is read.
struct Admission {
  enum class Body { kInMemory, kInFile };

  // The whole answer, if it does not depend on the body; then none of the rest is used.
  std::unique_ptr<Exchange> answer = {};

  Body body = Body::kInMemory;
  uint64_t body_bytes = 0;  // at most
  // Answers what is wrong with the body: a status and a sentence.
  std::function<std::unique_ptr<Exchange>(int status, const std::string& message)> refuse = {};
  // Begins to answer the whole request. Called by any of the server's threads; must not throw.
  std::function<std::unique_ptr<Exchange>(HttpRequest, Wake)> begin = {};
};

// Decides about a request whose body is not read yet. Called by any of the server's threads; must not throw.
using Handler = std::function<Admission(const HttpRequest& head)>;

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_EXCHANGE_H_
