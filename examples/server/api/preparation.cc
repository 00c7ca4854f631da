// SPDX-License-Identifier: Apache-2.0

#include "server/api/preparation.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "server/api/request/api_error.h"

namespace skald::serve {
namespace {

// Requests with larger bodies do not keep smaller ones waiting.
constexpr size_t kSmallBody = 64 << 10;

// The state that is shared by the exchange, which waits for an answer, and the job, which prepares it.
struct Shared {
  explicit Shared(const std::atomic<bool>& is_stopping_now) : is_stopping(is_stopping_now) {}

  bool IsAbandoned() const { return has_gone || is_stopping; }

  const std::atomic<bool>& is_stopping;  // the server
  std::atomic<bool> has_gone = false;    // the exchange
  std::mutex mutex = {};
  std::unique_ptr<Exchange> answer = {};  // guarded by mutex
};

class PreparedExchange final : public Exchange {
 public:
  explicit PreparedExchange(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~PreparedExchange() override { shared_->has_gone = true; }

  HttpPiece Next() override {
    if (answer_ == nullptr) {
      const std::lock_guard lock(shared_->mutex);
      answer_ = std::move(shared_->answer);
    }
    return answer_ == nullptr ? HttpPiece() : answer_->Next();
  }

 private:
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<Exchange> answer_;
};

// Prepares one request, when its turn comes.
class Job : public std::enable_shared_from_this<Job> {
 public:
  Job(WorkPool& pool, std::string tenant, std::shared_ptr<Shared> shared, HttpRequest request, Wake wake,
      Preparation::Prepare prepare)
      : pool_(pool),
        tenant_(std::move(tenant)),
        shared_(std::move(shared)),
        request_(std::move(request)),
        wake_(std::move(wake)),
        prepare_(std::move(prepare)) {}

  bool Queue() {
    return pool_.Add(tenant_, size(), [self = shared_from_this()] { self->Run(); });
  }

 private:
  void Run() {
    if (shared_->IsAbandoned()) return;
    auto answer = prepare_(
        request_, wake_, [shared = shared_] { return shared->IsAbandoned(); },
        [self = shared_from_this()] { self->QueueAgain(); });
    if (answer == nullptr) return;
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->answer = std::move(answer);
    }
    wake_();
  }

  // A server that stops takes it no more, and no client waits for it then.
  void QueueAgain() {
    (void)pool_.AddAgain(tenant_, size(), [self = shared_from_this()] { self->Run(); });
  }

  WorkPool::Size size() const {
    const bool is_small = request_.file == nullptr && request_.body.size() <= kSmallBody;
    return is_small ? WorkPool::Size::kSmall : WorkPool::Size::kLarge;
  }

  WorkPool& pool_;
  const std::string tenant_;
  const std::shared_ptr<Shared> shared_;
  const HttpRequest request_;
  const Wake wake_;
  const Preparation::Prepare prepare_;
};

}  // namespace

std::unique_ptr<Exchange> Preparation::Begin(const std::string& tenant, HttpRequest request, Wake wake,
                                             Prepare prepare) {
  const auto shared = std::make_shared<Shared>(is_stopping_);
  const auto job =
      std::make_shared<Job>(pool_, tenant, shared, std::move(request), std::move(wake), std::move(prepare));
  if (!job->Queue()) throw ApiError{503, "as many requests as this server takes wait to be prepared"};
  return std::make_unique<PreparedExchange>(shared);
}

}  // namespace skald::serve
