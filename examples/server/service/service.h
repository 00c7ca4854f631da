// SPDX-License-Identifier: Apache-2.0
//
// Service: a model at work for many clients: the engine and its loop, what is remembered of prompts and conversations,
// and what is counted. It knows nothing of HTTP.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/service/conversations.h"
#include "server/service/served_model.h"
#include "server/service/transcripts.h"
#include "skald/base/threads/background_queue.h"
#include "skald/constraints/filter_cache.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/engine/engine.h"
#include "skald/engine/engine_loop.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/model/workspace.h"
#include "skald/open/tools/output_format.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald::serve {

struct ServiceOptions {
  WorkspaceOptions workspace = {};
  uint32_t max_running = 64;
  std::optional<double> step_seconds = {};
  PolicyOptions policy = {};
  bool prompt_lookup = false;                // speculate with what the text has said before
  uint64_t prompt_bytes = kUnlimited;        // of prompts kept in memory, for the model and for each adapter
  std::vector<ChunkStoreRef> stores = {};    // where prompts and transcripts outlive the process, nearest first
  std::filesystem::path conversations = {};  // folder of what was said; empty: in memory
  ConversationLimits conversation_limits = {}, response_limits = {};
  Conversations::Tell tell = {};  // gets warnings for people
};

// Safe for concurrent calls.
class Service {
 public:
  // The objects that `options` refers to must outlive it. Errors: the engine's, the folder's.
  static Result<std::unique_ptr<Service>> Start(ServedModel model, const ServiceOptions& options);

  const ServedModel& model() const { return model_; }
  // All that can be asked for: the model alone, then its adapters. Lives as long as this.
  const std::vector<NamedModel>& named_models() const { return named_models_; }
  // The one of that name, or null.
  const NamedModel* FindModel(std::string_view name) const;
  const OutputFormat& format() const { return format_; }
  // Most tokens of a conversation.
  uint32_t context() const { return engine_->capacity(); }

  // See EngineLoop.
  Result<EngineLoop::Ticket> Submit(Request request, std::function<void()> on_event);
  void Cancel(uint64_t number) { (void)loop_->Cancel(number); }

  // Of the tokenizer: as texts have them, and with the names of special tokens. Made at the first call.
  Result<std::shared_ptr<const TokenVocabulary>> Vocabulary();
  Result<std::shared_ptr<const TokenVocabulary>> NamedVocabulary();

  // Of grammars for these.
  FilterCache& filters() { return filters_; }

  Conversations& conversations() { return *conversations_; }
  // The conversations of OpenAI's responses, by the responses' ids.
  Conversations& responses() { return *responses_; }
  Transcripts& transcripts() { return *transcripts_; }
  // Of an adapter that is served, or of the model alone.
  PromptCache& prompts(const Sha256Digest& adapter) { return *prompts_.at(adapter); }

  // Of the engine: whether steps are done, and why not.
  LoopHealth health() const { return loop_->health(); }
  // Of what is written to stores beside the engine, and read from them.
  BackgroundStats writes() const { return writer_ != nullptr ? writer_->stats() : BackgroundStats(); }
  BackgroundStats reads() const { return reader_ != nullptr ? reader_->stats() : BackgroundStats(); }

  // Forgets how a deleted conversation was spelled and computed, but for what others of the tenant begin with too.
  void Forget(const std::string& tenant, const Conversation& conversation);

  // Appends what there is to count, for Prometheus.
  void WriteMetrics(std::string& out) const;

  // Waits until the answers that are being written are at their ends, `grace` at most, and cancels what is left. Then
  // stores have two seconds to take what waits for them.
  void Stop(std::chrono::milliseconds grace);

 private:
  Service(ServedModel model, const ServiceOptions& options);

  Result<void> Begin(const ServiceOptions& options);
  Result<void> BeginStores(const ServiceOptions& options);
  Result<void> BeginEngine(const ServiceOptions& options);

  ServedModel model_;
  std::vector<NamedModel> named_models_;
  OutputFormat format_;
  std::unique_ptr<BackgroundQueue> writer_, reader_;  // of stores; null if there are none
  std::optional<Transcripts> transcripts_;
  FilterCache filters_;
  std::unique_ptr<Conversations> conversations_, responses_;
  std::map<Sha256Digest, std::unique_ptr<PromptCache>> prompts_;  // by adapter
  PromptLookup drafter_;
  std::optional<Workspace> workspace_;
  std::unique_ptr<FilterWorkers> filter_workers_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EngineLoop> loop_;  // refers to the engine
  std::mutex mutex_;
  std::shared_ptr<const TokenVocabulary> vocabulary_, named_vocabulary_;  // guarded by mutex_
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_SERVICE_H_
