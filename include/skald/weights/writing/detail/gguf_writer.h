// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/gguf_writer.h.

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_GGUF_WRITER_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_GGUF_WRITER_H_

#include "skald/weights/writing/gguf_writer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/writing/block_encoder.h"
#include "skald/weights/writing/detail/gguf_draft.h"

namespace skald {

namespace internal {

inline constexpr uint64_t kGgufAlignment = 32;  // of tensors, if the metadata say nothing else

inline uint64_t DraftBytes(const DraftTensor& tensor) {
  return tensor.rows() * (tensor.cols() / tensor.type->block_elements) * tensor.type->block_bytes;
}

inline uint64_t AlignedGguf(uint64_t offset) { return (offset + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment; }

// Header, metadata and list of tensors, padded.
inline std::string GgufHead(const std::vector<GgufEntry>& entries, const std::vector<const DraftTensor*>& tensors) {
  std::string head = "GGUF";
  head += BytesOfValue(uint32_t{3}) + BytesOfValue(uint64_t{tensors.size()});
  head += BytesOfValue(uint64_t{entries.size()});
  for (const GgufEntry& entry : entries) head += BytesOfText(entry.name) + BytesOfValue(entry.type) + entry.bytes;
  uint64_t offset = 0;
  for (const DraftTensor* const tensor : tensors) {
    head += BytesOfText(tensor->name) + BytesOfValue(static_cast<uint32_t>(tensor->shape.size()));
    for (size_t i = tensor->shape.size(); i-- > 0;) head += BytesOfValue(uint64_t{tensor->shape[i]});
    head += BytesOfValue(tensor->type->id) + BytesOfValue(offset);
    offset = AlignedGguf(offset + DraftBytes(*tensor));
  }
  head.resize(static_cast<size_t>(AlignedGguf(head.size())));
  return head;
}

inline Result<void> CheckDraft(const DraftTensor& tensor) {
  if (tensor.stored == tensor.type) return {};
  if (FindBlockEncoder(*tensor.type) == nullptr || !tensor.read_row) {
    return Fail(ErrorCode::kUnsupported,
                Concat({QuotedName(tensor.name), ": cannot be written as ", tensor.type->name}));
  }
  if (tensor.cols() % tensor.type->block_elements == 0) return {};
  return Fail(ErrorCode::kInvalidArgument,
              Concat({QuotedName(tensor.name), ": rows of ", std::to_string(tensor.cols()), " elements, expected for ",
                      tensor.type->name, " a multiple of ", std::to_string(tensor.type->block_elements)}));
}

// Whether a type can hold these elements: floats hold all, half floats those in their range, others finite ones.
inline bool CanHold(const GgufType& type, std::span<const float> values) {
  if (type.name == "F32" || type.name == "BF16") return true;
  const float limit = type.name == "F16" ? 65519.0f : std::numeric_limits<float>::max();
  return std::ranges::all_of(values, [limit](float value) { return std::abs(value) <= limit; });
}

// The importance of the columns of a row; null: all count alike.
inline const float* ImportanceOf(const DraftTensor& tensor, uint64_t row) {
  if (tensor.importance.empty()) return nullptr;
  const uint64_t matrices = tensor.importance.size() / tensor.cols();
  return tensor.importance.data() + row / (tensor.rows() / matrices) * tensor.cols();
}

// Encodes rows [begin, begin + count) of a tensor. Returns whether its type can hold them.
inline bool EncodeRows(const DraftTensor& tensor, uint64_t begin, uint64_t count, ExecutorRef executor,
                       std::vector<std::byte>& encoded) {
  const size_t cols = static_cast<size_t>(tensor.cols());
  const size_t row_bytes = cols / tensor.type->block_elements * tensor.type->block_bytes;
  const BlockEncoder encode = FindBlockEncoder(*tensor.type);
  encoded.resize(static_cast<size_t>(count) * row_bytes);
  std::atomic<bool> all_fit = true;
  const size_t tasks = std::min<size_t>(static_cast<size_t>(count), executor.num_workers() * 4);
  const auto task = [&](size_t index) {
    std::vector<float> values(cols);
    const uint64_t end = count * (index + 1) / tasks;
    for (uint64_t row = count * index / tasks; row < end; ++row) {
      tensor.read_row(begin + row, values);
      if (!CanHold(*tensor.type, values)) {
        all_fit = false;
        return;
      }
      encode(values, ImportanceOf(tensor, begin + row), encoded.data() + static_cast<size_t>(row) * row_bytes);
    }
  };
  executor.Run(tasks, task);
  return all_fit;
}

// Writes one tensor and its padding. `written(bytes)` is called after each part.
template <class Written>
Result<void> WriteTensor(const DraftTensor& tensor, ExecutorRef executor, FileSink& sink, Written written) {
  static constexpr std::byte kZeros[kGgufAlignment] = {};
  const uint64_t bytes = DraftBytes(tensor);
  if (tensor.stored == tensor.type) {
    SKALD_TRY(sink.Write(tensor.bytes));
    written(bytes);
  } else {
    constexpr uint64_t kElementsAtATime = uint64_t{1} << 24;
    const uint64_t step = std::max<uint64_t>(1, kElementsAtATime / std::max<uint64_t>(1, tensor.cols()));
    std::vector<std::byte> encoded;
    for (uint64_t row = 0; row < tensor.rows(); row += step) {
      if (!EncodeRows(tensor, row, std::min(step, tensor.rows() - row), executor, encoded)) {
        return Fail(ErrorCode::kInvalidArgument, Concat({QuotedName(tensor.name), ": has elements that ",
                                                         tensor.type->name, " cannot hold: not finite, or too large"}));
      }
      SKALD_TRY(sink.Write(encoded));
      written(encoded.size());
    }
  }
  return sink.Write(std::span(kZeros).first(static_cast<size_t>(AlignedGguf(bytes) - bytes)));
}

}  // namespace internal

SKALD_INLINE Result<void> WriteGguf(const std::filesystem::path& path, const GgufDraft& draft, ExecutorRef executor,
                                    const std::function<void(const WriteProgress&)>& progress) {
  return NoThrow(PathText(path), [&]() -> Result<void> {
    uint64_t total = 0, done = 0;
    const std::vector<const DraftTensor*> tensors = draft.Written();
    for (const DraftTensor* const tensor : tensors) {
      SKALD_TRY(internal::CheckDraft(*tensor));
      total += internal::DraftBytes(*tensor);
    }
    auto sink = FileSink::Create(path, 0644);  // weights are not secret
    if (!sink) return Failure(sink.error());
    const std::string head = internal::GgufHead(draft.entries, tensors);
    SKALD_TRY(sink->Write(std::as_bytes(std::span(head))));
    for (const DraftTensor* const tensor : tensors) {
      SKALD_TRY(internal::WriteTensor(*tensor, executor, *sink, [&](uint64_t bytes) {
        done += bytes;
        if (progress) progress({tensor->name, done, total});
      }));
    }
    return sink->Commit();
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_GGUF_WRITER_H_
