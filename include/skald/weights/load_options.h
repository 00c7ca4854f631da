// SPDX-License-Identifier: Apache-2.0
//
// Options for loading weights, from any source.

#ifndef SKALD_WEIGHTS_LOAD_OPTIONS_H_
#define SKALD_WEIGHTS_LOAD_OPTIONS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string_view>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"

namespace skald {

/// Where a load is.
struct LoadProgress {
  std::string_view tensor;  ///< the one that was read last; valid during the call
  uint64_t bytes_done;      ///< of the checkpoint, so far
  uint64_t bytes_total;     ///< that this model needs
};

/// When the weights in a packed file are compared with their checksums. That reads the whole file, on
/// LoadOptions::threads. The file's header and tables are always checked.
enum class PackedCheck {
  kOnce,    ///< the first time, and after each change of the file; packed_check.h describes how that is remembered
  kAlways,  ///< each time
  kNever,   ///< for files that are trusted for other reasons
};

/// How weights are read and what becomes of them in memory.
struct LoadOptions {
  /// Type of matrices in memory: kBF16, kF32 for exact comparison, or a group-quantised type, kQ8_0 at about half and
  /// kQ4_0 at about a quarter of bf16's size (base/numbers/group_types.h describes them, benchmarks/README.md their
  /// cost in quality). F32 and F16 checkpoints lose bits as bf16 (rounded to nearest even, as activations are).
  /// Quantised tensors of a file keep their exact values, whatever this says. Vectors (norms, biases) are always float.
  DType dtype = DType::kBF16;
  unsigned threads = 1;  ///< threads that pack or check; 1 to kMaxThreads
  /// The rank whose part of the weights is loaded. Only that part is read, except for tensors whose rows must be
  /// reordered first, and if packed_check requires checksums, which cover whole matrices. Files in cache_folder are
  /// used, but none is written.
  RankShare share = {};
  /// Called from the loading thread every few dozen megabytes, in steps that end at bytes_done ==
  /// bytes_total.
  std::function<void(const LoadProgress&)> progress = {};
  /// Folder for packed files (packed_cache.h): the first load of a checkpoint writes one there, later loads map it, in
  /// milliseconds. Created if missing; empty: no cache. A file there takes as much of the disk as the weights do.
  std::filesystem::path cache_folder = {};
  /// Most bytes of the packed files in cache_folder together: the least recently used ones are removed. A model that is
  /// larger by itself is not kept.
  uint64_t cache_bytes = std::numeric_limits<uint64_t>::max();
  /// Called at most once, from the loading thread, for a problem that did not prevent loading: a cache folder that
  /// cannot be written to, or is too small.
  std::function<void(const Error&)> on_warning = {};
  PackedCheck packed_check = PackedCheck::kOnce;  ///< see there
  /// Whether packed files are mapped. A mapped file must stay unchanged: if it is cut short the system ends the process
  /// (SIGBUS), and if it is overwritten the weights change. If false, it is read into this process's own memory, which
  /// takes longer and shares nothing with other processes; a rank reads its part alone, from a temporary mapping.
  bool map = true;
};

namespace internal {

Result<void> CheckLoadOptions(const LoadOptions& options);

}  // namespace internal

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/load_options.h"
#endif

#endif  // SKALD_WEIGHTS_LOAD_OPTIONS_H_
