// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/load_adapter.h.

#ifndef SKALD_MODEL_DETAIL_LOAD_ADAPTER_H_
#define SKALD_MODEL_DETAIL_LOAD_ADAPTER_H_

#include "skald/model/load_adapter.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/registry.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/adapters/adapter_file.h"
#include "skald/weights/adapters/adapter_plan.h"
#include "skald/weights/adapters/keep_partitioned.h"
#include "skald/weights/files/tensor_names.h"

namespace skald {

SKALD_INLINE Result<Sha256Digest> DigestOfAdapter(const Adapter& adapter) {
  Sha256 hash;
  const auto add = [&hash](uint64_t number) { hash.Update(std::as_bytes(std::span(&number, 1))); };
  hash.Update("skald adapter 1");
  add(adapter.model);
  for (const LowRank& low : adapter.low_ranks) {
    for (const uint64_t number : {low.matrix, low.b.rows, low.a.rows, low.a.cols}) add(number);
    hash.Update(low.a.data).Update(low.b.data);
  }
  for (const auto* const embedding : {&adapter.tokens, &adapter.types}) {
    if (!*embedding) continue;
    for (const uint64_t number : {(*embedding)->a.rows, (*embedding)->a.cols, (*embedding)->b.rows}) add(number);
    hash.Update((*embedding)->a.data).Update((*embedding)->b.data);
  }
  return hash.Finish();
}

SKALD_INLINE Result<Adapter> LoadAdapter(const std::filesystem::path& path, const ModelSpec& spec,
                                         const RankShare& share) {
  return NoThrow(PathText(path), [&]() -> Result<Adapter> {
    if (const char* const why = WhyImpossible(spec)) return Fail(ErrorCode::kInvalidArgument, why);
    SKALD_ASSIGN(const auto file, internal::AdapterFile::Open(path));
    ModelWeights places(spec);  // no parameter is there, but the list says which there are
    const ParameterList list = ParametersOf(places);
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(1);
    const std::vector<TensorNames> names = internal::TensorNamesIn(file.checkpoint());
    SKALD_ASSIGN(auto low_ranks, internal::AdapterPlan(file, list, names).Make(ExecutorRef(pool)));
    Adapter adapter = {.model = Fingerprint(spec), .low_ranks = std::move(low_ranks)};
    SKALD_ASSIGN(const auto digest, DigestOfAdapter(adapter));
    adapter.digest = digest;
    internal::KeepPartitioned(list, share, adapter);
    return adapter;
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_LOAD_ADAPTER_H_
