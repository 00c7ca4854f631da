// SPDX-License-Identifier: Apache-2.0
//
// Reads answers of a Redis server with hiredis' parser, within bounds: nothing that a server announces is believed
// until it is there, and no answer is larger or deeper than one to our commands can be.

#ifndef SKALD_STORE_BACKENDS_REDIS_READER_H_
#define SKALD_STORE_BACKENDS_REDIS_READER_H_

#include <hiredis/hiredis.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "skald/base/printable.h"
#include "skald/base/result.h"

namespace skald::internal {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

// Move-only. After an error nothing more can be read.
class RedisReader {
 public:
  // Elements of a list; SCAN answers about a thousand. And lists around a list.
  static constexpr long long kMostElements = 1 << 20;
  static constexpr int kMostNesting = 1;

  RedisReader() : reader_(redisReaderCreate()), is_beyond_(std::make_unique<bool>(false)) {
    if (reader_ == nullptr) return;
    reader_->fn = BoundedFunctions(*reader_->fn);
    reader_->privdata = is_beyond_.get();
  }

  // Takes what the server sent. False: there is no memory for it.
  bool Feed(std::string_view bytes) {
    return reader_ != nullptr && redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
  }

  // Returns the next answer, or null while it is not whole. Errors: kDataLoss where this is no answer of Redis, or one
  // beyond bounds; kResourceExhausted where there is no memory.
  Result<RedisReply> Next() {
    void* answer = nullptr;
    if (reader_ != nullptr && redisReaderGetReply(reader_.get(), &answer) == REDIS_OK) {
      return RedisReply(static_cast<redisReply*>(answer));
    }
    if (*is_beyond_) {
      return Fail(ErrorCode::kDataLoss,
                  "the answer is not what Redis answers: a list of too many elements, or in too "
                  "many others");
    }
    if (reader_ == nullptr || reader_->err == REDIS_ERR_OOM) {
      return Fail(ErrorCode::kResourceExhausted, "hiredis has not enough memory");
    }
    return Fail(ErrorCode::kDataLoss, "the answer is not what Redis answers: " + Printable(reader_->errstr));
  }

  // Whether all that came was part of the answers.
  bool IsEmpty() const { return reader_->pos == reader_->len; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  // hiredis' own functions, but for lists. (Versions differ in the type of the number of elements.)
  static redisReplyObjectFunctions* BoundedFunctions(const redisReplyObjectFunctions& standard) {
    static const redisReplyObjectFunctions inner = standard;
    static redisReplyObjectFunctions bounded = [] {
      redisReplyObjectFunctions functions = inner;
      functions.createArray = [](const redisReadTask* task, auto elements) -> void* {
        int nesting = 0;
        for (const redisReadTask* around = task->parent; around != nullptr; around = around->parent) ++nesting;
        if (static_cast<long long>(elements) <= kMostElements && nesting <= kMostNesting) {
          return inner.createArray(task, elements);
        }
        *static_cast<bool*>(task->privdata) = true;
        return nullptr;
      };
      return functions;
    }();
    return &bounded;
  }

  std::unique_ptr<redisReader, FreeReader> reader_;
  std::unique_ptr<bool> is_beyond_;  // where the functions leave word; does not move with its owner
};

}  // namespace skald::internal

#endif  // SKALD_STORE_BACKENDS_REDIS_READER_H_
