// SPDX-License-Identifier: Apache-2.0
//
// EncoderService: a model that embeds or ranks texts, at work for many clients. One thread computes: works of the same
// tenant one after the other, tenants in turns, a part of a work at a time. Texts of several works are computed
// together, which changes no bit of any.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_ENCODERS_ENCODER_SERVICE_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_ENCODERS_ENCODER_SERVICE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "skald/model/workspace.h"
#include "skald/open/open_encoder.h"
#include "skald/serving/model_service.h"

namespace skald::serve {

// Texts to be embedded, or documents to be ranked, and what came of them. The service alone changes it until `then` is
// called, and no longer after that.
struct EncoderWork {
  // The task: ids of texts, or a query and documents.
  std::vector<TextIds> texts = {};
  EmbedOptions embed = {};
  std::string query = {};
  std::vector<std::string> documents = {};
  RankOptions rank = {};

  // Called once, by the service's thread; must be quick and must not throw.
  std::function<void()> then = {};
  // Whether no client waits for it any more.
  std::function<bool()> is_abandoned = [] { return false; };

  std::vector<std::vector<float>> embeddings = {};  // [texts], all rows of each
  std::vector<uint32_t> num_tokens = {};            // [texts], that were computed
  std::vector<float> scores = {};                   // [documents]
  std::optional<Error> error = {};                  // else all of it is there

  bool is_ranking() const { return texts.empty(); }
  size_t size() const { return is_ranking() ? documents.size() : texts.size(); }
  size_t done() const { return is_ranking() ? scores.size() : embeddings.size(); }
};

struct EncoderStats {
  uint64_t works = 0, texts = 0;  // that were computed
  uint64_t waiting = 0;           // works that wait or run
};

// Safe for concurrent calls.
class EncoderService {
 public:
  // `name` is what clients call it.
  EncoderService(std::string name, Encoder encoder, Workspace workspace);
  EncoderService(const EncoderService&) = delete;
  EncoderService& operator=(const EncoderService&) = delete;
  // Drops what waits.
  ~EncoderService();

  const Encoder& encoder() const { return encoder_; }
  const NamedModel& named() const { return named_; }

  // Computes `work` when its turn comes. Returns false if the service has stopped.
  bool Submit(const std::string& tenant, std::shared_ptr<EncoderWork> work);

  EncoderStats stats() const;

  // Computes no more; works that wait end with an error. Waits for the part that is being computed.
  void Stop();

 private:
  using WorkPointer = std::shared_ptr<EncoderWork>;
  // A tenant's works, none of which is at its end.
  using Turn = std::pair<std::string, std::deque<WorkPointer>>;
  // Texts of a work, from the first one that is not done.
  struct Part {
    std::string tenant;
    WorkPointer work;
    size_t count;
  };

  void Run();
  std::vector<Part> TakeParts();
  void Embed(std::vector<Part>& parts);
  void Rank(Part& part);
  void Settle(const std::vector<Part>& parts);

  const NamedModel named_;
  const Encoder encoder_;
  Workspace workspace_;  // of the thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Turn> turns_;  // guarded by mutex_, as all that follows; whose turn it is first
  EncoderStats stats_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_ENCODERS_ENCODER_SERVICE_H_
