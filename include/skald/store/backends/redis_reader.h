// SPDX-License-Identifier: Apache-2.0
//
// Reads answers of a Redis server with hiredis' parser, within bounds: memory is allocated only for bytes that have
// arrived, and no answer may be larger or deeper than those to this store's commands.

#ifndef SKALD_STORE_BACKENDS_REDIS_READER_H_
#define SKALD_STORE_BACKENDS_REDIS_READER_H_

#include <memory>
#include <string_view>

#include "skald/base/result.h"

// Of hiredis.
struct redisReply;
struct redisReader;
struct redisReplyObjectFunctions;

namespace skald::internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const;
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

/// Move-only. After an error nothing more can be read.
class RedisReader {
 public:
  // Most elements of a list (SCAN answers about a thousand), and the deepest nesting of lists.
  static constexpr long long kMostElements = 1 << 20;
  static constexpr int kMostNesting = 1;

  RedisReader();

  /// Takes bytes from the server. Returns false if memory runs out.
  bool Feed(std::string_view bytes);

  /// Returns the next answer, or null while it is incomplete. Errors: kDataLoss if it is not an answer of Redis or
  /// exceeds the bounds; kResourceExhausted if memory runs out.
  Result<RedisReply> Next();

  /// Whether all received bytes were part of answers.
  bool IsEmpty() const;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  /// hiredis' own functions, except for lists. (Versions differ in the type of the number of elements.)
  static redisReplyObjectFunctions* BoundedFunctions(const redisReplyObjectFunctions& standard);

  std::unique_ptr<redisReader, FreeReader> reader_;
  std::unique_ptr<bool> is_beyond_;  ///< set by the functions; does not move with its owner
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/redis_reader.h"
#endif

#endif  // SKALD_STORE_BACKENDS_REDIS_READER_H_
