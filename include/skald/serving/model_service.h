// SPDX-License-Identifier: Apache-2.0
//
// ModelService: a model at work for many clients. It has the engine and the thread that steps it, the prompts and
// answers that were computed before, in memory and in stores, and the vocabularies and filters of answers. The program
// decides how clients talk to it, over HTTP or otherwise.

#ifndef SKALD_SERVING_MODEL_SERVICE_H_
#define SKALD_SERVING_MODEL_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/json/json_value.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/base/threads/background_queue.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/constraints/filter_cache.h"
#include "skald/constraints/token_filter.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "skald/engine/plan/policy.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/filter_workers.h"
#include "skald/engine/requests/request.h"
#include "skald/model/workspace.h"
#include "skald/open/tools/answer_filter.h"
#include "skald/serving/served_model.h"
#include "skald/serving/transcripts.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald {

/// Settings of a ModelService.
struct ModelServiceOptions {
  WorkspaceOptions workspace = {};          ///< threads that compute
  uint32_t max_running = 64;                ///< see EngineOptions
  std::optional<double> step_seconds = {};  ///< see EngineOptions
  PolicyOptions policy = {};                ///< which request goes first
  std::shared_ptr<Drafter> drafter = {};    ///< guesses tokens to speculate with; may be null
  uint64_t prompt_bytes = kUnlimited;       ///< of prompts kept in memory, for the model and for each adapter
  std::vector<ChunkStoreRef> stores = {};   ///< where prompts and transcripts outlive the process, nearest first
};

/// A model that clients may ask for by name: the model alone, or with an adapter.
struct NamedModel {
  std::string name;           ///< by which clients ask for it
  Sha256Digest adapter = {};  ///< Request::adapter; zeros: the model alone
};

/// Counts of a ModelService.
struct ModelServiceStats {
  EngineStats engine = {};                  ///< as of the last step
  PromptCacheStats prompts = {};            ///< sums over the model and its adapters
  PoolUsage pool = {};                      ///< memory of all caches
  BackgroundStats writes = {}, reads = {};  ///< of stores; zeros if there are none
};

/// Safe for concurrent calls.
class ModelService {
 public:
  /// The objects that `options` and the model refer to must outlive it. Errors: those of CheckAdapters, CreateWorkspace
  /// and Engine::Create.
  static Result<std::unique_ptr<ModelService>> Start(ServedModel model, const ModelServiceOptions& options = {});
  ModelService(const ModelService&) = delete;
  ModelService& operator=(const ModelService&) = delete;

  /// The model; lives as long as this.
  const ServedModel& served() const { return model_; }
  /// All that can be asked for: the model alone, then with each of its adapters. Lives as long as this.
  const std::vector<NamedModel>& named_models() const { return named_models_; }
  /// Returns the one of that name, or null. Valid as long as this.
  const NamedModel* FindModel(std::string_view name) const;
  /// Most tokens of a conversation, prompt and answer.
  uint32_t context() const { return engine_->capacity(); }

  /// Takes a request; see EngineLoop::Submit.
  Result<EngineLoop::Ticket> Submit(Request request, std::function<void()> on_event = {});
  /// Ends a request soon, if it is not at its end; its inbox gets the last events.
  void Cancel(uint64_t number) { (void)loop_->Cancel(number); }

  /// The vocabulary of filters, made at the first call: TokenVocabulary::Make. Errors: that function's.
  Result<std::shared_ptr<const TokenVocabulary>> Vocabulary();
  /// The same with the names of special tokens: VocabularyWithNames. Errors: that function's.
  Result<std::shared_ptr<const TokenVocabulary>> NamedVocabulary();
  /// Returns the filter of the answers to a request with its prompt and max_tokens; null if any text may come. Of
  /// `rules`, the format and the room for the answer are filled in. Compiled grammars are kept. Errors: those of
  /// MakeAnswerFilter.
  Result<std::shared_ptr<const TokenFilter>> FilterOf(AnswerRules rules, const Request& request);
  /// Returns the filter of texts that a grammar in GBNF allows (ParseGbnf). It is kept, too. Errors: those of ParseGbnf
  /// and GrammarFilter::Compile.
  Result<std::shared_ptr<const TokenFilter>> FilterOfGrammar(const std::string& gbnf);

  /// How answers were spelled.
  Transcripts& transcripts() { return *transcripts_; }
  /// Computed prompts of an adapter that is served, or of the model alone: NamedModel::adapter.
  PromptCache& prompts(const Sha256Digest& adapter) { return *prompts_.at(adapter); }
  /// Forgets how a chat was spelled and computed under `salt`, but for what one of `others` begins with too. Messages
  /// are those of Chat::messages.
  void Forget(const JsonValue& messages, std::span<const JsonValue> others, const std::string& salt);

  /// The counts, now.
  ModelServiceStats stats() const;
  /// Whether steps are done, and why not.
  LoopHealth health() const { return loop_->health(); }

  /// Takes no more requests, waits until the answers that are being written are at their ends, `grace` at most, and
  /// cancels what is left. Then stores have two seconds to take what waits for them.
  void Stop(std::chrono::milliseconds grace);

 private:
  explicit ModelService(ServedModel model);

  Result<void> BeginStores(const ModelServiceOptions& options);
  Result<void> BeginEngine(const ModelServiceOptions& options);

  ServedModel model_;
  std::vector<NamedModel> named_models_;
  std::unique_ptr<BackgroundQueue> writer_, reader_;  ///< of stores; null if there are none
  std::optional<Transcripts> transcripts_;
  FilterCache filters_;
  std::map<Sha256Digest, std::unique_ptr<PromptCache>> prompts_;  ///< by adapter
  std::shared_ptr<Drafter> drafter_;                              ///< or null
  std::optional<Workspace> workspace_;
  std::unique_ptr<FilterWorkers> filter_workers_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineLoop> loop_;  ///< refers to the engine
  std::mutex mutex_;
  std::shared_ptr<const TokenVocabulary> vocabulary_, named_vocabulary_;  ///< guarded by mutex_
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/serving/detail/model_service.h"
#endif

#endif  // SKALD_SERVING_MODEL_SERVICE_H_
