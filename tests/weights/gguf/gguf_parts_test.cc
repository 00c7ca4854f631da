// SPDX-License-Identifier: Apache-2.0
//
// GGUF files in several parts hold the weights of the whole file, and parts that do not belong together are refused.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/part_name.h"
#include "skald/model/load.h"
#include "skald/store/snapshots/identity.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_source.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/golden_configs.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gguf_parts_test {

constexpr uint32_t kCount = 3;

std::vector<NewGgufTensor> AllTensors() {
  return GgufTensors<GoldenLlama>(RawFile(GoldenPath("llama/model.safetensors")).Tensors(), "llama");
}

std::string NameOfPart(uint32_t number) { return PartName{"model", number, kCount}.All()[number - 1]; }

// Part `number`, from 1, of `count`: tensors by turns, but none in the first, which has the metadata.
std::string Part(uint32_t number, uint32_t count, const std::vector<NewGgufTensor>& all) {
  GgufValues values;
  if (number == 1) values.String("general.architecture", "llama");
  const auto u16 = [&](const char* name, uint32_t value) { values.Add(name, 2, Raw(static_cast<uint16_t>(value))); };
  u16("split.no", number - 1);
  u16("split.count", count);
  values.Add("split.tensors.count", 5, Raw(static_cast<int32_t>(all.size())));
  std::vector<NewGgufTensor> here;
  for (size_t i = 0; i < all.size(); ++i) {
    if (number > 1 && i % (kCount - 1) == number - 2) here.push_back(all[i]);
  }
  return GgufImage(values, here);
}

// A model in parts that lives as long as this.
class Parts {
 public:
  Parts() {
    for (uint32_t i = 1; i <= kCount; ++i) WriteFile(Path(i), Part(i, kCount, AllTensors()));
  }
  std::filesystem::path Path(uint32_t number) const { return folder_.path() / NameOfPart(number); }
  std::filesystem::path first() const { return Path(1); }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("names say which part a file is") {
  const auto part = PartNameOf("sub/m-Q4_0-00002-of-00011.gguf");
  REQUIRE(part);
  CHECK(part->model == "sub/m-Q4_0");
  CHECK(part->number == 2);
  CHECK(part->count == 11);
  CHECK(part->All().front() == "sub/m-Q4_0-00001-of-00011.gguf");
  CHECK(part->All().back() == "sub/m-Q4_0-00011-of-00011.gguf");
  for (const char* const name : {"m.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf", "m-0001-of-00002.gguf",
                                 "m-00001-of-00002", "m-00001of-00002.gguf", "00001-of-00002.gguf", "-of-00002.gguf"}) {
    CHECK_FALSE(PartNameOf(name));
  }
}

TEST_CASE("the parts of a model hold the weights of the whole") {
  const Parts parts;
  const auto whole = parts.folder() / "whole.gguf";
  WriteFile(whole, GgufImage(GgufValues().String("general.architecture", "llama"), AllTensors()));
  const auto weights = LoadWeights<GoldenLlama>(parts.first());
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadWeights<GoldenLlama>(whole)));
  const auto file = GgufFile::Open(parts.first());
  REQUIRE(file);
  CHECK(file->size() == AllTensors().size());
  CHECK(file->parts().size() == kCount);
}

TEST_CASE("a model is another one where one of its parts is") {
  const Parts parts;
  const auto digest = DigestOfWeights(parts.first());
  const auto opened = OpenedModel::Open(parts.first());
  REQUIRE(opened);
  const auto source = opened->DescribeSource();
  REQUIRE(source);
  CHECK(*source == *DescribeSource(parts.first()));
  auto tensors = AllTensors();
  std::ranges::reverse(tensors.back().bytes);
  WriteFile(parts.Path(2), Part(2, kCount, tensors));
  WriteFile(parts.Path(3), Part(3, kCount, tensors));
  CHECK(*DigestOfWeights(parts.first()) != *digest);
  CHECK(*DescribeSource(parts.first()) != *source);
}

TEST_CASE("parts that do not belong together are refused") {
  const Parts parts;
  const auto error_of_first = [&] { return GgufFile::Open(parts.first()); };

  SUBCASE("another part than the first") {
    CheckError(GgufFile::Open(parts.Path(2)), ErrorCode::kInvalidArgument,
               "is part 2 of 3 of a model: open the first, model-00001-of-00003.gguf");
  }
  SUBCASE("a part that is missing") {
    std::filesystem::remove(parts.Path(3));
    CheckError(error_of_first(), ErrorCode::kNotFound, "model-00003-of-00003.gguf");
  }
  SUBCASE("parts in each other's place") {
    std::filesystem::rename(parts.Path(2), parts.folder() / "other");
    std::filesystem::rename(parts.Path(3), parts.Path(2));
    std::filesystem::rename(parts.folder() / "other", parts.Path(3));
    CheckError(error_of_first(), ErrorCode::kDataLoss, "its metadata do not say that it is part 2 of 3");
  }
  SUBCASE("a part of another number of parts") {
    WriteFile(parts.Path(2), Part(2, 4, AllTensors()));
    CheckError(error_of_first(), ErrorCode::kDataLoss, "its metadata do not say that it is part 2 of 3");
  }
  SUBCASE("a name without numbers") {
    const auto renamed = parts.folder() / "model.gguf";
    std::filesystem::rename(parts.first(), renamed);
    CheckError(GgufFile::Open(renamed), ErrorCode::kDataLoss, "part 1 of 3, its name does not end in");
  }
  SUBCASE("a whole file with the name of a part") {
    WriteFile(parts.first(), GgufImage(GgufValues(), AllTensors()));
    CheckError(error_of_first(), ErrorCode::kDataLoss, "part 1 of 1, its name that it is part 1 of 3");
  }
  SUBCASE("a tensor in two parts") {
    auto tensors = AllTensors();
    tensors[1].name = tensors[0].name;
    WriteFile(parts.Path(3), Part(3, kCount, tensors));
    CheckError(error_of_first(), ErrorCode::kDataLoss, "' is in two of the parts");
  }
  SUBCASE("a part without its tensors") {
    WriteFile(parts.Path(3), Part(3, kCount, {}));
    CheckError(error_of_first(), ErrorCode::kDataLoss, "tensors, and its metadata promise another number");
  }
}

}  // namespace gguf_parts_test
}  // namespace skald::testing
