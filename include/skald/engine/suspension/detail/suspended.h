// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/suspension/suspended.h.

#ifndef SKALD_ENGINE_SUSPENSION_DETAIL_SUSPENDED_H_
#define SKALD_ENGINE_SUSPENSION_DETAIL_SUSPENDED_H_

#include "skald/engine/suspension/suspended.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/digest.h"
#include "skald/sampling/settings.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/snapshots/manifest.h"

namespace skald {

namespace internal {

// "SkaldEng", and a version.
inline constexpr uint64_t kSuspendedMagic = 0x676e45646c616b53;

// Written if a request has a sampler of its own. Else the version before is written, which earlier releases read.
inline constexpr uint32_t kSuspendedVersion = 4;
inline constexpr uint32_t kVersionWithoutOwnSampler = 3;

inline constexpr uint32_t kVersionWithoutIdAndSalt = 2;

// Numbers of requests are below it, so that they never come to their end.
inline constexpr RequestId kMostRequests = RequestId{1} << 62;

inline void WriteText(const std::string& text, ByteWriter& writer) {
  writer.PutList(std::span<const char>(text.data(), text.size()));
}

template <class T>
void PutOptional(const std::optional<T>& value, ByteWriter& writer) {
  writer.Put(uint32_t{value.has_value()});
  if (value) writer.Put(static_cast<uint64_t>(*value));
}

template <class T>
std::optional<T> GetOptional(ByteReader& reader) {
  if (reader.Get<uint32_t>() == 0) return std::nullopt;
  return static_cast<T>(reader.Get<uint64_t>());
}

inline bool HasOwnSampler(const SuspendedRequest& suspended) { return bool(suspended.request.own_sampler); }

inline void WriteRequest(const SuspendedRequest& suspended, uint32_t version, double now, ByteWriter& writer) {
  const Request& request = suspended.request;
  writer.Put(suspended.id);
  writer.PutList(std::span<const int32_t>(request.prompt));
  WriteSampler({request.sampler, {}}, writer);
  writer.Put(uint32_t{request.penalize_prompt});
  writer.Put(request.samples);
  writer.Put(suspended.max_tokens);
  writer.PutList(std::span<const int32_t>(request.end_tokens));
  writer.Put(uint64_t{request.stop_strings.size()});
  for (const std::string& string : request.stop_strings) WriteText(string, writer);
  writer.Put(uint32_t{request.special_text});
  writer.Put(uint32_t{request.filter != nullptr});
  PutOptional(request.prompt_logprobs, writer);
  PutOptional(request.embedding, writer);
  writer.Put(uint32_t{request.digest_logits});
  writer.Put(request.max_drafts);
  WriteText(request.tenant, writer);
  writer.Put(request.priority);
  writer.Put(request.deadline ? *request.deadline - now : kNever);
  writer.PutList(std::span<const uint32_t>(request.branch_points));
  WriteText(request.note, writer);
  writer.Put(request.adapter);
  writer.Put(uint32_t{request.salt.has_value()});
  if (request.salt) WriteText(*request.salt, writer);
  if (version == kSuspendedVersion) writer.Put(uint32_t{HasOwnSampler(suspended)});
}

inline SuspendedRequest ReadRequest(ByteReader& reader, uint32_t version, double now) {
  SuspendedRequest suspended;
  Request& request = suspended.request;
  suspended.id = reader.Get<RequestId>();
  request.prompt = reader.GetList<int32_t>();
  request.sampler = ReadSampler(reader).settings;
  request.penalize_prompt = reader.Get<uint32_t>() != 0;
  request.samples = reader.Get<uint32_t>();
  suspended.max_tokens = reader.Get<uint32_t>();
  request.max_tokens = suspended.max_tokens;
  request.end_tokens = reader.GetList<int32_t>();
  const size_t strings = reader.GetCount(sizeof(uint64_t));
  for (size_t i = 0; i < strings && reader.ok(); ++i) request.stop_strings.emplace_back(reader.GetText());
  request.special_text = reader.Get<uint32_t>() != 0;
  suspended.has_filter = reader.Get<uint32_t>() != 0;
  request.prompt_logprobs = GetOptional<size_t>(reader);
  request.embedding = GetOptional<PromptEmbedding>(reader);
  request.digest_logits = reader.Get<uint32_t>() != 0;
  request.max_drafts = reader.Get<uint32_t>();
  request.tenant = reader.GetText();
  request.priority = reader.Get<int32_t>();
  const auto left = reader.Get<double>();
  if (left < kNever) request.deadline = now + left;
  request.branch_points = reader.GetList<uint32_t>();
  request.note = reader.GetText();
  request.adapter = reader.Get<Sha256Digest>();
  if (version > kVersionWithoutIdAndSalt && reader.Get<uint32_t>() != 0) request.salt.emplace(reader.GetText());
  if (version == kSuspendedVersion) suspended.has_sampler = reader.Get<uint32_t>() != 0;
  return suspended;
}

inline void WriteSample(const SuspendedSample& sample, double now, ByteWriter& writer) {
  writer.Put(sample.sample);
  writer.PutList(std::span<const int32_t>(sample.drawn));
  writer.Put(sample.scored);
  const Usage& usage = sample.usage;
  for (const uint32_t count :
       {usage.cached_tokens, usage.generated_tokens, usage.drafted_tokens, usage.accepted_tokens, usage.preemptions}) {
    writer.Put(count);
  }
  writer.Put(usage.logits_digest);
  writer.Put(now - usage.submitted);
  writer.Put(usage.first_token ? now - *usage.first_token : kNever);
  writer.Put(uint32_t{sample.swapped.has_value()});
  if (!sample.swapped) return;
  writer.Put(sample.swapped->manifest);
  writer.Put(sample.swapped->tokens);
  writer.PutList(std::span<const ChunkKey>(sample.swapped->chunks));
}

inline SuspendedSample ReadSample(ByteReader& reader, double now) {
  SuspendedSample sample;
  sample.sample = reader.Get<uint32_t>();
  sample.drawn = reader.GetList<int32_t>();
  sample.scored = reader.Get<uint32_t>();
  Usage& usage = sample.usage;
  for (uint32_t* const count : {&usage.cached_tokens, &usage.generated_tokens, &usage.drafted_tokens,
                                &usage.accepted_tokens, &usage.preemptions}) {
    *count = reader.Get<uint32_t>();
  }
  usage.logits_digest = reader.Get<uint64_t>();
  usage.submitted = now - reader.Get<double>();
  const auto since = reader.Get<double>();
  if (since < kNever) usage.first_token = now - since;
  if (reader.Get<uint32_t>() == 0) return sample;
  SwappedCache& swapped = sample.swapped.emplace();
  swapped.manifest = reader.Get<ChunkKey>();
  swapped.tokens = reader.Get<uint32_t>();
  swapped.chunks = reader.GetList<ChunkKey>();
  return sample;
}

}  // namespace internal

SKALD_INLINE Result<std::vector<std::byte>> EncodeSuspended(const Suspended& suspended, double now) {
  return NoThrow("suspended requests", [&]() -> Result<std::vector<std::byte>> {
    ByteWriter writer;
    writer.Put(internal::kSuspendedMagic);
    const bool has_sampler = std::ranges::any_of(suspended.requests, internal::HasOwnSampler);
    const uint32_t version = has_sampler ? internal::kSuspendedVersion : internal::kVersionWithoutOwnSampler;
    writer.Put(version);
    writer.Put(suspended.next_id);
    writer.Put(uint64_t{suspended.requests.size()});
    for (const SuspendedRequest& request : suspended.requests) {
      internal::WriteRequest(request, version, now, writer);
      writer.Put(uint64_t{request.samples.size()});
      for (const SuspendedSample& sample : request.samples) internal::WriteSample(sample, now, writer);
    }
    return writer.bytes();
  });
}

SKALD_INLINE Result<Suspended> DecodeSuspended(std::span<const std::byte> bytes, double now) {
  return NoThrow("suspended requests", [&]() -> Result<Suspended> {
    ByteReader reader(bytes);
    const auto magic = reader.Get<uint64_t>();
    const auto version = reader.Get<uint32_t>();
    if (magic != internal::kSuspendedMagic || version < internal::kVersionWithoutIdAndSalt ||
        version > internal::kSuspendedVersion) {
      return Fail(ErrorCode::kDataLoss,
                  "these are no suspended requests of a version up to " + std::to_string(internal::kSuspendedVersion));
    }
    Suspended suspended;
    if (version > internal::kVersionWithoutIdAndSalt) suspended.next_id = reader.Get<RequestId>();
    suspended.requests.resize(reader.GetCount(sizeof(RequestId)));
    for (SuspendedRequest& request : suspended.requests) {
      if (!reader.ok()) break;
      request = internal::ReadRequest(reader, version, now);
      request.samples.resize(reader.GetCount(sizeof(uint32_t)));
      for (SuspendedSample& sample : request.samples) sample = internal::ReadSample(reader, now);
    }
    const auto is_near_end = [](const SuspendedRequest& request) { return request.id >= internal::kMostRequests; };
    const bool has_ids =
        suspended.next_id <= internal::kMostRequests && std::ranges::none_of(suspended.requests, is_near_end);
    if (reader.Finished() && has_ids) return suspended;
    return Fail(ErrorCode::kDataLoss, "the suspended requests are damaged or cut short");
  });
}

}  // namespace skald

#endif  // SKALD_ENGINE_SUSPENSION_DETAIL_SUSPENDED_H_
