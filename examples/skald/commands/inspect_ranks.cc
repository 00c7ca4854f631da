// SPDX-License-Identifier: Apache-2.0

#include "commands/inspect_ranks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <vector>

#include "model_files/known_models.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/model/rank_memory.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald::program {
namespace {

// The sizes of a load, without loading.
struct Weights {
  ModelSpec spec;
  std::vector<DType> types;  // of the matrices
};

Result<Weights> OfPacked(const PackedFile& file, ModelSpec spec) {
  Weights weights{std::move(spec), {}};
  for (const PackedParameter& parameter : file.table().parameters) {
    if (parameter.cols != 0) weights.types.push_back(static_cast<DType>(parameter.dtype));
  }
  if (weights.types.size() == MatrixTypes(weights.spec, DType::kBF16).size()) return weights;
  return Fail(ErrorCode::kDataLoss, file.path().string() + ": its parameters are not those of the model that it names");
}

// Of a path, or of the shape of one of the known models.
Result<Weights> FindWeights(const Options& options) {
  const DType type = options.weight_type.value_or(DType::kBF16);
  std::error_code ignored;
  if (!std::filesystem::exists(options.model, ignored)) {
    SKALD_ASSIGN(auto spec, FindModelByName(options.model.native()));
    return Weights{spec, MatrixTypes(spec, type)};
  }
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  SKALD_ASSIGN(auto described, DescribeModel(model));
  if (model.packed() != nullptr) return OfPacked(*model.packed(), std::move(described.spec));
  SKALD_ASSIGN(const auto checkpoint, model.checkpoint());
  SKALD_ASSIGN(auto types, TypesOfMatrices(*checkpoint, described.spec, type));
  return Weights{std::move(described.spec), std::move(types)};
}

}  // namespace

Result<int> RunInspectRanks(const Options& options) {
  SKALD_ASSIGN(const auto weights, FindWeights(options));
  RuntimeConfig runtime = options.runtime;
  const uint32_t tokens = options.inspect_tokens;
  runtime.max_tokens = std::max(runtime.max_tokens, tokens);
  std::cout << "MB (1,000,000 bytes) of each of " << options.inspect_ranks << " ranks; the state is that of " << tokens
            << " tokens, keys and values as " << NameOf(runtime.kv_type) << "\n\n"
            << "| rank | weights of its own | weights on every rank | state | all |\n|---|---|---|---|---|\n"
            << std::fixed << std::setprecision(1);
  for (size_t rank = 0; rank < options.inspect_ranks; ++rank) {
    SKALD_ASSIGN(const auto memory,
                 MemoryOfRank(weights.spec, weights.types, {rank, options.inspect_ranks}, runtime, tokens));
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
