// SPDX-License-Identifier: Apache-2.0
//
// How weights are loaded, whatever they are loaded from.

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

struct LoadProgress {
  std::string_view tensor;  ///< the one that was read last; valid during the call
  uint64_t bytes_done;      ///< of the checkpoint, so far
  uint64_t bytes_total;     ///< that this model needs
};

/// When the weights in a packed file are compared with their checksums, which means to read all of it, on
/// LoadOptions::threads. The file's header and tables always are.
enum class PackedCheck {
  kOnce,    ///< the first time, and after each change of the file; packed_check.h says how that is remembered
  kAlways,  ///< each time
  kNever,   ///< for files that others vouch for
};

struct LoadOptions {
  /// Type of matrices in memory: kBF16, kF32 for exact comparison, or a group-quantised type, kQ8_0 at about half and
  /// kQ4_0 at about a quarter of bf16's size (base/numbers/group_types.h says what they are, benchmarks/README.md what
  /// they cost in quality). F32 and F16 checkpoints lose bits as bf16 (rounded to nearest even, as activations are).
  /// What a file holds quantised stays so, exactly, whatever this says. Vectors (norms, biases) are always float.
  DType dtype = DType::kBF16;
  unsigned threads = 1;  ///< that pack or check; 1 to kMaxThreads
  /// The rank whose part of the weights is loaded; no more is read, but for tensors whose rows must be put in another
  /// order first, and where packed_check wants a packed file to be compared with its checksums, which are of whole
  /// matrices. What cache_folder has is used, and nothing is written there.
  RankShare share = {};
  /// Called from the loading thread every few dozen megabytes, in steps that end at bytes_done ==
  /// bytes_total.
  std::function<void(const LoadProgress&)> progress = {};
  /// Folder for packed files (packed_cache.h): the first load of a checkpoint writes one there, later loads map it, in
  /// milliseconds. It is made if need be; empty for none. A file there takes as much of the disk as the weights do.
  std::filesystem::path cache_folder = {};
  /// Most bytes that the packed files in cache_folder take together: those that were used longest ago make room. A
  /// model that is larger by itself is not kept.
  uint64_t cache_bytes = std::numeric_limits<uint64_t>::max();
  /// Called at most once, from the loading thread, for what went wrong and did not keep the weights from being loaded:
  /// a cache folder that cannot be written to, or is too small.
  std::function<void(const Error&)> on_warning = {};
  PackedCheck packed_check = PackedCheck::kOnce;
  /// Whether packed files are mapped. A file that is mapped must stay as it is: where it is cut short the system ends
  /// the process (SIGBUS), and where it is overwritten the weights change. Otherwise it is read into memory that
  /// belongs to this process alone, which takes longer and shares nothing with other processes; by a rank, which reads
  /// its part alone, from a mapping that it gives up then.
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
