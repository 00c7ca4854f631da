// SPDX-License-Identifier: Apache-2.0
//
// HeadDrafter: guesses with a head that reads the model's residual stream (model/heads/draft_head.h). The head computes
// each token of a text once, from the model's rows. Its guesses after the first are made from rows of its own, as in
// DeepSeek-V3 (arXiv:2412.19437), and are forgotten once the model has computed them. They are drawn as the text's own
// tokens are, as those of DraftModel.

#ifndef SKALD_ENGINE_SPECULATION_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_HEAD_DRAFTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/requests/drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald {

class HeadDrafter : public Drafter {
 public:
  /// All that is given must outlive this; the workspace is not the engine's own. `pool` is of the layout of
  /// DraftHead::body. Windowed heads need RuntimeConfig::rewind_tokens of as many guesses as are asked for.
  HeadDrafter(const DraftHead& head, std::shared_ptr<BlockPool> pool, Workspace& workspace)
      : head_(head), pool_(std::move(pool)), workspace_(workspace) {}

  std::span<const size_t> Watches() const override { return head_.watches(); }

  /// Heads were trained for one further token, and know less with each that they guess themselves.
  uint32_t MostDrafts() const override { return 3; }

  /// One pass of the head over what is new of all texts, then one for each further guess. A text without guesses is
  /// read in larger pieces. One for which the pool has no room, or whose rows were not told from its last token on
  /// back, gets no guesses; the head then knows the text from a later token on.
  Result<void> Draft(std::span<DraftTask> tasks) override;

  void Forget(uint64_t sequence) override { texts_.erase(sequence); }

 private:
  static constexpr size_t kMostUnread = 64;

  struct Text {
    KVCache cache;              ///< of the head; its first token is that at position `first` + 1
    uint32_t first;             ///< position of the first row
    std::vector<float> unread;  ///< rows after those in the cache

    uint32_t next() const { return first + cache.size(); }  ///< position of the first unread row
  };

  /// The part of a pass that is of one text.
  struct Work {
    DraftTask* task;
    Text* text;
    std::vector<int32_t> tokens;
    std::vector<float> rows;       ///< [tokens, row floats]
    uint32_t right = 0;            ///< tokens in the cache that are computed from the model's rows
    std::vector<float> last = {};  ///< row of the head's residual stream after the last token
  };

  /// Adds what the task tells to what is known of its text. Null if there is nothing, or no room.
  Text* Read(const DraftTask& task);
  /// Computes the tokens of all works. If there is no room, works are removed from the list and texts from the pool.
  Result<void> Compute(std::vector<Work>& works, DraftHead::From from);
  /// One try of it.
  Result<void> Forward(std::vector<Work>& works, DraftHead::From from);
  /// Draws a guess of each work that wants one.
  Result<void> Guess(std::vector<Work>& works);
  /// Forgets the guesses of a work, whose text may be gone.
  void Finish(const DraftTask& task, uint32_t right);
  void Drop(std::vector<Work>& works, size_t at);
  bool MakeRoom(std::span<const Work> works);

  const DraftHead& head_;
  std::shared_ptr<BlockPool> pool_;
  Workspace& workspace_;
  SamplerScratch scratch_;
  AlignedBuffer<float> inputs_;
  std::vector<float> logits_;
  std::map<uint64_t, Text> texts_;  ///< by their numbers
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/head_drafter.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_HEAD_DRAFTER_H_
