// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/files/safetensors.h"
#include "skald/base/text/message.h"

#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/safetensors_writer.h"

namespace skald {
namespace safetensors_test {

using testing::NewTensor;
using testing::SafetensorsImage;

Result<SafetensorsContents> Parse(std::string_view image) {
  return ParseSafetensors("file", std::as_bytes(std::span(image.data(), image.size())));
}

// Returns the error that this header with `data_size` bytes of data gives, or "accepted".
std::string ErrorOf(std::string_view header, size_t data_size = 8) {
  const auto contents = Parse(SafetensorsImage(header, std::string(data_size, 'x')));
  if (contents) return "accepted";
  CHECK(contents.error().code == ErrorCode::kDataLoss);
  return contents.error().message;
}

TEST_CASE("A file gives its tensors by name, with dtype, shape and bytes") {
  const testing::TemporaryFolder folder;
  const std::vector<NewTensor> tensors = {
      {"second", "BF16", {2, 1}, "abcd"}, {"first", "I64", {}, "12345678"}, {"third", "F4", {2}, "x"}};
  testing::WriteFile(folder.path() / "file", SafetensorsImage(tensors));
  const Result<SafetensorsFile> file = SafetensorsFile::Open(folder.path() / "file");
  REQUIRE(file);
  REQUIRE(file->size() == 3);
  CHECK(file->Contains("third"));
  CHECK(!file->Contains("fourth"));

  const TensorView first = (*file)[0], second = (*file)[1];
  CHECK(first.name == "first");
  CHECK(first.dtype_name == "I64");
  CHECK(!first.dtype);
  CHECK(first.shape.empty());
  CHECK(second.dtype == DType::kBF16);
  CHECK(ShapeText(second.shape) == "[2, 1]");
  CHECK(std::string_view(reinterpret_cast<const char*>(second.bytes.data()), second.bytes.size()) == "abcd");
}

TEST_CASE("Empty tensors, empty files and blanks after the header are well-formed") {
  CHECK(ErrorOf("{}", 0) == "accepted");
  CHECK(ErrorOf("{}     ", 0) == "accepted");
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                    "b":{"dtype":"F32","shape":[0,9],"data_offsets":[8,8]},
                    "c":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})") == "accepted");
}

TEST_CASE("An element type of a newer format is accepted until somebody asks for the tensor") {
  CHECK(ErrorOf(R"({"a":{"dtype":"F3_E1M1","shape":[21],"data_offsets":[0,8]}})") == "accepted");
}

TEST_CASE("A file too short for its header is refused") {
  CHECK(Parse("").error().message == "file: not a safetensors file: expected at least 8 bytes, found 0");
  CHECK(Parse("1234567").error().message == "file: not a safetensors file: expected at least 8 bytes, found 7");
  CHECK(Parse(SafetensorsImage("{}", "").substr(0, 9)).error().message ==
        "file: cut short: its header claims 2 bytes, but only 1 follow");
}

TEST_CASE("A header length of zero, of an impossible size or of all ones is refused") {
  CHECK(Parse(std::string(16, '\0')).error().message == "file: its header must be a JSON object and begin with '{'");
  CHECK(Parse(std::string("\1\xE1\xF5\5\0\0\0\0", 8)).error().message ==
        "file: not a safetensors file: its header claims 100000001 bytes, the format allows "
        "100000000");
  CHECK(Parse(std::string(64, '\xFF')).error().message.find("claims 18446744073709551615 bytes") != std::string::npos);
}

TEST_CASE("A header that is not a JSON object is refused") {
  const std::string no_object = "file: its header must be a JSON object and begin with '{'";
  CHECK(ErrorOf("[1, 2]") == no_object);
  CHECK(ErrorOf("  {}") == no_object);
  CHECK(ErrorOf("\xEF\xBB\xBF{}") == no_object);
  for (const std::string& broken : std::vector<std::string>{"{]", "{} {}", "{\"a", "{\"\xFF\":1}", "{\"a\":1e999}"}) {
    CAPTURE(broken);
    CHECK(ErrorOf(broken).starts_with("file: its header is not valid JSON from byte "));
  }
}

TEST_CASE("Nesting of any depth is refused without recursion") {
  const std::string deep(1'000'000, '['), end(1'000'000, ']');
  for (const std::string& header : std::vector<std::string>{"{\"a\":" + deep, "{\"a\":" + deep + end + "}",
                                                            "{\"a\":{\"shape\":" + deep + end + "}}"}) {
    CHECK(ErrorOf(header) == "file: its header is nested deeper than 8 levels");
  }
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(ErrorOf(objects) == "file: its header is nested deeper than 8 levels");
}

TEST_CASE("A value of the wrong JSON type is refused with what was expected") {
  const auto with = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return ErrorOf("{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}");
  };
  CHECK(with("\"F32\"", "[2]", "[0,8]") == "accepted");
  CHECK(with("7", "[2]", "[0,8]") == "file: tensor 'a': dtype must be a string, found number");
  CHECK(with("null", "[2]", "[0,8]") == "file: tensor 'a': dtype must be a string, found null");
  CHECK(with("[\"F32\"]", "[2]", "[0,8]") == "file: tensor 'a': dtype must be a string, found array");
  for (const std::string& shape :
       std::vector<std::string>{"2", "{}", "\"2\"", "null", "[\"2\"]", "[[2]]", "[{}]", "[true]", "[-2]", "[2.0]",
                                "[2e0]", "[18446744073709551616]"}) {
    CAPTURE(shape);
    CHECK(with("\"F32\"", shape, "[0,8]") ==
          "file: tensor 'a': shape must be an array of non-negative 64-bit integers");
  }
  for (const std::string& offsets :
       std::vector<std::string>{"8", "{}", "\"0,8\"", "[]", "[8]", "[0,4,8]", "[-0,8]", "[0,-8]", "[0,8.0]",
                                "[0,18446744073709551616]", "[0,null]"}) {
    CAPTURE(offsets);
    CHECK(with("\"F32\"", "[2]", offsets) == "file: tensor 'a': data_offsets must be two non-negative 64-bit integers");
  }
  for (const std::string& metadata : std::vector<std::string>{"\"pt\"", "{\"format\":1}", "[\"pt\"]"}) {
    CAPTURE(metadata);
    CHECK(ErrorOf("{\"__metadata__\":" + metadata + "}") ==
          "file: __metadata__ must be an object that holds only strings");
  }
  CHECK(ErrorOf(R"({"a":3})") ==
        "file: tensor 'a': expected an object with dtype, shape and data_offsets, found number");
}

// With time that grows with the square of their number this would not come to an end.
TEST_CASE("A header of 200,000 tensors is read at once") {
  std::string header = "{";
  for (int i = 0; i < 200'000; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const auto contents = Parse(SafetensorsImage(header + "}", ""));
  REQUIRE(contents);
  CHECK(contents->entries.size() == 200'000);
  CHECK(ErrorOf(header + ",\"7\":0}", 0) == "file: its header gives the name '7' twice");
}

TEST_CASE("Fields that are missing, unknown or given twice are refused") {
  const std::string fields = "file: tensor 'a': expected exactly the fields dtype, shape and data_offsets";
  CHECK(ErrorOf(R"({"a":{}})") == fields);
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","shape":[2]}})") == fields);
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","shape":[2],"offsets":[0,8]}})") == fields);
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1]}})") == fields);
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}})") ==
        "file: its header gives the name 'dtype' twice");
}

TEST_CASE("Offsets are held to the data section") {
  const auto with = [](const std::string& shape, const std::string& offsets) {
    return ErrorOf(R"({"a":{"dtype":"F32","shape":)" + shape + ",\"data_offsets\":" + offsets + "}}");
  };
  CHECK(with("[2]", "[8,0]") == "file: tensor 'a': data_offsets [8, 0] end before they begin");
  CHECK(with("[3]", "[0,12]") ==
        "file: tensor 'a': data_offsets [0, 12] reach past the data section, which has 8 bytes");
  CHECK(with("[2]", "[18446744073709551608,18446744073709551615]") ==
        "file: tensor 'a': data_offsets [18446744073709551608, 18446744073709551615] reach past "
        "the data section, "
        "which has 8 bytes");
  CHECK(with("[3]", "[0,8]") == "file: tensor 'a': shape [3] of F32 takes 12 bytes, but data_offsets [0, 8] hold 8");
  CHECK(with("[1]", "[0,4]") ==
        "file: the last tensor ends at byte 4 of the data section, expected 8, the end of "
        "the file");
  CHECK(with("[1]", "[4,8]") ==
        "file: tensor 'a' begins at byte 4 of the data section, expected 0: tensors must "
        "follow each other without gap or overlap");
  CHECK(ErrorOf("{}") == "file: the last tensor ends at byte 0 of the data section, expected 8, the end of the file");
}

TEST_CASE("A shape whose size does not fit into 64 bits is refused") {
  const auto with = [](const std::string& shape) {
    return ErrorOf(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,8]}})");
  };
  CHECK(with("[4294967296,4294967296]") ==
        "file: tensor 'a': shape [4294967296, 4294967296] of F32 has more elements than 64 bits "
        "can count");
  CHECK(with("[2305843009213693954]") ==  // times 32 bits is 64 bits modulo 2^64
        "file: tensor 'a': shape [2305843009213693954] of F32 has more elements than 64 bits can "
        "count");
  CHECK(ErrorOf(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,8]}})") ==
        "file: tensor 'a': shape [3] of F4 does not fill whole bytes");
}

TEST_CASE("Tensors that overlap or share a name are refused") {
  const auto two = [](const std::string& name, const std::string& offsets, const std::string& shape) {
    return ErrorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},")" + name + R"(":{"dtype":"U8","shape":)" +
                   shape + ",\"data_offsets\":" + offsets + "}}");
  };
  CHECK(two("b", "[4,8]", "[4]") == "accepted");
  CHECK(two("b", "[3,8]", "[5]") ==
        "file: tensor 'b' begins at byte 3 of the data section, expected 4: tensors must "
        "follow each other without gap or overlap");
  CHECK(two("a", "[4,8]", "[4]") == "file: its header gives the name 'a' twice");
}

}  // namespace safetensors_test
}  // namespace skald
