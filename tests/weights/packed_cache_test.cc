// SPDX-License-Identifier: Apache-2.0
//
// LoadOptions::cache_folder: the first load writes, later ones map, and whatever changed is packed again.

#include "skald/weights/packed_cache.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace {

using testing::CheckError;
using testing::SameWeights;
using testing::TinyFull;
using testing::TinyModel;

// A checkpoint on disk, and a folder to cache it in.
struct CachedModel {
  CachedModel() { Write(testing::TinyTensors<TinyFull>()); }

  void Write(const std::vector<testing::NewTensor>& tensors) const {
    testing::WriteFile(model / "model.safetensors", testing::SafetensorsImage(tensors));
  }

  template <ModelConfig C = TinyFull>
  Result<ModelWeights> Load(DType dtype = DType::kBF16) {
    packed = false;
    return LoadWeights<C>(model, {.dtype = dtype, .progress = [this](const LoadProgress&) { packed = true; },
                                  .cache_folder = cache});
  }

  testing::TemporaryFolder folder, elsewhere;
  const std::filesystem::path& model = folder.path();
  std::filesystem::path cache = elsewhere.path() / "not" / "there yet";
  bool packed = false;  // whether the last Load read the checkpoint
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
  const auto packed_file = PackedCachePath(cached.cache, cached.model, DType::kBF16);

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

TEST_CASE("a cache folder that cannot be made is an error that names it") {
  CachedModel cached;
  cached.cache = cached.model / "model.safetensors" / "folder";
  CheckError(cached.Load(), ErrorCode::kFailedPrecondition, "folder");
}

}  // namespace
}  // namespace skald
