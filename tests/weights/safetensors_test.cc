// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/safetensors.h"

#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/safetensors_writer.h"

namespace skald {
namespace {

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
  const std::vector<NewTensor> tensors = {{"second", "BF16", {2, 1}, "abcd"},
                                          {"first", "I64", {}, "12345678"},
                                          {"third", "F4", {2}, "x"}};
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
  CHECK(std::string_view(reinterpret_cast<const char*>(second.bytes.data()), second.bytes.size()) ==
        "abcd");
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
  CHECK(Parse("").error().message ==
        "file: not a safetensors file: expected at least 8 bytes, found 0");
  CHECK(Parse("1234567").error().message ==
        "file: not a safetensors file: expected at least 8 bytes, found 7");
  CHECK(Parse(SafetensorsImage("{}", "").substr(0, 9)).error().message ==
        "file: cut short: its header claims 2 bytes, but only 1 follow");
}

TEST_CASE("A header length of zero, of an impossible size or of all ones is refused") {
  CHECK(Parse(std::string(16, '\0')).error().message ==
        "file: its header must be a JSON object and begin with '{'");
  CHECK(Parse(std::string("\1\xE1\xF5\5\0\0\0\0", 8)).error().message ==
        "file: not a safetensors file: its header claims 100000001 bytes, the format allows "
        "100000000");
  CHECK(Parse(std::string(64, '\xFF')).error().message.find("claims 18446744073709551615 bytes") !=
        std::string::npos);
}

TEST_CASE("A header that is not a JSON object is refused") {
  CHECK(ErrorOf("[1, 2]") == "file: its header must be a JSON object and begin with '{'");
  CHECK(ErrorOf("\xEF\xBB\xBF{}") == "file: its header must be a JSON object and begin with '{'");
  CHECK(ErrorOf("{]") == "file: its header is not valid JSON at byte 2");
  CHECK(ErrorOf("{} {}") == "file: its header is not valid JSON at byte 4");
  CHECK(ErrorOf("{\"a") == "file: its header is not valid JSON at byte 4");
  CHECK(ErrorOf("{\"\xFF\":1}") == "file: its header is not valid JSON at byte 3");
}

TEST_CASE("Nesting of any depth is refused without recursion") {
  const std::string deep(1'000'000, '[');
  CHECK(ErrorOf("{\"a\":" + deep) ==
        "file: tensor 'a': expected an object with dtype, shape and data_offsets, found an array");
  CHECK(ErrorOf("{\"a\":{\"shape\":" + deep) ==
        "file: tensor 'a': shape must be an array of non-negative integers, found an array");
  CHECK(ErrorOf("{\"__metadata__\":{\"a\":" + deep) ==
        "file: __metadata__ must hold only strings, found an array");
}

TEST_CASE("A value of the wrong JSON type is refused with what was expected") {
  const auto with = [](const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
    return ErrorOf("{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
                   ",\"data_offsets\":" + offsets + "}}");
  };
  const std::string integers = "must be an array of non-negative integers, found ";
  CHECK(with("\"F32\"", "[2]", "[0,8]") == "accepted");
  CHECK(with("7", "[2]", "[0,8]") == "file: tensor 'a': dtype must be a string, found a number");
  CHECK(with("null", "[2]", "[0,8]") == "file: tensor 'a': dtype must be a string, found null");
  CHECK(with("[\"F32\"]", "[2]", "[0,8]") ==
        "file: tensor 'a': dtype must be a string, found an array");
  CHECK(with("\"F32\"", "2", "[0,8]") == "file: tensor 'a': shape " + integers + "a number");
  CHECK(with("\"F32\"", "{}", "[0,8]") == "file: tensor 'a': shape " + integers + "an object");
  CHECK(with("\"F32\"", "\"2\"", "[0,8]") == "file: tensor 'a': shape " + integers + "a string");
  CHECK(with("\"F32\"", "[\"2\"]", "[0,8]") == "file: tensor 'a': shape " + integers + "a string");
  CHECK(with("\"F32\"", "[true]", "[0,8]") == "file: tensor 'a': shape " + integers + "a boolean");
  CHECK(with("\"F32\"", "[-2]", "[0,8]") ==
        "file: tensor 'a': shape " + integers + "a negative number");
  CHECK(with("\"F32\"", "[2]", "[-0,8]") ==
        "file: tensor 'a': data_offsets " + integers + "a negative number");
  CHECK(with("\"F32\"", "[2]", "[0,8.0]") ==
        "file: tensor 'a': data_offsets " + integers + "a number that is not a 64-bit integer");
  CHECK(with("\"F32\"", "[2]", "[0,18446744073709551616]") ==
        "file: tensor 'a': data_offsets " + integers + "a number that is not a 64-bit integer");
  CHECK(with("\"F32\"", "[2]", "[0]") ==
        "file: tensor 'a': data_offsets must be two numbers, found 1");
  CHECK(with("\"F32\"", "[2]", "[0,4,8]") ==
        "file: tensor 'a': data_offsets must be two numbers, found 3");
  CHECK(ErrorOf(R"({"__metadata__":{"format":1}})") ==
        "file: __metadata__ must hold only strings, found a number");
  CHECK(ErrorOf(R"({"__metadata__":"pt"})") ==
        "file: tensor '__metadata__': expected an object with dtype, shape and data_offsets, found "
        "a string");
}

TEST_CASE("Fields that are missing, unknown or given twice are refused") {
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","shape":[2]}})") ==
        "file: tensor 'a': field 'data_offsets' is missing");
  CHECK(ErrorOf(R"({"a":{}})") == "file: tensor 'a': field 'dtype' is missing");
  CHECK(ErrorOf(R"({"a":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}})") ==
        "file: tensor 'a': field 'dtype' is given twice");
  CHECK(ErrorOf(R"({"a":{"stride":[1]}})") ==
        "file: tensor 'a': unknown field 'stride', expected dtype, shape and data_offsets");
}

TEST_CASE("Offsets are held to the data section") {
  const auto with = [](const std::string& shape, const std::string& offsets) {
    return ErrorOf(R"({"a":{"dtype":"F32","shape":)" + shape + ",\"data_offsets\":" + offsets +
                   "}}");
  };
  CHECK(with("[2]", "[8,0]") == "file: tensor 'a': data_offsets [8, 0] end before they begin");
  CHECK(with("[3]", "[0,12]") ==
        "file: tensor 'a': data_offsets [0, 12] reach past the data section, which has 8 bytes");
  CHECK(with("[2]", "[18446744073709551608,18446744073709551615]") ==
        "file: tensor 'a': data_offsets [18446744073709551608, 18446744073709551615] reach past "
        "the data section, "
        "which has 8 bytes");
  CHECK(with("[3]", "[0,8]") ==
        "file: tensor 'a': shape [3] of F32 takes 12 bytes, but data_offsets [0, 8] hold 8");
  CHECK(with("[1]", "[0,4]") ==
        "file: the last tensor ends at byte 4 of the data section, expected 8, the end of "
        "the file");
  CHECK(with("[1]", "[4,8]") ==
        "file: tensor 'a' begins at byte 4 of the data section, expected 0: tensors must "
        "follow each other without gap or overlap");
  CHECK(
      ErrorOf("{}") ==
      "file: the last tensor ends at byte 0 of the data section, expected 8, the end of the file");
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
  const auto two = [](const std::string& name, const std::string& offsets,
                      const std::string& shape) {
    return ErrorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},")" + name +
                   R"(":{"dtype":"U8","shape":)" + shape + ",\"data_offsets\":" + offsets + "}}");
  };
  CHECK(two("b", "[4,8]", "[4]") == "accepted");
  CHECK(two("b", "[3,8]", "[5]") ==
        "file: tensor 'b' begins at byte 3 of the data section, expected 4: tensors must "
        "follow each other without gap or overlap");
  CHECK(two("a", "[4,8]", "[4]") == "file: tensor 'a' is listed twice");
}

TEST_CASE("Names in errors are cut and have no control characters") {
  CHECK(ErrorOf(R"({"a\u001b[2Jb":1})").find("tensor 'a?[2Jb':") != std::string::npos);
  CHECK(ErrorOf("{\"" + std::string(100'000, 'n') + "\":1}").size() < 300);
}

}  // namespace
}  // namespace skald
