// SPDX-License-Identifier: Apache-2.0
//
// Digests of resume points, and the file that saves computing them again.

#include "skald/store/snapshots/identity.h"
#include "skald/base/numbers/sha256.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/store/snapshots/cached_digest.h"
#include "tests/support/safetensors_writer.h"

namespace skald::testing {
namespace identity_test {

std::string Hex(const Result<Sha256Digest>& digest) {
  REQUIRE(digest);
  return ChunkKey{*digest}.ToHex();
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Changes a file in place and puts its time of modification where it was, or `later`.
void Rewrite(const std::filesystem::path& path, std::string_view text, std::chrono::seconds later = {}) {
  const auto time = std::filesystem::last_write_time(path);
  WriteFile(path, text);
  std::filesystem::last_write_time(path, time + later);
}

TEST_CASE("a file's digest is SHA-256 of its content") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "abc", "abc");
  CHECK(Hex(DigestOfFile(folder.path() / "abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  WriteFile(folder.path() / "large", std::string(3'000'000, 'x'));
  CHECK(Hex(DigestOfFile(folder.path() / "large")) == Hex(Sha256().Update(std::string(3'000'000, 'x')).Finish()));
  CHECK(DigestOfFile(folder.path() / "none").error().code == ErrorCode::kNotFound);
}

// A model in two shards, and the index that lists them: the same text for every content of the shards.
void WriteShards(const std::filesystem::path& folder, std::string_view a, std::string_view b) {
  std::filesystem::create_directories(folder);
  WriteFile(folder / "a.safetensors", a);
  WriteFile(folder / "b.safetensors", b);
  WriteFile(folder / "model.safetensors.index.json", R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})");
}

TEST_CASE("a model's digest depends on every byte of its parameters, and on nothing else in its folder") {
  const TemporaryFolder folder;
  CHECK(DigestOfWeights(folder.path()).error().code == ErrorCode::kNotFound);
  WriteShards(folder.path(), "first", "second");
  const std::string both = Hex(DigestOfWeights(folder.path()));
  for (const char* const other : {"config.json", "adapter.safetensors", "notes.gguf"}) {
    WriteFile(folder.path() / other, "{}");
    CHECK(Hex(DigestOfWeights(folder.path())) == both);
  }
  WriteShards(folder.path(), "second", "first");
  CHECK(Hex(DigestOfWeights(folder.path())) != both);
  WriteFile(folder.path() / "model.safetensors", "merged");  // is opened if both exist
  CHECK(Hex(DigestOfWeights(folder.path())) == Hex(DigestOfFile(folder.path() / "model.safetensors")));
}

TEST_CASE("two models whose indices are alike are two models, also when they are named by their indices") {
  const TemporaryFolder folder;
  const auto one = folder.path() / "one", other = folder.path() / "other";
  const auto index_of = [](const std::filesystem::path& path) { return path / "model.safetensors.index.json"; };
  WriteShards(one, "first", "second");
  WriteShards(other, "first", "SECOND");
  CHECK(ReadText(index_of(one)) == ReadText(index_of(other)));
  CHECK(Hex(DigestOfWeights(index_of(one))) != Hex(DigestOfWeights(index_of(other))));
  CHECK(Hex(CachedDigestOfWeights(index_of(one))) != Hex(CachedDigestOfWeights(index_of(other))));
  std::filesystem::remove(one / "b.safetensors");
  CHECK(DigestOfWeights(index_of(one)).error().code == ErrorCode::kNotFound);
  CHECK(CachedDigestOfWeights(index_of(one)).error().code == ErrorCode::kNotFound);
}

TEST_CASE("a model has one digest, by whichever of its paths it is named") {
  const TemporaryFolder folder;
  WriteShards(folder.path() / "shards", "first", "second");
  CHECK(Hex(DigestOfWeights(folder.path() / "shards")) ==
        Hex(DigestOfWeights(folder.path() / "shards" / "model.safetensors.index.json")));
  WriteFile(folder.path() / "model.safetensors", "weights");
  WriteFile(folder.path() / "model.gguf", "weights");
  const std::string digest = Hex(DigestOfWeights(folder.path()));
  CHECK(digest == Hex(Sha256().Update("weights").Finish()));
  CHECK(digest == Hex(DigestOfWeights(folder.path() / "model.safetensors")));
  CHECK(digest == Hex(DigestOfWeights(folder.path() / "model.gguf")));
  WriteFile(folder.path() / "odd.json", "GGUF");  // a GGUF file by its content
  CHECK(Hex(DigestOfWeights(folder.path() / "odd.json")) == Hex(Sha256().Update("GGUF").Finish()));
}

// A digest that no file has, written where the one of `path` is kept.
std::string PlantDigest(const std::filesystem::path& path) {
  const std::string planted(ChunkKey::kHexDigits, 'a');
  WriteFile(internal::DigestCacheOf(path), internal::DescribeWeights(path).value() + planted + "\n");
  return planted;
}

TEST_CASE("a digest is computed once and kept beside a file, or in the folder") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  WriteShards(folder.path(), "first", "second");
  const std::string single = Hex(DigestOfWeights(file)), both = Hex(DigestOfWeights(folder.path()));
  CHECK(Hex(CachedDigestOfWeights(file)) == single);
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == both);
  CHECK(ReadText(folder.path() / "a.safetensors.skald-digest").starts_with("skald-digest 2\n5 "));
  const std::string text = ReadText(folder.path() / ".skald-digest");
  for (const char* const name : {"a.safetensors\n", "b.safetensors\n", "model.safetensors.index.json\n"}) {
    CHECK(text.find(name) != std::string::npos);
  }
  CHECK(text.ends_with("\n" + both + "\n"));
  CHECK(Hex(DigestOfWeights(folder.path())) == both);  // the new files are not part of the model

  // The stored digest is the returned one.
  for (const auto& path : {file, folder.path()}) CHECK(Hex(CachedDigestOfWeights(path)) == PlantDigest(path));
}

TEST_CASE("a digest that somebody else can have written is not believed") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "w.safetensors", cache = internal::DigestCacheOf(file);
  WriteFile(file, "weights");
  const std::string digest = Hex(DigestOfWeights(file));
  for (const mode_t mode : {0664, 0646}) {
    PlantDigest(file);
    REQUIRE(::chmod(cache.c_str(), mode) == 0);
    CHECK(Hex(CachedDigestOfWeights(file)) == digest);
    CHECK(ReadText(cache).ends_with(digest + "\n"));  // written anew, and ours again
    CHECK(Hex(CachedDigestOfWeights(file)) == PlantDigest(file));
  }
  std::filesystem::remove(cache);
  std::filesystem::create_symlink(folder.path() / "ours", cache);
  CHECK(Hex(CachedDigestOfWeights(file)) == digest);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "ours"));  // a link is not followed to write
  if (::geteuid() != 0) return;                                  // only root can give files away
  PlantDigest(file);
  REQUIRE(::chown(cache.c_str(), 65534, 65534) == 0);
  CHECK(Hex(CachedDigestOfWeights(file)) == digest);
}

TEST_CASE("a file of another size, time or name is read again") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  WriteShards(folder.path(), "first", "second");
  const auto index = folder.path() / "model.safetensors.index.json";
  for (const std::filesystem::path& path : {file, folder.path(), index}) {
    REQUIRE(CachedDigestOfWeights(path));
    Rewrite(file, ReadText(file) + "x");
    CHECK(Hex(CachedDigestOfWeights(path)) == Hex(DigestOfWeights(path)));
    Rewrite(file, std::string(ReadText(file).size(), 'y'), std::chrono::seconds(1));
    CHECK(Hex(CachedDigestOfWeights(path)) == Hex(DigestOfWeights(path)));
    // In place of the old file, with its size and time: as an archive or a synchronising program leaves it.
    const auto time = std::filesystem::last_write_time(file);
    WriteFile(folder.path() / "new", std::string(ReadText(file).size(), static_cast<char>('a' + path.native().size())));
    std::filesystem::last_write_time(folder.path() / "new", time);
    std::filesystem::rename(folder.path() / "new", file);
    CHECK(Hex(CachedDigestOfWeights(path)) == Hex(DigestOfWeights(path)));
  }
  WriteFile(index, R"({"weight_map": {"x": "a.safetensors"}})");
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == Hex(DigestOfFile(file)));
  WriteFile(index, R"({"weight_map": {"x": "c.safetensors"}})");
  std::filesystem::rename(file, folder.path() / "c.safetensors");
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == Hex(DigestOfWeights(folder.path())));
}

TEST_CASE("a cache file that is damaged or of another version is written anew") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "w.safetensors";
  const std::filesystem::path cache = folder.path() / "w.safetensors.skald-digest";
  WriteFile(file, "weights");
  const std::string digest = Hex(CachedDigestOfWeights(file)), good = ReadText(cache);
  std::string other_version = good, no_digit = good, no_end = good;
  other_version.replace(0, 14, "skald-digest 1");
  no_digit[good.size() - 2] = 'x';
  no_end.back() = ' ';
  for (const std::string& bad : {std::string(), good + "x", good.substr(1), other_version, no_digit, no_end}) {
    WriteFile(cache, bad);
    CHECK(Hex(CachedDigestOfWeights(file)) == digest);
    CHECK(ReadText(cache) == good);
  }
}

TEST_CASE("weights where nothing can be written, or that are missing") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "w.safetensors";
  WriteFile(file, "weights");
  std::filesystem::create_directory(folder.path() / "w.safetensors.skald-digest");  // in the way, for root too
  CHECK(Hex(CachedDigestOfWeights(file)) == Hex(DigestOfWeights(file)));
  const auto missing = CachedDigestOfWeights(folder.path() / "none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(missing.error().message.find("none") != std::string::npos);
}

}  // namespace identity_test
}  // namespace skald::testing
