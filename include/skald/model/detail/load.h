// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/load.h.

#ifndef SKALD_MODEL_DETAIL_LOAD_H_
#define SKALD_MODEL_DETAIL_LOAD_H_

#include "skald/model/load.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/registry.h"
#include "skald/model/detail/load_check.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_cache.h"
#include "skald/weights/packed_files/packed_check.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packed_files/packed_format.h"
#include "skald/weights/random_weights.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<void> CheckSpec(const ModelSpec& spec, const RankShare& share) {
  if (const char* const why = WhyImpossible(spec)) return Fail(ErrorCode::kInvalidArgument, why);
  if (const char* const why = WhyNotForRanks(spec, share)) return Fail(ErrorCode::kUnsupported, why);
  return {};
}

SKALD_INLINE ModelWeights MakeRandom(const ModelSpec& spec, uint64_t seed, DType dtype, unsigned threads,
                                     const RankShare& share) {
  const FloatEnvironment plain(Denormals::kKept);  // layers compute what their parameters lie around
  ModelWeights weights(spec, share);
  weights.dtype = dtype;
  ThreadPool pool(threads);
  FillWithRandom(ParametersOf(weights), seed, dtype, ExecutorRef(pool));
  return weights;
}

SKALD_INLINE Result<void> CheckLoadOptions(const LoadOptions& options, std::span<const WeightPacker> packers) {
  SKALD_TRY(CheckLoadOptions(options));
  if (FindType(packers, options.dtype) != nullptr) return {};
  return Fail(ErrorCode::kUnsupported, Concat({"LoadOptions::dtype is ", NameOf(options.dtype),
                                               ", which is not among the WeightTypes of the Config"}));
}

// Refuses matrices of other types than those that the program can compute with.
inline Result<void> CheckTypes(const std::filesystem::path& path, const ParameterList& list,
                               std::span<const WeightPacker> packers) {
  const std::optional<DType> unknown = FindTypeOutside(packers, list);
  if (!unknown) return {};
  return Fail(ErrorCode::kUnsupported, Concat({PathText(path), ": has weights of the type ", NameOf(*unknown),
                                               ", which is not among the WeightTypes of the Config"}));
}

// Tells a plan of all that `list` refers to.
inline void AddAll(const ParameterList& list, LoadPlan& plan) {
  for (const Parameter& parameter : list.parameters()) plan.Add(parameter);
  for (const auto& [name, original] : list.copies()) plan.AllowCopy(name, original);
  for (const auto& [layer, name] : list.unused()) plan.AllowUnused(layer, name);
}

// Fills what `list` refers to, and nothing where a tensor is missing or does not fit.
inline Result<void> FillFrom(const Checkpoint& checkpoint, const ParameterList& list, const LoadOptions& options,
                             std::span<const WeightPacker> packers) {
  SKALD_TRY(CheckConverter(checkpoint, list.assumptions()));
  LoadPlan plan(checkpoint, TensorNamesOf(checkpoint), options.dtype, packers, list.share());
  AddAll(list, plan);
  SKALD_TRY(plan.Check());
  const FloatEnvironment plain(Denormals::kKept);  // the threads that pack inherit it
  ThreadPool pool(options.threads);
  plan.Execute(ExecutorRef(pool), options.progress);
  return {};
}

// Returns the packed file as the options want it: the open one, which is mapped, or a copy of it in memory.
inline Result<std::shared_ptr<const PackedFile>> PackedAsWanted(const std::shared_ptr<const PackedFile>& file,
                                                                const LoadOptions& options) {
  const MappedFile::Use use = UseOfPacked(options);
  if (use == MappedFile::Use::kCopy) return PackedFile::Open(file->path(), use);
  if (use == MappedFile::Use::kKeep) file->WillRead(file->bytes());
  return file;
}

inline Result<void> FillFromPacked(const std::shared_ptr<const PackedFile>& opened, const ParameterList& list,
                                   uint64_t model, const LoadOptions& options) {
  SKALD_ASSIGN(const auto file, PackedAsWanted(opened, options));
  if (file->table().dtype != options.dtype) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({PathText(file->path()), ": packed as ", NameOf(file->table().dtype),
                        ", but LoadOptions::dtype is ", NameOf(options.dtype)}));
  }
  return TakeWeights(file, list, model, options);
}

// Fills what `list` refers to from the tensors of a model that is not packed.
inline Result<void> FillFromTensors(const OpenedModel& model, const ParameterList& list, const ModelSpec& spec,
                                    const LoadOptions& options, std::span<const WeightPacker> packers) {
  SKALD_ASSIGN(const auto checkpoint, model.checkpoint());
  SKALD_TRY(CheckConverter(*checkpoint, list.assumptions()));
  if (const GgufFile* const file = checkpoint->gguf()) {
    SKALD_TRY(CheckGgufMetadata(PathText(model.path()), *file, spec));
  }
  return FillFrom(*checkpoint, list, options, packers);
}

}  // namespace internal

SKALD_INLINE Result<ModelWeights> LoadWeights(const Checkpoint& checkpoint, const ModelSpec& spec,
                                              const LoadOptions& options, std::span<const WeightPacker> packers) {
  return NoThrow(PathText(checkpoint.path()), [&]() -> Result<ModelWeights> {
    SKALD_TRY(internal::CheckLoadOptions(options, packers));
    SKALD_TRY(internal::CheckSpec(spec, options.share));
    ModelWeights weights(spec, options.share);
    weights.dtype = options.dtype;
    if (auto loaded = internal::FillFrom(checkpoint, ParametersOf(weights), options, packers); !loaded) {
      return Failure(loaded.error());
    }
    return weights;
  });
}

namespace internal {

// Returns what `ask(plan)` does of a plan to load the whole model, which is complete. Reads no parameter.
template <class Ask>
auto AskPlan(const Checkpoint& checkpoint, const ModelSpec& spec, DType dtype, Ask ask)
    -> Result<decltype(ask(std::declval<const LoadPlan&>()))> {
  SKALD_TRY(CheckSpec(spec));
  ModelWeights weights(spec);
  const ParameterList list = ParametersOf(weights);
  LoadPlan plan(checkpoint, TensorNamesOf(checkpoint), dtype, WeightPackersOf<AllWeights>());
  AddAll(list, plan);
  SKALD_TRY(plan.Check());
  return ask(std::as_const(plan));
}

}  // namespace internal

SKALD_INLINE Result<std::vector<const TensorView*>> TensorsLeftOut(const Checkpoint& checkpoint,
                                                                   const ModelSpec& spec) {
  return NoThrow(PathText(checkpoint.path()), [&] {
    return internal::AskPlan(checkpoint, spec, DType::kBF16, [](const auto& plan) { return plan.LeftOut(); });
  });
}

SKALD_INLINE Result<std::vector<PlannedMatrix>> MatricesOf(const Checkpoint& checkpoint, const ModelSpec& spec,
                                                           DType dtype) {
  return NoThrow(PathText(checkpoint.path()), [&] {
    return internal::AskPlan(checkpoint, spec, dtype, [](const auto& plan) { return plan.Matrices(); });
  });
}

SKALD_INLINE Result<ModelWeights> LoadWeights(const std::filesystem::path& path, const ModelSpec& spec,
                                              std::string_view name, const LoadOptions& options,
                                              std::span<const WeightPacker> packers) {
  return NoThrow(PathText(path), [&]() -> Result<ModelWeights> {
    SKALD_TRY(internal::CheckLoadOptions(options, packers));
    SKALD_TRY(internal::CheckSpec(spec, options.share));
    SKALD_ASSIGN(const auto model, OpenedModel::Open(path));
    return LoadWeights(model, spec, name, options, packers);
  });
}

SKALD_INLINE Result<ModelWeights> LoadWeights(const OpenedModel& model, const ModelSpec& spec, std::string_view name,
                                              const LoadOptions& options, std::span<const WeightPacker> packers) {
  const std::filesystem::path& path = model.path();
  return NoThrow(PathText(path), [&]() -> Result<ModelWeights> {
    SKALD_TRY(internal::CheckLoadOptions(options, packers));
    SKALD_TRY(internal::CheckSpec(spec, options.share));
    ModelWeights weights(spec, options.share);
    weights.dtype = options.dtype;
    const ParameterList list = ParametersOf(weights);
    const auto load = [&] { return internal::FillFromTensors(model, list, spec, options, packers); };
    if (!model.is_whole()) {
      SKALD_TRY(internal::CheckConfigJson(path, spec));
    }
    if (model.packed() != nullptr) {
      SKALD_TRY(internal::FillFromPacked(model.packed(), list, Fingerprint(spec), options));
    } else if (options.cache_folder.empty()) {
      SKALD_TRY(load());
    } else {
      SKALD_ASSIGN(auto source, model.DescribeSource());
      SKALD_TRY(LoadThroughCache({path, name, Fingerprint(spec), std::move(source)}, list, options, load));
    }
    SKALD_TRY(internal::CheckTypes(path, list, packers));
    return weights;
  });
}

SKALD_INLINE Result<ModelWeights> RandomWeights(const ModelSpec& spec, uint64_t seed, DType dtype, unsigned threads,
                                                const RankShare& share) {
  return NoThrow("RandomWeights", [&]() -> Result<ModelWeights> {
    SKALD_TRY(internal::CheckSpec(spec, share));
    return internal::MakeRandom(spec, seed, dtype, threads, share);
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_LOAD_H_
