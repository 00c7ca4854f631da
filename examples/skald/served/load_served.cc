// SPDX-License-Identifier: Apache-2.0

#include "served/load_served.h"

#ifdef SKALD_HAS_SERVER

#include <memory>
#include <utility>

#include "bench/bench_measure.h"
#include "conversation/drafting.h"
#include "conversation/program_model.h"
#include "conversation/state_identity.h"
#include "model_files/known_models.h"
#include "model_files/load_shape.h"
#include "model_files/model_text.h"
#include "ranks/rank_job.h"
#include "served/served_encoder.h"
#include "server/service/service.h"
#include "setup.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/model/rank_memory.h"
#include "skald/model/workspace.h"
#include "skald/open/conversation.h"
#include "skald/serving/served_model.h"

namespace skald::program {
namespace {

RuntimeConfig ServedRuntime(const Options& options, const ModelInfo& info) {
  RuntimeConfig runtime = ConversationRuntime(info, options.runtime, options.runtime.cache_bytes);
  runtime.max_tokens = options.max_context.value_or(runtime.max_tokens);
  if (options.serve.prompt_lookup || options.draft.any()) runtime.rewind_tokens = kDraftedTokens;
  return runtime;
}

// The adapters of a model that clients call `model_name`.
Result<std::vector<NamedAdapter>> LoadAdapters(const ServeOptions& options, const std::string& model_name,
                                               const ModelSpec& spec, const RankShare& share) {
  std::vector<NamedAdapter> all;
  for (const auto& [name, path] : options.adapters) {
    if (name == serve::kDefaultModel) {
      return Fail(ErrorCode::kInvalidArgument, "--adapter: '" + name + "' is the name of another model");
    }
    auto adapter = OpenAdapter(path, spec, share);
    if (!adapter) return Annotate("--adapter " + name, adapter);
    all.push_back({name, *std::move(adapter)});
  }
  if (auto different = CheckAdapters(model_name, all); !different) return Annotate("--adapter", different);
  return all;
}

serve::ModelFacts FactsOf(const ModelInfo& info, const ProgramModel& model) {
  uint64_t bytes = 0;
  for (const auto& array : ArraysOf(model)) bytes += array.size();
  return {.family = info.family,
          .parameters = CountParameters(model),
          .bytes = bytes,
          .type = info.weight_type,
          .trained_context = info.trained_context};
}

PolicyOptions PolicyOf(const std::string& name) {
  PolicyOptions policy;
  policy.policy = name == "fair"       ? Policy::kFairShare
                  : name == "priority" ? Policy::kPriority
                  : name == "shortest" ? Policy::kShortestFirst
                                       : Policy::kFirstCome;
  return policy;
}

ModelServiceOptions ServiceOptionsOf(const Options& options, const std::vector<ChunkStoreRef>& stores) {
  ModelServiceOptions service;
  service.workspace = options.workspace;
  service.max_running = options.serve.users;
  if (options.serve.step_ms > 0) service.step_seconds = options.serve.step_ms / 1000;
  service.policy = PolicyOf(options.serve.policy);
  service.stores = stores;
  return service;
}

}  // namespace

Result<serve::ModelAtWork> LoadServed(const Options& options, const std::string& name,
                                      const std::vector<ChunkStoreRef>& stores) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  const std::string& called = name.empty() ? info.name : name;
  SKALD_ASSIGN(const bool is_encoder, IsServedEncoder(options, info));
  if (is_encoder) return LoadServedEncoder(options, info, called);
  SKALD_ASSIGN(auto text, OpenText(options, info));
  SKALD_ASSIGN(auto adapters, LoadAdapters(options.serve, called, info.spec, ShareOf(options.ranks)));
  const RuntimeConfig runtime = ServedRuntime(options, info);
  SKALD_ASSIGN(const auto loaded, LoadWithDrafter(options, info, runtime));
  const std::shared_ptr<const ProgramModel>& model = loaded.model;
  SKALD_ASSIGN(auto pool, model->CreatePool(runtime));
  SKALD_ASSIGN(auto identity, IdentityOf(options, info.model, {}));
  ServedModel served = {.name = called,
                        .owner = model,
                        .model = *model,
                        .model_dim = info.spec.model_dim,
                        .text = std::move(text),
                        .pool = std::move(pool),
                        .identity = std::move(identity),
                        .adapters = std::move(adapters)};
  ModelServiceOptions service_options = ServiceOptionsOf(options, stores);
  service_options.drafter = loaded.drafter;
  if (options.serve.prompt_lookup) service_options.drafter = std::make_shared<PromptLookup>();
  SKALD_ASSIGN(auto service, ModelService::Start(std::move(served), service_options));
  return serve::ModelAtWork{std::move(service), FactsOf(info, *model)};
}

Result<uint64_t> BytesOfServed(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  SKALD_ASSIGN(const auto shape, ShapeOfLoad(info.model, options.weight_type.value_or(info.weight_type)));
  SKALD_ASSIGN(const bool is_encoder, IsServedEncoder(options, info));
  if (is_encoder) return BytesOfServedEncoder(shape);
  const RuntimeConfig runtime = ServedRuntime(options, info);
  constexpr uint32_t kTokens = 1;  // of a conversation: only weights are asked for
  SKALD_ASSIGN(const auto memory, MemoryOfRank(shape.spec, shape.matrices, {}, runtime, kTokens));
  const uint64_t bytes = memory.weights() + runtime.cache_bytes;
  if (!options.draft.any()) return bytes;
  if (!DraftsWithModel(options.draft)) return bytes + bytes / NumLayers(info.spec);  // about one layer more
  SKALD_ASSIGN(const auto of_draft, BytesOfServed(OptionsOfDraft(options)));
  return bytes + of_draft;
}

}  // namespace skald::program

#endif  // SKALD_HAS_SERVER
