// SPDX-License-Identifier: Apache-2.0
//
// Files of torch.save: tensors of one that PyTorch wrote, damage in every place, and what such a file may not hold.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/weights/files/torch_file.h"
#include "tests/support/check_error.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace torch_file_test {

std::string Written(const char* name) {
  return *ReadSmallFile(GoldenPath(std::string("encoders/bge_m3/") + name), 1 << 20);
}

Result<TorchTensors> Parsed(const std::string& file) { return ParseTorchFile(std::as_bytes(std::span(file))); }

std::string Number(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

// A ZIP file with these entries, stored by `method`.
std::string Zip(const std::vector<std::pair<std::string, std::string>>& entries, uint64_t method = 0) {
  std::string file, directory;
  for (const auto& [name, content] : entries) {
    const std::string sizes = Number(content.size(), 4) + Number(content.size(), 4) + Number(name.size(), 2);
    const std::string common = Number(20, 2) + Number(0, 2) + Number(method, 2) + Number(0, 8) + sizes + Number(0, 2);
    directory += Number(0x02014b50, 4) + Number(20, 2) + common + Number(0, 10) + Number(file.size(), 4) + name;
    file += Number(0x04034b50, 4) + common + name + content;
  }
  const size_t begin = file.size();
  return file + directory + Number(0x06054b50, 4) + Number(0, 4) + Number(entries.size(), 2) +
         Number(entries.size(), 2) + Number(directory.size(), 4) + Number(begin, 4) + Number(0, 2);
}

std::string WithPickle(const std::string& pickle) { return Zip({{"a/data.pkl", "\x80\x02" + pickle + "."}}); }

TEST_CASE("a file that PyTorch wrote gives its tensors") {
  const std::string file = Written("colbert_linear.pt");
  const auto found = Parsed(file);
  REQUIRE_MESSAGE(found, found.error().message);
  REQUIRE(found->tensors.size() == 2);
  const TensorView &weight = found->tensors[0], &bias = found->tensors[1];
  CHECK(weight.name == "weight");
  CHECK(weight.dtype == DType::kF16);
  CHECK(std::vector<uint64_t>(weight.shape.begin(), weight.shape.end()) == std::vector<uint64_t>{20, 32});
  CHECK(weight.bytes.size() == 20 * 32 * 2);
  CHECK(bias.name == "bias");
  CHECK(bias.bytes.size() == 20 * 2);
}

TEST_CASE("with any damage a file is refused with a sentence, or has tensors within it") {
  const std::string file = Written("sparse_linear.pt");
  const auto is_harmless = [](const std::string& damaged) {
    const auto found = Parsed(damaged);
    if (!found) return !found.error().message.empty();
    for (const TensorView& tensor : found->tensors) {
      const auto* const begin = reinterpret_cast<const char*>(tensor.bytes.data());
      if (begin < damaged.data() || begin + tensor.bytes.size() > damaged.data() + damaged.size()) return false;
    }
    return true;
  };
  for (size_t i = 0; i < file.size(); ++i) {
    CAPTURE(i);
    CHECK(!Parsed(file.substr(0, i)));
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      CHECK(is_harmless(damaged));
    }
  }
}

TEST_CASE("what a dictionary of tensors does not need is refused by name") {
  const auto refused = [](const std::string& file, ErrorCode code, const char* why) {
    CheckError(Parsed(file), code, why);
  };
  refused("no file", ErrorCode::kUnsupported, "no ZIP file");
  refused(Zip({{"a/other", ""}}), ErrorCode::kUnsupported, "no data.pkl");
  refused(Zip({{"a/data.pkl", "."}}, 8), ErrorCode::kUnsupported, "compressed by the method 8");
  refused(Zip({{"a/data.pkl", "."}, {"a/data.pkl", "."}}), ErrorCode::kDataLoss, "two entries are called");
  refused(Zip({{"a/data.pkl", "."}, {"a/byteorder", "big"}}), ErrorCode::kUnsupported, "little-endian");
  const std::string text = std::string("X") + Number(2, 4) + "id";
  refused(WithPickle("cos\nsystem\n" + text + "\x85R"), ErrorCode::kUnsupported, "it calls 'os system'");
  refused(WithPickle("i"), ErrorCode::kUnsupported, "the operation 105");
  refused(WithPickle("}" + text + text + "s"), ErrorCode::kUnsupported, "something else than tensors");
  refused(WithPickle("N"), ErrorCode::kUnsupported, "no dictionary");
  refused(WithPickle("NN"), ErrorCode::kDataLoss, "one value");
  refused(WithPickle("t"), ErrorCode::kDataLoss, "lacks a mark");
  refused(WithPickle("h\x05"), ErrorCode::kDataLoss, "was not kept");
  refused(WithPickle("R"), ErrorCode::kDataLoss, "an empty stack");
  refused(WithPickle("J\xFF\xFF\xFF\xFF"), ErrorCode::kDataLoss, "negative");
  refused(WithPickle("X\xFF\xFF\xFF\xFF"), ErrorCode::kDataLoss, "cut off");
  CHECK(Parsed(WithPickle("}"))->tensors.empty());
}

TEST_CASE("tensors that are not whole, or of other types, are refused by name") {
  const auto with = [](const std::string& type, const std::string& shape, const std::string& strides) {
    const auto text = [](const std::string& one) { return "X" + Number(one.size(), 4) + one; };
    const std::string storage = "(" + text("storage") + "ctorch\n" + type + "\n" + text("0") + text("cpu") + "K\x06tQ";
    return Zip({{"a/data.pkl", "\x80\x02}" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n(" + storage +
                                   std::string("K\0", 2) + shape + strides + "\x89)tRs."},
                {"a/data/0", std::string(24, '\1')}});
  };
  const std::string matrix = "K\x02K\x03\x86", rows = "K\x03K\x01\x86";
  const auto found = Parsed(with("FloatStorage", matrix, rows));
  REQUIRE_MESSAGE(found, found.error().message);
  CHECK(found->tensors[0].bytes.size() == 24);
  CheckError(Parsed(with("LongStorage", matrix, rows)), ErrorCode::kUnsupported, "'w' is a 'LongStorage'");
  CheckError(Parsed(with("FloatStorage", matrix, "K\x01K\x02\x86")), ErrorCode::kUnsupported, "'w' is not whole");
  CheckError(Parsed(with("FloatStorage", "K\x03K\x03\x86", rows)), ErrorCode::kUnsupported, "'w' is not whole");
}

}  // namespace torch_file_test
}  // namespace skald::testing
