// SPDX-License-Identifier: Apache-2.0
//
// A folder of packed files, one for each checkpoint and element type: written by the first load, mapped by later ones,
// and written anew when the checkpoint has changed.

#ifndef SKALD_WEIGHTS_PACKED_CACHE_H_
#define SKALD_WEIGHTS_PACKED_CACHE_H_

#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/base/xxh64.h"
#include "skald/weights/message.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/packed_file.h"
#include "skald/weights/packed_source.h"
#include "skald/weights/packed_writer.h"
#include "skald/weights/weight_shapes.h"

namespace skald {

// Returns where `folder` keeps the checkpoint at `source`, loaded as `dtype`: <name>-<hash of its path>-<type>.packed.
inline std::filesystem::path PackedCachePath(const std::filesystem::path& folder, const std::filesystem::path& source,
                                             DType dtype) {
  std::error_code ignored;  // a path that cannot be resolved cannot be loaded either
  auto path = std::filesystem::weakly_canonical(source, ignored);
  if (!path.has_filename()) path = path.parent_path();
  std::array<char, 16> digits;
  const auto hash = Xxh64(std::as_bytes(std::span(path.native())));
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return folder / Concat({path.filename().string(), "-", std::string_view(digits.data(), end), "-", NameOf(dtype),
                          ".packed"});
}

// What LoadThroughCache loads.
struct CachedCheckpoint {
  const std::filesystem::path& path;
  const WeightShapes& shapes;
  std::string_view config;  // the Config's kName
  DType dtype;
};

// Returns the weights of a checkpoint, mapped from the packed file that `folder` has of it. Where there is none, or one
// of other shapes or another version, damaged, or from before the checkpoint changed, calls `load` and writes it first.
// Safe for concurrent calls, also of several processes. Errors: those of `load`, the disk's and the folder's.
inline Result<ModelWeights> LoadThroughCache(const std::filesystem::path& folder, const CachedCheckpoint& checkpoint,
                                             const std::function<Result<ModelWeights>()>& load) {
  const auto source = DescribeSource(checkpoint.path);
  if (!source) return Failure(source.error());
  const auto cached = PackedCachePath(folder, checkpoint.path, checkpoint.dtype);
  if (const auto file = PackedFile::Open(cached); file && (*file)->table().source == *source) {
    if (auto weights = MapWeights(*file, checkpoint.shapes)) return weights;
  }
  {
    const auto weights = load();
    if (!weights) return Failure(weights.error());
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return Fail(ErrorCode::kFailedPrecondition, Concat({folder.string(), ": ", error.message()}));
    const auto written =
        WritePackedFile(cached, *weights, {checkpoint.config, Fingerprint(checkpoint.shapes), *source});
    if (!written) return Failure(written.error());
  }
  const auto file = PackedFile::Open(cached);
  if (!file) return Failure(file.error());
  return MapWeights(*file, checkpoint.shapes);
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_CACHE_H_
