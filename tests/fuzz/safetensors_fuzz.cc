// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of safetensors files: the input is a file. It is read unchanged, and again with its header extended
// to the last closing brace, so that mutations of its length do not hide the content after it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "skald/weights/files/safetensors.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void ReadFile(std::span<const std::byte> image) {
  const Result<SafetensorsContents> contents = ParseSafetensors("input", image);
  if (!contents) return Require(!contents.error().message.empty());
  Require(contents->data_begin <= image.size());
  const size_t data_size = image.size() - contents->data_begin;
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : contents->entries) {
    Require(entry.begin <= entry.end && entry.end <= data_size);
    covered += entry.end - entry.begin;
  }
  Require(covered == data_size);
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = std::as_bytes(std::span(data, size));
  skald::ReadFile(image);
  const auto brace = std::find(image.rbegin(), image.rend(), std::byte{'}'});
  const auto end = static_cast<uint64_t>(image.rend() - brace);
  if (end <= sizeof(end)) return 0;
  std::vector<std::byte> repaired(image.begin(), image.end());
  const uint64_t length = end - sizeof(length);
  std::memcpy(repaired.data(), &length, sizeof(length));
  skald::ReadFile(repaired);
  return 0;
}
