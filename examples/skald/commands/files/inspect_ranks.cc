// SPDX-License-Identifier: Apache-2.0

#include "commands/files/inspect_ranks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <system_error>
#include <utility>

#include "model_files/known_models.h"
#include "model_files/load_shape.h"
#include "skald/model/rank_memory.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {
namespace {

// Of a path, or of the shape of one of the known models.
Result<LoadShape> FindShape(const Options& options) {
  const DType type = options.weight_type.value_or(DType::kBF16);
  std::error_code ignored;
  if (std::filesystem::exists(options.model, ignored)) {
    SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
    return ShapeOfLoad(model, type);
  }
  SKALD_ASSIGN(auto spec, FindModelByName(options.model.native()));
  auto matrices = MatricesOf(spec, type);
  return LoadShape{std::move(spec), std::move(matrices)};
}

}  // namespace

Result<int> RunInspectRanks(const Options& options) {
  SKALD_ASSIGN(const auto weights, FindShape(options));
  RuntimeConfig runtime = options.runtime;
  const uint32_t tokens = options.inspect_tokens;
  runtime.max_tokens = std::max(runtime.max_tokens, tokens);
  std::cout << "MB (1,000,000 bytes) of each of " << options.inspect_ranks << " ranks; the state is that of " << tokens
            << " tokens, keys and values as " << NameOf(runtime.kv_type) << "\n\n"
            << "| rank | weights of its own | weights on every rank | state | all |\n|---|---|---|---|---|\n"
            << std::fixed << std::setprecision(1);
  for (size_t rank = 0; rank < options.inspect_ranks; ++rank) {
    SKALD_ASSIGN(const auto memory,
                 MemoryOfRank(weights.spec, weights.matrices, {rank, options.inspect_ranks}, runtime, tokens));
    std::cout << "| " << rank;
    for (const uint64_t bytes :
         {memory.partitioned, memory.replicated, memory.state, memory.weights() + memory.state}) {
      std::cout << " | " << static_cast<double>(bytes) / 1e6;
    }
    std::cout << " |\n";
  }
  return 0;
}

}  // namespace skald::program
