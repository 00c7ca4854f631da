// SPDX-License-Identifier: Apache-2.0

#include "conversation/steering.h"

#include <span>
#include <string>

#ifdef SKALD_HAS_STORE
#include "skald/base/files/small_file.h"
#include "skald/base/numbers/sha256.h"
#endif

namespace skald::program {

Result<ControlVector> LoadSteering(const SteeringOptions& options, const ModelSpec& spec) {
  const size_t last = NumLayers(spec) - 1;
  if (options.first_layer > last || (options.last_layer && *options.last_layer > last)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--control-vector-layers: the model has the layers 0 to " + std::to_string(last));
  }
  ControlVector sum;
  for (const auto& [path, scale] : options.vectors) {
    auto vector = LoadControlVector(path, spec);
    if (!vector) return Annotate("--control-vector", vector);
    sum.Add(*vector, scale);
  }
  sum.KeepLayers(options.first_layer, options.last_layer.value_or(last));
  return sum;
}

#ifdef SKALD_HAS_STORE
Result<Sha256Digest> DigestOfSteered(const Sha256Digest& weights, const SteeringOptions& options) {
  if (options.vectors.empty()) return weights;
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  Sha256 hash;
  hash.Update("skald steered 1").Update(std::as_bytes(std::span(weights)));
  for (const auto& [path, scale] : options.vectors) {
    SKALD_ASSIGN(const std::string bytes, ReadSmallFile(path, kMostBytes));
    hash.Update(std::as_bytes(std::span(&scale, 1))).Update(bytes);
  }
  const uint64_t layers[] = {options.first_layer, options.last_layer.value_or(~uint64_t{0})};
  hash.Update(std::as_bytes(std::span(layers)));
  return hash.Finish();
}
#endif

}  // namespace skald::program
