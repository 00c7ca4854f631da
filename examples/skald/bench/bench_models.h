// SPDX-License-Identifier: Apache-2.0
//
// The models that skald bench measures.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_MODELS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_MODELS_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options.h"
#include "conversation/program_model.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"

namespace skald::program {

// A model that is measured: where its weights come from, and their type.
struct BenchSource {
  std::string shape;                 // random weights; empty: `path`
  std::filesystem::path path;        // of the model
  std::optional<DType> weight_type;  // unset: as the options of all commands say
};

// All of them, in the order in which they are measured: each in all types of weights.
std::vector<BenchSource> SourcesOf(const Options& options);

// A model that cannot be measured is told before another one takes minutes. Errors: those of IdentifyModel and
// SpecOfRandomModel.
Result<void> CheckSources(const std::vector<BenchSource>& sources);

// A model, and what the table calls it.
struct BenchModel {
  std::string name, file;  // the latter without its folder; empty of random weights
  std::unique_ptr<ProgramModel> model;
};

// Loads a model, or makes its random weights; of ranks, all of them together. Errors: see LoadWeights.
Result<BenchModel> LoadModel(const Options& options, const BenchSource& source);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_MODELS_H_
