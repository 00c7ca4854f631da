// SPDX-License-Identifier: Apache-2.0
//
// The reader of GGUF files: what it reads, and what it refuses.

#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/gguf_writer.h"

namespace skald::testing {
namespace gguf_test {

Result<GgufContents> Parse(const std::string& image) { return ParseGguf("file", std::as_bytes(std::span(image))); }

nlohmann::json JsonOf(const GgufArray& array) {
  nlohmann::json json = nlohmann::json::array();
  array.ForEach([&json](const GgufValue& value) {
    const auto* const inner = std::get_if<GgufArray>(&value);
    json.push_back(inner != nullptr ? JsonOf(*inner) : skald::JsonOf(std::get<GgufScalar>(value)));
    return true;
  });
  return json;
}

// Returns the sentence after the file's name, or "accepted".
std::string ErrorOf(const std::string& image) {
  const Result<GgufContents> contents = Parse(image);
  return contents ? "accepted" : contents.error().message.substr(std::string("file: ").size());
}

std::string ErrorOf(const GgufValues& values, const std::vector<NewGgufTensor>& tensors = {}) {
  return ErrorOf(GgufImage(values, tensors));
}

// Returns `image` with the bytes at `at` replaced.
template <class T>
std::string With(std::string image, size_t at, T value) {
  return image.replace(at, sizeof(T), Raw(value));
}

// One of everything. The parts of its image are where a cut could matter.
GgufValues SomeValues() {
  GgufValues values;
  values.String("general.architecture", "llama").U32("a.u32", 7).F32("a.f32", 0.5f).Bool("a.bool", true);
  values.Strings("a.strings", {"x", "", "a longer one"}).Numbers<float>("a.floats", 6, {1.0f, -2.0f});
  return values;
}

std::vector<NewGgufTensor> SomeTensors() {
  return {{"first", 0, {2, 3}, std::string(24, 'a')},
          {"second", 8, {2, 32}, std::string(68, 'b')},
          {"third", 30, {5}, std::string(10, 'c')}};
}

TEST_CASE("Values of all types are read") {
  GgufValues values;
  values.Add("u8", 0, Raw(uint8_t{200})).Add("i8", 1, Raw(int8_t{-3})).Add("u16", 2, Raw(uint16_t{60000}));
  values.Add("i16", 3, Raw(int16_t{-300})).U32("u32", 4'000'000'000).Add("i32", 5, Raw(int32_t{-70000}));
  values.F32("f32", 0.1f).Bool("yes", true).Bool("no", false).String("text", std::string("a\0\xFF", 3));
  values.Add("u64", 10, Raw(std::numeric_limits<uint64_t>::max())).Add("i64", 11, Raw(int64_t{-5'000'000'000}));
  values.Add("f64", 12, Raw(0.1)).Strings("strings", {"p", "q"}).Numbers<int32_t>("numbers", 5, {-1, 2});
  values.Numbers<float>("none", 6, {}).F32("nan", std::nanf(""));
  const std::string inner = Raw(uint32_t{0}) + Raw(uint64_t{2}) + "\1\2";
  values.Add("nested", 9, Raw(uint32_t{9}) + Raw(uint64_t{2}) + inner + inner);
  const std::string image = GgufImage(values, {});  // what arrays refer to
  const Result<GgufContents> contents = Parse(image);
  REQUIRE(contents);
  const nlohmann::json read = skald::JsonOf(contents->metadata);
  CHECK(read.size() == values.count());
  CHECK(read["u8"] == 200);
  CHECK(read["i8"] == -3);
  CHECK(read["u16"] == 60000);
  CHECK(read["i16"] == -300);
  CHECK(read["u32"] == 4'000'000'000);
  CHECK(read["i32"] == -70000);
  CHECK(read["f32"].get<float>() == 0.1f);
  CHECK(read["yes"] == true);
  CHECK(read["no"] == false);
  CHECK(read["text"].get<std::string>() == std::string("a\0\xFF", 3));
  CHECK(read["u64"].get<uint64_t>() == std::numeric_limits<uint64_t>::max());
  CHECK(read["i64"] == -5'000'000'000);
  CHECK(read["f64"] == 0.1);
  CHECK(std::isnan(read["nan"].get<float>()));
  const auto array = [&](const char* name) { return JsonOf(*contents->metadata.Array(name)); };
  CHECK(array("strings") == nlohmann::json{"p", "q"});
  CHECK(array("numbers") == nlohmann::json{-1, 2});
  CHECK(array("none") == nlohmann::json::array());
  CHECK(array("nested") == nlohmann::json{{1, 2}, {1, 2}});
  for (const char* name : {"strings", "numbers", "none", "nested"}) CHECK(read[name] == nlohmann::json::array());
  CHECK(contents->metadata.arrays.size() == 4);
  CHECK(contents->metadata.Array("u8") == nullptr);
  size_t seen = 0;
  contents->metadata.Array("numbers")->ForEach([&](const GgufValue&) { return ++seen, false; });
  CHECK(seen == 1);
}

TEST_CASE("Tensors lie where the file says, in versions 2 and 3 and with any alignment") {
  for (const uint32_t alignment : {1u, 8u, 32u, 64u, 4096u}) {
    GgufValues values = SomeValues();
    if (alignment != 32) values.U32("general.alignment", alignment);
    const std::string image = GgufImage(values, SomeTensors(), alignment);
    for (const uint32_t version : {2u, 3u}) {
      CAPTURE(alignment);
      const Result<GgufContents> contents = Parse(With(image, 4, version));
      REQUIRE(contents);
      REQUIRE(contents->tensors.size() == 3);
      for (size_t i = 0; i < 3; ++i) {
        const NewGgufTensor written = SomeTensors()[i];
        const GgufTensor& tensor = contents->tensors[i];
        CHECK(tensor.name == written.name);
        CHECK(tensor.type->id == written.type);
        CHECK(tensor.shape == written.shape);
        CHECK(tensor.begin % alignment == 0);
        CHECK(image.substr(tensor.begin, tensor.size) == written.bytes);
      }
    }
  }
}

TEST_CASE("Other formats, versions and byte orders are refused") {
  const std::string image = GgufImage(SomeValues(), {});
  CHECK(ErrorOf("") == "not a GGUF file: it does not begin with the letters GGUF");
  CHECK(ErrorOf("GGML" + image.substr(4)) == "not a GGUF file: it does not begin with the letters GGUF");
  CHECK(ErrorOf(With(image, 4, uint32_t{1})) == "is GGUF version 1, expected 2 or 3");
  CHECK(ErrorOf(With(image, 4, uint32_t{4})) == "is GGUF version 4, expected 2 or 3");
  CHECK(ErrorOf(With(image, 4, uint32_t{0x03000000})) == "is big-endian, and only little-endian GGUF files are read");
  CHECK(Parse(With(image, 4, uint32_t{9})).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("A file cut short anywhere is refused, and none is read as far as it goes") {
  GgufParts parts;
  const std::string image = GgufImage(SomeValues(), SomeTensors(), 32, &parts);
  REQUIRE(ErrorOf(image) == "accepted");
  for (size_t size = 0; size < image.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(Parse(image.substr(0, size)));
  }
  CHECK(ErrorOf(image.substr(0, 6)) == "cut short: it ends at byte 6, inside of its version");
  CHECK(ErrorOf(image.substr(0, parts.values - 4)) == "the number of tensors is 3, but only 4 bytes follow");
  CHECK(ErrorOf(image.substr(0, parts.tensors - 2)).find("metadata 'a.floats'") != std::string::npos);
  CHECK(ErrorOf(image.substr(0, parts.data - 32)).find("tensor 'third'") != std::string::npos);
  CHECK(ErrorOf(image.substr(0, parts.end - 1)) ==
        "tensor 'third' of 10 bytes begins at byte " + std::to_string(parts.end - 10) +
            " of the file, which is cut short: it has " + std::to_string(parts.end - 1));
}

TEST_CASE("Counts and lengths that the file cannot hold are refused before they are used") {
  const std::string image = GgufImage(SomeValues(), SomeTensors());
  const size_t left = image.size() - 24;
  constexpr auto kHuge = std::numeric_limits<uint64_t>::max();
  CHECK(ErrorOf(With(image, 8, kHuge)) ==
        "the number of tensors is 18446744073709551615, but only " + std::to_string(left + 8) + " bytes follow");
  CHECK(ErrorOf(With(image, 16, kHuge)) ==
        "the number of metadata values is 18446744073709551615, but only " + std::to_string(left) + " bytes follow");
  CHECK(ErrorOf(With(image, 24, kHuge)).find("the length of the name of metadata value 0 is 184467440737") == 0);
  for (const uint64_t length : {uint64_t{1} << 32, kHuge, kHuge - 7}) {
    CHECK(ErrorOf(GgufValues().Add("s", 8, Raw(length) + "abc")).find("the length of metadata 's' is") == 0);
    CHECK(ErrorOf(GgufValues().Add("s", 9, Raw(uint32_t{10}) + Raw(length))).find("the length of metadata 's'") == 0);
  }
  // One more, or one fewer, than there are: what follows makes no sense.
  CHECK(ErrorOf(With(image, 16, uint64_t{7})) != "accepted");
  CHECK(ErrorOf(With(image, 16, uint64_t{5})) != "accepted");
  CHECK(ErrorOf(With(image, 8, uint64_t{4})) != "accepted");
}

TEST_CASE("Large arrays take no memory of their own, and many small values are refused") {
  const std::string numbers = Raw(uint32_t{0}) + Raw(uint64_t{10'000'000}) + std::string(10'000'000, '\1');
  const std::string image = GgufImage(GgufValues().Add("numbers", 9, numbers), {});
  CHECK(Parse(image)->metadata.Array("numbers")->size() == 10'000'000);
  std::string nested = Raw(uint32_t{9}) + Raw(uint64_t{100'000});
  for (int i = 0; i < 100'000; ++i) nested += Raw(uint32_t{0}) + Raw(uint64_t{0});
  CHECK(Parse(GgufImage(GgufValues().Add("nested", 9, nested), {}))->metadata.Array("nested")->size() == 100'000);
  GgufValues many;
  for (int i = 0; i < (1 << 16) + 1; ++i) many.Bool(std::to_string(i), true);
  CHECK(ErrorOf(many) == "the number of metadata values is 65537, expected at most 65536");
}

TEST_CASE("Values that make no sense are refused by name") {
  CHECK(ErrorOf(GgufValues().Add("v", 13, "xxxx")) == "metadata 'v' is of type 13, expected 0 to 12");
  CHECK(ErrorOf(GgufValues().Add("v", 9, Raw(uint32_t{77}) + Raw(uint64_t{1}) + "xxxx")) ==
        "metadata 'v' is of type 77, expected 0 to 12");
  CHECK(ErrorOf(GgufValues().Add("v", 7, "\2")) == "metadata 'v' must be 0 or 1, but is 2");
  CHECK(ErrorOf(GgufValues().U32("v", 1).U32("w", 1).String("v", "1")) == "metadata 'v' is there twice");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += Raw(uint32_t{9}) + Raw(uint64_t{1});
  CHECK(ErrorOf(GgufValues().Add("v", 9, deep)) == "metadata 'v' is an array in too many arrays");
  for (const uint32_t alignment : {0u, 3u, 48u, 1u << 21}) {
    CHECK(ErrorOf(GgufValues().U32("general.alignment", alignment)) ==
          "metadata 'general.alignment' must be a power of two up to 1048576");
  }
  CHECK(ErrorOf(GgufValues().String("general.alignment", "32")) != "accepted");
}

TEST_CASE("Tensors that make no sense are refused by name") {
  const auto error_of = [](const NewGgufTensor& tensor) { return ErrorOf({}, {tensor}); };
  CHECK(error_of({"t", 4, {32}, std::string(64, 0)}) == "tensor 't' is of type 4, which is unknown here");
  CHECK(error_of({"t", 99, {32}, std::string(64, 0)}) == "tensor 't' is of type 99, which is unknown here");
  CHECK(error_of({"t", 36, {1, 128}, std::string(64, 0)}) ==
        "tensor 't' is of type 36, which is I2_S of bitnet.cpp: expected TQ1_0 or TQ2_0");
  CHECK(error_of({"t", 12, {3, 128}, std::string(999, 0)}) ==
        "tensor 't' of type Q4_K has rows of 128 elements, expected a multiple of 256");
  CHECK(error_of({"t", 0, {}, "xxxxxxxx"}) == "tensor 't' has 0 axes, expected 1 to 4");
  CHECK(error_of({"t", 0, {1, 1, 1, 1, 1}, "xxxx"}) == "tensor 't' has 5 axes, expected 1 to 4");
  for (const std::vector<uint64_t>& shape :
       std::vector<std::vector<uint64_t>>{{1ull << 32, 1ull << 32}, {1ull << 62}, {3, 1ull << 31, 1ull << 31, 4}}) {
    CHECK(error_of({"t", 0, shape, "xxxx"}).find("has more bytes than 64 bits can count") != std::string::npos);
  }
  CHECK(error_of({"t", 0, {1ull << 40}, "xxxx"}).find("cut short") != std::string::npos);
  CHECK(ErrorOf({}, {{"t", 0, {1}, "xxxx"}, {"t", 0, {1}, "yyyy"}}) == "tensor 't' is there twice");
  CHECK(Parse(GgufImage({}, {{"t", 99, {1}, "xxxx"}})).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("Offsets that overlap, leave gaps or are not aligned are refused") {
  GgufParts parts;
  const std::string image = GgufImage({}, {{"a", 0, {1}, "xxxx"}, {"b", 0, {1}, "yyyy"}}, 32, &parts);
  REQUIRE(ErrorOf(image) == "accepted");
  const size_t offset_at = parts.tensors + 2 * (8 + 1 + 4 + 8 + 4) + 8;  // of b
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4}, uint64_t{31}, uint64_t{64}, ~uint64_t{0}, ~uint64_t{31}}) {
    CAPTURE(offset);
    CHECK(ErrorOf(With(image, offset_at, offset)) ==
          "tensor 'b' begins at byte " + std::to_string(offset) + " of the data, expected 32, aligned to 32");
  }
}

TEST_CASE("The file ends with the last tensor, aligned or not") {
  const std::string image = GgufImage({}, {{"a", 0, {1}, "xxxx"}});
  for (const size_t more : {0, 28}) CHECK(ErrorOf(image + std::string(more, 0)) == "accepted");
  CHECK(ErrorOf(image + std::string(4, 0)) == "the last tensor ends at byte " + std::to_string(image.size()) +
                                                  ", but the file has " + std::to_string(image.size() + 4));
  CHECK(ErrorOf(GgufImage({}, {}) + std::string(40, 0)) != "accepted");
}

TEST_CASE("Names from the file reach an error message without control characters") {
  CHECK(ErrorOf(GgufValues().Add("\x1B[2J", 99, "")) == "metadata '?[2J' is of type 99, expected 0 to 12");
}

TEST_CASE("A damaged byte is found, or changes only what it stands for") {
  GgufParts parts;
  const std::string image = GgufImage(SomeValues(), SomeTensors(), 32, &parts);
  std::mt19937 random(1);
  for (size_t at = 0; at < parts.data; ++at) {
    for (int i = 0; i < 8; ++i) {
      std::string damaged = image;
      damaged[at] = static_cast<char>(i < 2 ? (i == 0 ? 0x00 : 0xFF) : random());
      const Result<GgufContents> contents = Parse(damaged);
      if (!contents) {
        CHECK(contents.error().message.size() > std::string("file: ").size());
        continue;
      }
      for (const GgufTensor& tensor : contents->tensors) {
        CHECK(tensor.begin <= damaged.size());
        CHECK(tensor.size <= damaged.size() - tensor.begin);
      }
    }
  }
}

}  // namespace gguf_test
}  // namespace skald::testing
