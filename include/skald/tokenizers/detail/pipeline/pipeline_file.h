// SPDX-License-Identifier: Apache-2.0
//
// The pipeline engine as a file that opens in milliseconds: what costs time in a tokenizer.json, reading its text,
// looking up the pieces of merges and finding which pieces words can be, is done already. Not a format to exchange:
// another version of Skald may refuse it, and the tokenizer.json is made into a new one. All numbers little-endian:
//   8 bytes   "SkaldTok"
//   u32       version
//   list      the small parts as JSON (component_writer.h); a list is a u64 of how many elements, and these
//   list      bytes of all pieces, one after the other
//   list      u32 for each piece: where it ends in there
//   list      u8 for each piece: kInVocabulary, kIsWhole
//   list      merges as MergeTable::entries() has them: i32 right, i32 left, u32 rank, i32 result each
//   list      f64 for each piece: scores of a Unigram model
//   u64       XXH64 of all before
// Everything is checked on opening: the file may come from anywhere. Pure; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_FILE_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_FILE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"
#include "skald/tokenizers/detail/json/component_reader.h"
#include "skald/tokenizers/detail/json/component_writer.h"
#include "skald/tokenizers/detail/pipeline/pipeline_engine.h"
#include "skald/tokenizers/detail/pipeline/pipeline_tables.h"
#include "skald/tokenizers/detail/utf8_repair.h"
#include "skald/tokenizers/tokenizer_spec.h"

namespace skald::internal {

inline constexpr std::string_view kPipelineMagic = "SkaldTok";
inline constexpr uint32_t kPipelineVersion = 2;
inline constexpr uint8_t kInVocabulary = 1, kIsWhole = 2;

inline Result<std::string> PipelineEngine::ToBytes() const {
  ByteWriter file;
  for (const char letter : kPipelineMagic) file.Put(letter);
  file.Put(kPipelineVersion);
  file.PutList(std::span<const char>(WriteSmallParts(spec_)));
  std::string bytes;
  std::vector<uint32_t> ends;
  std::vector<uint8_t> flags;
  for (size_t id = 0; id < vocab_size(); ++id) {
    bytes += tables_.pieces[static_cast<int32_t>(id)];
    ends.push_back(static_cast<uint32_t>(bytes.size()));
    const bool is_whole = id < tables_.is_whole.size() && tables_.is_whole[id];
    flags.push_back(static_cast<uint8_t>((tables_.in_vocabulary[id] ? kInVocabulary : 0) | (is_whole ? kIsWhole : 0)));
  }
  file.PutList(std::span<const char>(bytes));
  file.PutList(std::span<const uint32_t>(ends));
  file.PutList(std::span<const uint8_t>(flags));
  file.PutList(tables_.merges.entries());
  file.PutList(std::span<const double>(tables_.scores));
  file.Put(Xxh64(file.bytes()));
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

inline Failure FailOnPipelineFile(std::string_view why) {
  return Fail(ErrorCode::kDataLoss, Concat({"the tokenizer's file ", why}));
}

// Reads the small parts.
inline Result<TokenizerSpec> ReadPipelineSpec(std::string_view text) {
  nlohmann::json tree;
  const JsonGuard guard(tree);
  if (!ParseJson(text, tree).empty() || !tree.is_object()) return FailOnPipelineFile("has no readable description");
  std::optional<Error> error;
  const JsonFields root(&tree, nullptr, "", &error);
  TokenizerSpec spec;
  ReadSmallParts(root, spec);
  if (const auto model = root.Object("model")) spec.model = ReadModelOptions(*model, false, false);
  const auto id = [&root](const char* name) -> std::optional<int32_t> {
    return root.Find(name) == nullptr ? std::nullopt : std::optional<int32_t>(ReadTokenId(root, name));
  };
  spec.bos_id = id("bos_id");
  spec.eos_id = id("eos_id");
  spec.unk_id = id("unk_id");
  spec.pad_id = id("pad_id");
  if (error) return Fail(error->code, "the tokenizer's file: " + error->message);
  return spec;
}

// Whether `ends` cuts `bytes` into pieces of UTF-8.
inline Result<void> CheckPieces(std::string_view bytes, std::span<const uint32_t> ends) {
  if (ValidUtf8Prefix(bytes) != bytes.size()) return FailOnPipelineFile("has a piece that is no UTF-8");
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    if (end < begin || end > bytes.size()) return FailOnPipelineFile("has a piece outside of its bytes");
    if (end < bytes.size() && ContinuesUtf8(bytes[end])) return FailOnPipelineFile("has a piece that is no UTF-8");
    begin = end;
  }
  return {};
}

// Reads the tables, as they are.
inline Result<PipelineTables> ReadPipelineTables(ByteReader& file) {
  std::string bytes(file.GetText());
  const std::vector<uint32_t> ends = file.GetList<uint32_t>();
  const std::vector<uint8_t> flags = file.GetList<uint8_t>();
  PipelineTables tables;
  std::vector<MergeTable::Entry> merges = file.GetList<MergeTable::Entry>();
  tables.scores = file.GetList<double>();
  if (!file.Finished()) return FailOnPipelineFile("is cut short or has other lists than it should");
  if (flags.size() != ends.size() || ends.size() > static_cast<size_t>(kMaxTokenId) + 1) {
    return FailOnPipelineFile("has another number of pieces than it should");
  }
  if (Result<void> checked = CheckPieces(bytes, ends); !checked) return Failure(checked.error());
  tables.pieces = TokenTexts(std::move(bytes), ends);
  tables.in_vocabulary.resize(ends.size());
  tables.is_whole.resize(ends.size());
  for (size_t id = 0; id < ends.size(); ++id) {
    tables.in_vocabulary[id] = flags[id] & kInVocabulary;
    tables.is_whole[id] = flags[id] & kIsWhole;
  }
  std::optional<MergeTable> table = MergeTable::From(std::move(merges));
  if (!table) return FailOnPipelineFile("has its merges in another order than it should");
  tables.merges = *std::move(table);
  return tables;
}

// Checks that merges and scores fit the pieces and the model.
inline Result<void> CheckPipelineTables(const PipelineTables& tables, const TokenModel& model) {
  const auto is_piece = [&tables](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < tables.pieces.size() &&
           tables.in_vocabulary[static_cast<size_t>(id)] != 0;
  };
  for (const MergeTable::Entry& merge : tables.merges.entries()) {
    if (!is_piece(merge.left()) || !is_piece(merge.right()) || !is_piece(merge.result)) {
      return FailOnPipelineFile("has a merge of pieces that are not in its vocabulary");
    }
  }
  const bool is_unigram = std::holds_alternative<token_model::Unigram>(model);
  const size_t pieces = tables.pieces.size();
  if (is_unigram ? tables.scores.size() > pieces : !tables.scores.empty()) {
    return FailOnPipelineFile("has another number of scores than it should");
  }
  for (const double score : tables.scores) {
    if (!std::isfinite(score)) return FailOnPipelineFile("has a score that is no number");
  }
  return {};
}

inline bool IsPipelineFile(std::string_view bytes) { return bytes.starts_with(kPipelineMagic); }

// Opens a file that PipelineEngine::ToBytes wrote.
inline Result<std::shared_ptr<const PipelineEngine>> ReadPipelineFile(std::string_view bytes) {
  constexpr size_t kChecksum = sizeof(uint64_t), kLeast = kPipelineMagic.size() + sizeof(uint32_t) + kChecksum;
  if (!IsPipelineFile(bytes) || bytes.size() < kLeast) return FailOnPipelineFile("is none or is cut short");
  const auto all = std::as_bytes(std::span(bytes));
  const auto content = all.first(all.size() - kChecksum);
  ByteReader file(content.subspan(kPipelineMagic.size()));
  if (const auto version = file.Get<uint32_t>(); version != kPipelineVersion) {
    return Fail(ErrorCode::kUnsupported, "the tokenizer's file has the version " + std::to_string(version) +
                                             ", what Skald reads is " + std::to_string(kPipelineVersion));
  }
  if (ByteReader(all.last(kChecksum)).Get<uint64_t>() != Xxh64(content)) {
    return FailOnPipelineFile("is damaged or cut short: its checksum is another one");
  }
  SKALD_ASSIGN(auto spec, ReadPipelineSpec(file.GetText()));
  SKALD_ASSIGN(auto tables, ReadPipelineTables(file));
  if (Result<void> fit = CheckPipelineTables(tables, spec.model); !fit) return Failure(fit.error());
  return PipelineEngine::Make(std::move(spec), std::move(tables));
}

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_PIPELINE_FILE_H_
