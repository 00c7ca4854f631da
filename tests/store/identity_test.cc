// SPDX-License-Identifier: Apache-2.0
//
// Digests of checkpoints, and the file that saves computing them again.

#include "skald/store/identity.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "doctest/doctest.h"
#include "skald/store/cached_digest.h"
#include "tests/support/safetensors_writer.h"

namespace skald::testing {
namespace {

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

TEST_CASE("a checkpoint's digest depends on every file's content, and on nothing else in its folder") {
  const TemporaryFolder folder;
  CHECK(DigestOfWeights(folder.path()).error().code == ErrorCode::kNotFound);
  WriteFile(folder.path() / "b.safetensors", "second");
  CHECK(Hex(DigestOfWeights(folder.path())) == Hex(DigestOfFile(folder.path() / "b.safetensors")));
  WriteFile(folder.path() / "a.safetensors", "first");
  const std::string both = Hex(DigestOfWeights(folder.path()));
  WriteFile(folder.path() / "config.json", "{}");
  CHECK(Hex(DigestOfWeights(folder.path())) == both);
  WriteFile(folder.path() / "a.safetensors", "second");
  WriteFile(folder.path() / "b.safetensors", "first");
  CHECK(Hex(DigestOfWeights(folder.path())) != both);
}

TEST_CASE("a digest is computed once and kept beside a file, or in the folder") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  WriteFile(file, "first");
  WriteFile(folder.path() / "b.safetensors", "second");
  const std::string single = Hex(DigestOfWeights(file)), both = Hex(DigestOfWeights(folder.path()));
  CHECK(Hex(CachedDigestOfWeights(file)) == single);
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == both);
  CHECK(ReadText(folder.path() / "a.safetensors.skald-digest").starts_with("skald-digest 1\n5 "));
  CHECK(ReadText(folder.path() / ".skald-digest").ends_with("b.safetensors\n" + both + "\n"));
  CHECK(Hex(DigestOfWeights(folder.path())) == both);  // the new files are not part of the checkpoint

  // A change that shows in neither size nor time is not seen, which proves that nothing was read.
  Rewrite(file, "FIRST");
  CHECK(Hex(CachedDigestOfWeights(file)) == single);
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == both);
}

TEST_CASE("a file of another size, time or name is read again") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.safetensors";
  WriteFile(file, "first");
  for (const std::filesystem::path& path : {file, folder.path()}) {
    REQUIRE(CachedDigestOfWeights(path));
    Rewrite(file, ReadText(file) + "x");
    CHECK(Hex(CachedDigestOfWeights(path)) == Hex(DigestOfWeights(path)));
    Rewrite(file, std::string(ReadText(file).size(), 'y'), std::chrono::seconds(1));
    CHECK(Hex(CachedDigestOfWeights(path)) == Hex(DigestOfWeights(path)));
  }
  WriteFile(folder.path() / "b.safetensors", "added");
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == Hex(DigestOfWeights(folder.path())));
  const auto time = std::filesystem::last_write_time(folder.path() / "b.safetensors");
  std::filesystem::rename(file, folder.path() / "c.safetensors");
  std::filesystem::last_write_time(folder.path() / "c.safetensors", time);
  CHECK(Hex(CachedDigestOfWeights(folder.path())) == Hex(DigestOfWeights(folder.path())));
}

TEST_CASE("a cache file that is damaged or of another version is written anew") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "w.safetensors";
  const std::filesystem::path cache = folder.path() / "w.safetensors.skald-digest";
  WriteFile(file, "weights");
  const std::string digest = Hex(CachedDigestOfWeights(file)), good = ReadText(cache);
  std::string other_version = good, no_digit = good, no_end = good;
  other_version.replace(0, 14, "skald-digest 2");
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

}  // namespace
}  // namespace skald::testing
