// SPDX-License-Identifier: Apache-2.0
//
// LoadOptions::cache_folder: the first load writes, later ones map, and whatever changed is packed again.

#include "skald/weights/packed_files/packed_cache.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace packed_cache_test {

using testing::CheckError;
using testing::SameWeights;
using testing::TinyFull;
using testing::TinyHybrid;
using testing::TinyModel;

void Write(const std::filesystem::path& path, const ModelWeights& weights, const std::string& source = {}) {
  const PackedOrigin origin = {TinyFull::kName, Fingerprint(weights.spec), weights.dtype, source};
  REQUIRE(WritePackedFile(path, ParametersOf(weights), origin));
}

// A checkpoint on disk, and a folder to cache it in.
struct CachedModel {
  CachedModel() { Write(testing::TinyTensors<TinyFull>()); }

  void Write(const std::vector<testing::NewTensor>& tensors) const {
    testing::WriteFile(model / "model.safetensors", testing::SafetensorsImage(tensors));
  }

  template <ModelConfig C = TinyFull>
  Result<ModelWeights> Load(DType dtype = DType::kBF16) {
    packed = false;
    warnings.clear();
    return LoadWeights<C>(model, {.dtype = dtype,
                                  .progress = [this](const LoadProgress&) { packed = true; },
                                  .cache_folder = cache,
                                  .cache_bytes = cache_bytes,
                                  .on_warning = [this](const Error& error) { warnings.push_back(error); }});
  }

  testing::TemporaryFolder folder, elsewhere;
  const std::filesystem::path& model = folder.path();
  std::filesystem::path cache = elsewhere.path() / "not" / "there yet";
  uint64_t cache_bytes = std::numeric_limits<uint64_t>::max();
  bool packed = false;          // whether the last Load read the checkpoint
  std::vector<Error> warnings;  // of the last Load
};

TEST_CASE("the second load maps what the first one packed, and gives the same weights") {
  CachedModel cached;
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    const auto plain = LoadWeights<TinyFull>(cached.model, {.dtype = dtype});
    const auto first = cached.Load(dtype);
    REQUIRE(first);
    CHECK(cached.packed);
    const auto second = cached.Load(dtype);
    REQUIRE(second);
    CHECK_FALSE(cached.packed);
    CHECK(SameWeights(*first, *plain));
    CHECK(SameWeights(*second, *plain));
  }
}

TEST_CASE("what is stale, damaged or of another Config is packed again") {
  CachedModel cached;
  REQUIRE(cached.Load());
  const auto weights_file = cached.model / "model.safetensors";
  const auto packed_file = *PackedCachePath(cached.cache, cached.model, DType::kBF16);

  std::filesystem::last_write_time(weights_file, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  REQUIRE(cached.Load());
  CHECK(cached.packed);

  std::filesystem::resize_file(packed_file, std::filesystem::file_size(packed_file) - 1);
  REQUIRE(cached.Load());
  CHECK(cached.packed);

  cached.Write(testing::TinyTensors<TinyModel>());
  REQUIRE(cached.Load<TinyModel>());
  CHECK(cached.packed);
  CHECK(cached.Load<TinyModel>());
  CHECK_FALSE(cached.packed);
  CHECK_FALSE(cached.Load<TinyFull>());
}

TEST_CASE("a cache keeps what was used last, within its limit") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path cache = folder.path() / "cache";
  CachedModel models[3];
  for (CachedModel& model : models) model.cache = cache;
  const auto file_of = [&](int i) { return *PackedCachePath(cache, models[i].model, DType::kBF16); };
  const auto age = [&](int i, int hours) {
    auto record = file_of(i);
    record += ".verified";
    std::filesystem::last_write_time(record, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  const auto has = [&](int i) { return std::filesystem::exists(file_of(i)); };

  REQUIRE(models[0].Load());
  const uint64_t one = std::filesystem::file_size(file_of(0));
  for (CachedModel& model : models) model.cache_bytes = 5 * one / 2;
  REQUIRE(models[1].Load());
  testing::WriteFile(cache / "my-own.packed", std::string(3 * one, 'x'));
  age(0, 2);
  age(1, 3);
  SUBCASE("the one that was used longest ago makes room") {
    REQUIRE(models[2].Load());
    CHECK(has(0));
    CHECK_FALSE(has(1));
    CHECK(has(2));
  }
  SUBCASE("to load is to use") {
    REQUIRE(models[1].Load());
    CHECK_FALSE(models[1].packed);
    REQUIRE(models[2].Load());
    CHECK_FALSE(has(0));
    CHECK(has(1));
    CHECK(has(2));
  }
  SUBCASE("a model that is larger than the limit is loaded and not kept") {
    models[2].cache_bytes = 1;
    REQUIRE(models[2].Load());
    REQUIRE(models[2].warnings.size() == 1);
    CHECK(models[2].warnings[0].message.find("expected at most 1 (LoadOptions::cache_bytes)") != std::string::npos);
    CHECK(has(0));
    CHECK(has(1));
    CHECK_FALSE(has(2));
  }
  CHECK(std::filesystem::exists(cache / "my-own.packed"));
}

TEST_CASE("a packed file that does not fit leaves nothing behind in layers of any kind") {
  CachedModel cached;
  cached.Write(testing::TinyTensors<TinyHybrid>());
  const auto plain = LoadWeights<TinyHybrid>(cached.model);
  REQUIRE(plain);
  // A file that claims to be this model and has parameters of another.
  const ModelWeights other = RandomWeights<TinyFull>(5);
  const PackedOrigin origin = {TinyHybrid::kName, Fingerprint(plain->spec), DType::kBF16,
                               *DescribeSource(cached.model)};
  const auto packed_file = *PackedCachePath(cached.cache, cached.model, DType::kBF16);
  std::filesystem::create_directories(cached.cache);
  REQUIRE(WritePackedFile(packed_file, ParametersOf(other), origin));
  for (const bool packed : {true, false}) {
    const auto loaded = cached.Load<TinyHybrid>();
    REQUIRE(loaded);
    CHECK(cached.packed == packed);
    CHECK(cached.warnings.empty());
    CHECK(SameWeights(*loaded, *plain));
  }
}

TEST_CASE("the source is described without its place") {
  CachedModel cached;
  const auto before = DescribeSource(cached.model);
  REQUIRE(before);
  CHECK(before->starts_with("model.safetensors "));
  const auto moved = cached.elsewhere.path() / "moved";
  std::filesystem::rename(cached.model, moved);
  CHECK(DescribeSource(moved) == *before);
  std::filesystem::rename(moved, cached.model);
  CheckError(DescribeSource(cached.model / "nothing"), ErrorCode::kNotFound, "nothing");
}

TEST_CASE("a cache folder that cannot be written to costs one warning, not the weights") {
  CachedModel cached;
  const auto plain = LoadWeights<TinyFull>(cached.model);
  cached.cache = cached.model / "model.safetensors" / "folder";
  const auto loaded = cached.Load();
  REQUIRE(loaded);
  CHECK(SameWeights(*loaded, *plain));
  REQUIRE(cached.warnings.size() == 1);
  CHECK(cached.warnings[0].message.starts_with("the packed weights are not kept: "));
  CHECK(cached.warnings[0].message.find("folder") != std::string::npos);

  cached.cache = cached.elsewhere.path() / "cache";
  REQUIRE(cached.Load());
  CHECK(cached.warnings.empty());
  // A folder of that name cannot be replaced.
  const auto packed_file = *PackedCachePath(cached.cache, cached.model, DType::kBF16);
  std::filesystem::remove(packed_file);
  std::filesystem::create_directory(packed_file);
  std::filesystem::create_directory(packed_file / "in the way");
  CHECK(SameWeights(*cached.Load(), *plain));
  CHECK(cached.warnings.size() == 1);
}

TEST_CASE("a checkpoint that changes while it is loaded is not kept") {
  CachedModel cached;
  const auto weights_file = cached.model / "model.safetensors";
  std::vector<Error> warnings;
  const auto touch = [&](const LoadProgress&) {
    std::filesystem::last_write_time(weights_file,
                                     std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  };
  REQUIRE(LoadWeights<TinyFull>(cached.model, {.progress = touch,
                                               .cache_folder = cached.cache,
                                               .on_warning = [&](const Error& error) { warnings.push_back(error); }}));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message.find("it changed while it was loaded") != std::string::npos);
  REQUIRE(cached.Load());
  CHECK(cached.packed);
}

TEST_CASE("a packed file that others can write to, or have written, is packed again") {
  CachedModel cached;
  const auto plain = LoadWeights<TinyFull>(cached.model);
  REQUIRE(cached.Load());
  const auto packed_file = *PackedCachePath(cached.cache, cached.model, DType::kBF16);
  const auto source = DescribeSource(cached.model);
  const auto plant = [&] {  // weights that fit, from another user
    Write(packed_file, RandomWeights<TinyFull>(5), *source);
  };
  const auto check = [&] {
    CHECK(SameWeights(*cached.Load(), *plain));
    CHECK(cached.packed);
    CHECK(cached.warnings.empty());
    CHECK(SameWeights(*cached.Load(), *plain));
    CHECK_FALSE(cached.packed);
  };
  using std::filesystem::perms;
  for (const perms everybody : {perms::group_write, perms::others_write}) {
    plant();
    std::filesystem::permissions(packed_file, everybody, std::filesystem::perm_options::add);
    check();
  }
  if (::geteuid() != 0) return;  // only root can give files away
  plant();
  REQUIRE(::chown(packed_file.c_str(), 12345, 12345) == 0);
  check();
}

TEST_CASE("a packed file is checked once, and again when it has changed") {
  CachedModel cached;
  REQUIRE(cached.Load());
  const auto path = *PackedCachePath(cached.cache, cached.model, DType::kBF16);
  const auto record = internal::RecordPath(path);
  const auto load = [&](PackedCheck check) { return LoadWeights<TinyFull>(path, {.packed_check = check}); };
  const auto damage = [&] {
    std::filesystem::copy_file(path, cached.model / "copy");
    std::fstream file(cached.model / "copy", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end).put('x');
    file.close();
    std::filesystem::rename(cached.model / "copy", path);
  };
  CHECK(std::filesystem::exists(record));  // the cache knows what it wrote
  CHECK(load(PackedCheck::kOnce));
  damage();
  CheckError(load(PackedCheck::kOnce), ErrorCode::kDataLoss, "is damaged; pack it again");
  CheckError(load(PackedCheck::kAlways), ErrorCode::kDataLoss, "is damaged");
  CHECK(load(PackedCheck::kNever));

  // A recorded check is not repeated, so damage that is not found shows that the record counts.
  internal::Remember(**PackedFile::Open(path));
  CHECK(load(PackedCheck::kOnce));
  CheckError(load(PackedCheck::kAlways), ErrorCode::kDataLoss, "is damaged");
  std::filesystem::permissions(record, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  CHECK_FALSE(load(PackedCheck::kOnce));  // any user could have written it
  internal::Remember(**PackedFile::Open(path));
  CHECK(load(PackedCheck::kOnce));
  damage();  // another file, of the same content
  CHECK_FALSE(load(PackedCheck::kOnce));
  REQUIRE(cached.Load());  // as the cache sees it: packed again
  CHECK(cached.packed);
}

TEST_CASE("a file is remembered once it is old enough that every change shows") {
  CachedModel cached;
  const auto path = cached.model / "tiny.packed", record = internal::RecordPath(path);
  // On a machine that is slow enough, it is old enough when it is loaded.
  for (bool is_young = false; !is_young;) {
    std::filesystem::remove(record);
    const int64_t before = FileTime::Now().in_nanoseconds();
    Write(path, RandomWeights<TinyFull>(5));
    REQUIRE(LoadWeights<TinyFull>(path));
    const bool is_remembered = std::filesystem::exists(record);
    is_young = FileTime::Now().in_nanoseconds() - before < 2'000'000'000;
    if (is_young) CHECK_FALSE(is_remembered);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  REQUIRE(LoadWeights<TinyFull>(path, {.packed_check = PackedCheck::kNever}));
  CHECK_FALSE(std::filesystem::exists(record));
  REQUIRE(LoadWeights<TinyFull>(path));
  CHECK(std::filesystem::exists(record));
  CHECK(internal::IsRemembered(**PackedFile::Open(path)));
}

}  // namespace packed_cache_test
}  // namespace skald
