// SPDX-License-Identifier: Apache-2.0

#include "server/service/encoders/encoder_service.h"

#include <algorithm>
#include <span>

#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

// Tokens that are computed between two looks at whose turn it is.
constexpr size_t kTokensOfStep = 4096;
// Documents of a ranking, whose tokens are not known: as many as have so many bytes.
constexpr size_t kBytesOfStep = 16384;

bool HasSameOptions(const EmbedOptions& a, const EmbedOptions& b) {
  return a.dimension == b.dimension && a.normalise == b.normalise && a.pooling == b.pooling &&
         a.long_text == b.long_text;
}

// How many texts from the first one on that is not done have at most so many tokens; at least one.
size_t TextsWithin(const EncoderWork& work, size_t most_tokens, size_t& tokens) {
  size_t count = 0;
  for (size_t i = work.done(); i < work.size(); ++i, ++count) {
    const size_t more = work.texts[i].tokens.size();
    if (count > 0 && tokens + more > most_tokens) break;
    tokens += more;
  }
  return count;
}

size_t DocumentsWithin(const EncoderWork& work) {
  size_t count = 0, bytes = 0;
  for (size_t i = work.done(); i < work.size(); ++i, ++count) {
    bytes += work.query.size() + work.documents[i].size();
    if (count > 0 && bytes > kBytesOfStep) break;
  }
  return count;
}

bool IsFinished(const EncoderWork& work) { return work.error || work.done() == work.size() || work.is_abandoned(); }

}  // namespace

EncoderService::EncoderService(std::string name, Encoder encoder, Workspace workspace)
    : named_{std::move(name)},
      encoder_(std::move(encoder)),
      workspace_(std::move(workspace)),
      thread_([this] { Run(); }) {}

EncoderService::~EncoderService() {
  Stop();
  thread_.join();
}

bool EncoderService::Submit(const std::string& tenant, std::shared_ptr<EncoderWork> work) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return false;
  const auto turn = std::ranges::find(turns_, tenant, &Turn::first);
  if (turn == turns_.end()) {
    turns_.emplace_back(tenant, std::deque{std::move(work)});
  } else {
    turn->second.push_back(std::move(work));
  }
  ++stats_.waiting;
  changed_.notify_all();
  return true;
}

EncoderStats EncoderService::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void EncoderService::Stop() {
  std::deque<Turn> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    dropped.swap(turns_);
    stats_.waiting = 0;
    changed_.notify_all();
  }
  for (const auto& [tenant, works] : dropped) {
    for (const WorkPointer& work : works) {
      work->error = Error{ErrorCode::kFailedPrecondition, "the server is shutting down"};
      work->then();
    }
  }
}

void EncoderService::Run() {
  for (;;) {
    std::vector<Part> parts;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopping_ || !turns_.empty(); });
      if (is_stopping_) return;
      parts = TakeParts();
    }
    if (parts.size() == 1 && parts[0].work->is_ranking()) {
      Rank(parts[0]);
    } else if (!parts.empty()) {
      Embed(parts);
    }
    Settle(parts);
  }
}

// With the lock held: takes the works out of which something is computed next from their tenants. The first one's turn
// it is; embeddings of other tenants, of the same options, fill the step up.
std::vector<EncoderService::Part> EncoderService::TakeParts() {
  std::vector<Part> parts;
  size_t tokens = 0;
  const auto take = [&](Turn& turn, size_t count) {
    parts.push_back({turn.first, turn.second.front(), count});
    turn.second.pop_front();
  };
  Turn& first = turns_.front();
  const WorkPointer leading = first.second.front();
  if (leading->is_ranking()) {
    take(first, DocumentsWithin(*leading));
  } else {
    for (Turn& turn : turns_) {
      while (!turn.second.empty() && tokens < kTokensOfStep) {
        EncoderWork& work = *turn.second.front();
        if (work.is_ranking() || !HasSameOptions(work.embed, leading->embed)) break;
        take(turn, TextsWithin(work, kTokensOfStep, tokens));
      }
    }
  }
  // The tenant that had its turn is the last one now.
  std::rotate(turns_.begin(), turns_.begin() + 1, turns_.end());
  return parts;
}

void EncoderService::Embed(std::vector<Part>& parts) {
  std::vector<TextIds> texts;
  for (const Part& part : parts) {
    const auto begin = part.work->texts.begin() + static_cast<std::ptrdiff_t>(part.work->done());
    texts.insert(texts.end(), begin, begin + static_cast<std::ptrdiff_t>(part.count));
  }
  const auto embeddings =
      NoThrow("embeddings", [&] { return encoder_.EmbedIds(texts, workspace_, parts[0].work->embed); });
  if (!embeddings && parts.size() > 1) {  // each gets its own error
    for (Part& part : parts) {
      std::vector<Part> alone = {part};
      Embed(alone);
    }
    return;
  }
  size_t at = 0;
  for (Part& part : parts) {
    if (!embeddings) {
      part.work->error = embeddings.error();
      continue;
    }
    for (size_t i = 0; i < part.count; ++i, ++at) {
      const std::span<const float> rows = (*embeddings)[at];
      part.work->embeddings.emplace_back(rows.begin(), rows.end());
      part.work->num_tokens.push_back(embeddings->num_tokens[at]);
    }
  }
}

void EncoderService::Rank(Part& part) {
  EncoderWork& work = *part.work;
  const auto documents = std::span(work.documents).subspan(work.done(), part.count);
  const auto scores = NoThrow("a ranking", [&] { return encoder_.Rank(work.query, documents, workspace_, work.rank); });
  if (scores) {
    work.scores.insert(work.scores.end(), scores->begin(), scores->end());
  } else {
    work.error = scores.error();
  }
}

// Tells of works that are at their ends, and puts the others back as their tenants' first.
void EncoderService::Settle(const std::vector<Part>& parts) {
  std::vector<WorkPointer> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      stats_.texts += part->count;
      if (IsFinished(*part->work) || is_stopping_) {
        ended.push_back(part->work);
        continue;
      }
      const auto turn = std::ranges::find(turns_, part->tenant, &Turn::first);
      turn->second.push_front(part->work);
    }
    std::erase_if(turns_, [](const Turn& turn) { return turn.second.empty(); });
    stats_.works += ended.size();
    stats_.waiting -= std::min<uint64_t>(ended.size(), stats_.waiting);
  }
  for (const WorkPointer& work : ended) {
    if (!work->error && work->done() < work->size()) {
      work->error = Error{ErrorCode::kFailedPrecondition, "the server is shutting down"};
    }
    work->then();
  }
}

}  // namespace skald::serve
