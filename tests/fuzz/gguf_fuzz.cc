// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of GGUF files: the input is a file. Tensors of an accepted file must be inside of it, and its
// metadata go through the readers of architectures; blocks of quantised tensors are decoded.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>

#include "skald/families/detail/parse_gguf.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_json.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void ReadTensor(const GgufTensor& tensor, std::span<const std::byte> image) {
  Require(tensor.begin <= image.size() && tensor.size <= image.size() - tensor.begin);
  Require(tensor.size % tensor.type->block_bytes == 0 && !tensor.shape.empty());
  const GroupFormat* const format = FindGroupFormat(tensor.type->name);
  if (format == nullptr) return;
  for (size_t at = 0; at < tensor.size; at += tensor.type->block_bytes) {
    CodeGroup groups[16];
    format->decode(image.data() + tensor.begin + at, groups);
  }
}

void VisitElements(const GgufArray& array) {
  uint64_t elements = 0;
  array.ForEach([&elements](const GgufValue& value) {
    if (const auto* const inner = std::get_if<GgufArray>(&value)) VisitElements(*inner);
    return ++elements > 0;
  });
  Require(elements == array.size());
}

void ReadFile(std::span<const std::byte> image) {
  const Result<GgufContents> contents = ParseGguf("input", image);
  if (!contents) return Require(!contents.error().message.empty());
  for (const GgufTensor& tensor : contents->tensors) ReadTensor(tensor, image);
  for (const auto& [name, array] : contents->metadata.arrays) VisitElements(array);
  const auto models = ParseConfigGguf(JsonOf(contents->metadata), {.vocab_size = 7, .has_head = true});
  Require(models ? !models->empty() : !models.error().message.empty());
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skald::ReadFile(std::as_bytes(std::span(data, size)));
  return 0;
}
