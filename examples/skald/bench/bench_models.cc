// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_models.h"

#include <utility>

#include "ranks/rank_job.h"
#include "setup.h"

namespace skald::program {
namespace {

DType RandomType(const BenchSource& source) { return source.weight_type.value_or(DType::kBF16); }

}  // namespace

std::vector<BenchSource> SourcesOf(const Options& options) {
  const BenchOptions& bench = options.bench;
  std::vector<std::optional<DType>> types(bench.weight_types.begin(), bench.weight_types.end());
  if (types.empty()) types.push_back(options.weight_type);
  std::vector<BenchSource> sources;
  const auto add = [&](const std::string& shape, const std::filesystem::path& path) {
    for (const auto type : types) sources.push_back({shape, path, type});
  };
  for (const std::string& shape : bench.shapes) add(shape, {});
  for (const auto& path : bench.models) add({}, path);
  if (sources.empty()) add({}, options.model);
  return sources;
}

Result<void> CheckSources(const std::vector<BenchSource>& sources) {
  for (const BenchSource& source : sources) {
    if (source.shape.empty()) {
      SKALD_TRY(IdentifyModel(source.path));
    } else {
      SKALD_TRY(SpecOfRandomModel(source.shape, RandomType(source)));
    }
  }
  return {};
}

Result<BenchModel> LoadModel(const Options& options, const BenchSource& source) {
  if (!source.shape.empty()) {
    SKALD_ASSIGN(auto model, RandomProgramModel(source.shape, RandomType(source), ShareOf(options.ranks)));
    if (options.ranks != nullptr) {
      SKALD_TRY(model->ComputeOn(options.ranks->ranks()));
    }
    return BenchModel{source.shape, "", std::move(model)};
  }
  Options one = options;
  one.weight_type = source.weight_type;
  SKALD_ASSIGN(const auto info, IdentifyModel(source.path));
  SKALD_ASSIGN(auto model, LoadWeights(one, info));
  const auto path = (source.path / "").lexically_normal().parent_path();  // a folder may be given with a slash
  return BenchModel{std::string(info.name), path.filename().string(), std::move(model)};
}

}  // namespace skald::program
