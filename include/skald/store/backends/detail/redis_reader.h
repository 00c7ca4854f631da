// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/redis_reader.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_REDIS_READER_H_
#define SKALD_STORE_BACKENDS_DETAIL_REDIS_READER_H_

#include "skald/store/backends/redis_reader.h"

#include <hiredis/hiredis.h>

#include "skald/base/inline.h"
#include "skald/base/text/printable.h"

namespace skald {

namespace internal {

SKALD_INLINE void FreeRedisReply::operator()(redisReply* reply) const { freeReplyObject(reply); }

SKALD_INLINE void RedisReader::FreeReader::operator()(redisReader* reader) const { redisReaderFree(reader); }

SKALD_INLINE bool RedisReader::IsEmpty() const { return reader_->pos == reader_->len; }

SKALD_INLINE RedisReader::RedisReader() : reader_(redisReaderCreate()), is_beyond_(std::make_unique<bool>(false)) {
  if (reader_ == nullptr) return;
  reader_->fn = BoundedFunctions(*reader_->fn);
  reader_->privdata = is_beyond_.get();
}

SKALD_INLINE bool RedisReader::Feed(std::string_view bytes) {
  return reader_ != nullptr && redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
}

SKALD_INLINE Result<RedisReply> RedisReader::Next() {
  void* answer = nullptr;
  if (reader_ != nullptr && redisReaderGetReply(reader_.get(), &answer) == REDIS_OK) {
    return RedisReply(static_cast<redisReply*>(answer));
  }
  if (*is_beyond_) {
    return Fail(ErrorCode::kDataLoss,
                "the answer does not follow the Redis protocol: a list has too many elements, or is nested too "
                "deeply");
  }
  if (reader_ == nullptr || reader_->err == REDIS_ERR_OOM) {
    return Fail(ErrorCode::kResourceExhausted, "hiredis ran out of memory");
  }
  return Fail(ErrorCode::kDataLoss, "the answer does not follow the Redis protocol: " + Printable(reader_->errstr));
}

SKALD_INLINE redisReplyObjectFunctions* RedisReader::BoundedFunctions(const redisReplyObjectFunctions& standard) {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_REDIS_READER_H_
