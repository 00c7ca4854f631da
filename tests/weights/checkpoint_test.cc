// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/files/checkpoint.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/safetensors_writer.h"

namespace skald {
namespace checkpoint_test {

using testing::NewTensor;
using testing::SafetensorsImage;
using testing::TemporaryFolder;
using testing::WriteFile;

// Writes two shards, with tensors a and b in one and c in the other, and this index.
void WriteShards(const TemporaryFolder& folder, const std::string& index) {
  WriteFile(folder.path() / "one", SafetensorsImage({{"a", "U8", {3}, "aaa"}, {"b", "U8", {1}, "b"}}));
  WriteFile(folder.path() / "two", SafetensorsImage({{"c", "U8", {2}, "cc"}}));
  WriteFile(folder.path() / "model.safetensors.index.json", index);
}

// Returns the error of opening two shards with this index, without the folder's path, or
// "accepted".
std::string ErrorOf(const std::string& index) {
  const TemporaryFolder folder;
  WriteShards(folder, index);
  const Result<Checkpoint> checkpoint = Checkpoint::Open(folder.path());
  if (checkpoint) return "accepted";
  std::string message = checkpoint.error().message;
  const std::string prefix = folder.path().string() + "/";
  for (size_t at; (at = message.find(prefix)) != std::string::npos;) {
    message.erase(at, prefix.size());
  }
  return message;
}

std::string TextOf(const TensorView* tensor) {
  return tensor == nullptr ? "absent"
                           : std::string(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
}

TEST_CASE("A folder with model.safetensors, or the file by its path, is a checkpoint") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage({{"b", "U8", {1}, "b"}, {"a", "U8", {2}, "aa"}}));
  for (const auto& path : {folder.path(), folder.path() / "model.safetensors"}) {
    Result<Checkpoint> opened = Checkpoint::Open(path);
    REQUIRE(opened);
    const Checkpoint checkpoint = std::move(*opened);
    CHECK(checkpoint.path() == folder.path() / "model.safetensors");
    CHECK(checkpoint.tensors().size() == 2);
    CHECK(checkpoint.tensors()[0].name == "a");
    CHECK(TextOf(checkpoint.Find("a")) == "aa");
    CHECK(TextOf(checkpoint.Find("b")) == "b");
    CHECK(checkpoint.Find("") == nullptr);
    CHECK(checkpoint.Find("c") == nullptr);
  }
}

TEST_CASE("Shards that an index lists are one checkpoint") {
  const TemporaryFolder folder;
  WriteShards(folder, R"({"metadata": {"total_size": 6}, "weight_map": {"a": "one", "b": "one", "c": "two"}})");
  for (const auto& path : {folder.path(), folder.path() / "model.safetensors.index.json"}) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
    REQUIRE(checkpoint);
    CHECK(checkpoint->path() == folder.path() / "model.safetensors.index.json");
    CHECK(checkpoint->tensors().size() == 3);
    CHECK(TextOf(checkpoint->Find("a")) == "aaa");
    CHECK(TextOf(checkpoint->Find("b")) == "b");
    CHECK(TextOf(checkpoint->Find("c")) == "cc");
  }
}

TEST_CASE("A folder without a checkpoint and a path that leads nowhere are errors") {
  const TemporaryFolder folder;
  const Result<Checkpoint> empty = Checkpoint::Open(folder.path());
  REQUIRE(!empty);
  CHECK(empty.error().code == ErrorCode::kNotFound);
  CHECK(empty.error().message ==
        folder.path().string() + ": expected model.safetensors or model.safetensors.index.json in this folder");
  const Result<Checkpoint> nowhere = Checkpoint::Open(folder.path() / "nowhere");
  REQUIRE(!nowhere);
  CHECK(nowhere.error().code == ErrorCode::kNotFound);
}

TEST_CASE("An index that is damaged is refused") {
  const std::string index = "model.safetensors.index.json: ";
  const std::string no_map = index + "expected a JSON object with a 'weight_map' from tensor names to shards";
  CHECK(ErrorOf("") == index + "is not valid JSON from byte 1 on");
  CHECK(ErrorOf("{\"weight_map\":") == index + "is not valid JSON from byte 15 on");
  CHECK(ErrorOf(std::string(1'000'000, '[')) == index + "is nested deeper than 8 levels");
  CHECK(ErrorOf("[]") == no_map);
  CHECK(ErrorOf("{}") == no_map);
  CHECK(ErrorOf(R"({"weight_map": []})") == no_map);
  CHECK(ErrorOf(R"({"weight_map": {}})") == no_map);
  CHECK(ErrorOf(R"({"weight_map": {"a": 1}})") == index + "the shard of tensor 'a' must be a string");
}

TEST_CASE("An index that is no file, or larger than any, is refused at once") {
  const TemporaryFolder folder;
  const auto index = folder.path() / "model.safetensors.index.json";
  REQUIRE(::mkfifo(index.c_str(), 0600) == 0);
  CHECK(Checkpoint::Open(index).error().message == index.string() + ": expected a regular file");
  std::filesystem::remove(index);
  WriteFile(index, "{");
  std::filesystem::resize_file(index, uint64_t{20} << 30);
  CHECK(Checkpoint::Open(index).error().code == ErrorCode::kOutOfRange);
}

TEST_CASE("An index cannot lead out of its folder") {
  for (const std::string& name : std::vector<std::string>{"../one", "/etc/passwd", "folder/one", "..", ".", "",
                                                          "a\\\\b", "one\\u0000", "\\u001b[2J"}) {
    CAPTURE(name);
    const std::string error = ErrorOf("{\"weight_map\": {\"a\": \"" + name + "\"}}");
    CHECK(error.find("of tensor 'a' must be a file name without folders") != std::string::npos);
  }
}

TEST_CASE("A shard that is missing or damaged is an error that names index and shard") {
  CHECK(ErrorOf(R"({"weight_map": {"a": "one", "b": "one", "c": "three"}})") ==
        "model.safetensors.index.json lists a shard that cannot be read: three: cannot open: No "
        "such file or "
        "directory");
  CHECK(ErrorOf(R"({"weight_map": {"a": "model.safetensors.index.json"}})")
            .find("lists a shard that cannot be read: model.safetensors.index.json: not a "
                  "safetensors file") != std::string::npos);
}

TEST_CASE("A tensor that is not in the shard that the index names is an error") {
  CHECK(ErrorOf(R"({"weight_map": {"a": "one", "b": "two", "c": "two"}})") ==
        "model.safetensors.index.json: tensor 'b' is not in 'two', where the index says it is");
  CHECK(ErrorOf(R"({"weight_map": {"a": "one", "d": "one", "c": "two"}})") ==
        "model.safetensors.index.json: tensor 'd' is not in 'one', where the index says it is");
}

TEST_CASE("A tensor in two shards is an error") {
  const TemporaryFolder folder;
  WriteShards(folder, R"({"weight_map": {"a": "one", "c": "two"}})");
  WriteFile(folder.path() / "two", SafetensorsImage({{"c", "U8", {2}, "cc"}, {"b", "U8", {1}, "b"}}));
  const Result<Checkpoint> checkpoint = Checkpoint::Open(folder.path());
  REQUIRE(!checkpoint);
  CHECK(checkpoint.error().code == ErrorCode::kDataLoss);
  CHECK(checkpoint.error().message.ends_with(": tensor 'b' is in two of the shards, expected one"));
}

}  // namespace checkpoint_test
}  // namespace skald
