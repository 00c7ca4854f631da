// SPDX-License-Identifier: Apache-2.0
//
// LoadTaskAdapters: adapters that a checkpoint has beside its weights, one for each task (JinaBERT v3). No state
// outlives a pass of an encoder, so their digests need not hold against forgery.

#ifndef SKALD_OPEN_DETAIL_TASK_ADAPTERS_H_
#define SKALD_OPEN_DETAIL_TASK_ADAPTERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/adapters/adapter_file.h"
#include "skald/weights/adapters/adapter_plan.h"
#include "skald/weights/adapters/keep_partitioned.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

// A digest of task `task` among those of a model.
inline Sha256Digest DigestOfTask(const Adapter& adapter, size_t task) {
  Sha256Digest digest = {};
  const uint64_t numbers[] = {adapter.model, task + 1};
  std::ranges::copy(std::as_bytes(std::span(numbers)), digest.begin());
  return digest;
}

// Returns the adapters of `tasks` tasks, in order, for the part of a model of `spec` that `share` has; products of
// embeddings are among them. `scale` multiplies all. Errors name the file and the tensor: kDataLoss for halves of pairs
// and other numbers of tasks, kInvalidArgument for sizes other than the model's.
inline Result<std::vector<Adapter>> LoadTaskAdapters(const Checkpoint& checkpoint, size_t tasks, double scale,
                                                     const ModelSpec& spec, const RankShare& share) {
  ModelWeights places(spec);  // no parameter is there, but the list says which there are
  const ParameterList list = ParametersOf(places);
  const FloatEnvironment plain(Denormals::kKept);
  ThreadPool pool(1);
  const ExecutorRef executor(pool);
  const std::vector<TensorNames> known = TensorNamesIn(checkpoint);
  const TensorNames& names = DetectTensorNames(checkpoint, known);
  const auto dim = static_cast<size_t>(spec.model_dim), types = static_cast<size_t>(spec.token_types);
  std::vector<Adapter> adapters;
  for (size_t task = 0; task < tasks; ++task) {
    SKALD_ASSIGN(const auto file, AdapterFile::OfTask(checkpoint, task, tasks, scale, names.other_parts));
    AdapterPlan plan(file, list, {&names, 1});
    Adapter adapter;
    adapter.model = Fingerprint(spec);
    adapter.digest = DigestOfTask(adapter, task);
    SKALD_ASSIGN(adapter.tokens,
                 plan.MakeEmbedding("embed_tokens.weight", static_cast<size_t>(spec.vocab_size), dim, executor));
    SKALD_ASSIGN(adapter.types, plan.MakeEmbedding("type_embedding.weight", types, dim, executor));
    SKALD_ASSIGN(adapter.low_ranks, plan.Make(executor));
    KeepPartitioned(list, share, adapter);
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_TASK_ADAPTERS_H_
