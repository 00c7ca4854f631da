// SPDX-License-Identifier: Apache-2.0
//
// Reads answers of a Redis server with hiredis' parser, within bounds: nothing that a server announces is believed
// until it is there, and no answer is larger or deeper than one to our commands can be.

#ifndef SKALD_STORE_BACKENDS_REDIS_READER_H_
#define SKALD_STORE_BACKENDS_REDIS_READER_H_

#include <hiredis/hiredis.h>

#include <memory>
#include <string_view>

#include "skald/base/result.h"

namespace skald::internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

/// Move-only. After an error nothing more can be read.
class RedisReader {
 public:
  // Elements of a list; SCAN answers about a thousand. And lists around a list.
  static constexpr long long kMostElements = 1 << 20;
  static constexpr int kMostNesting = 1;

  RedisReader();

  /// Takes what the server sent. False: there is no memory for it.
  bool Feed(std::string_view bytes);

  /// Returns the next answer, or null while it is not whole. Errors: kDataLoss where this is no answer of Redis, or one
  /// beyond bounds; kResourceExhausted where there is no memory.
  Result<RedisReply> Next();

  /// Whether all that came was part of the answers.
  bool IsEmpty() const { return reader_->pos == reader_->len; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  /// hiredis' own functions, but for lists. (Versions differ in the type of the number of elements.)
  static redisReplyObjectFunctions* BoundedFunctions(const redisReplyObjectFunctions& standard);

  std::unique_ptr<redisReader, FreeReader> reader_;
  std::unique_ptr<bool> is_beyond_;  ///< where the functions leave word; does not move with its owner
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/store/backends/detail/redis_reader.h"
#endif

#endif  // SKALD_STORE_BACKENDS_REDIS_READER_H_
