// SPDX-License-Identifier: Apache-2.0

#include "server/service/work_pool.h"

#include <algorithm>
#include <limits>

#include "skald/base/threads/priority.h"

namespace skald::serve {

void WorkPool::Turns::Add(const std::string& tenant, Work work) {
  auto found = std::ranges::find(tenants_, tenant, &decltype(tenants_)::value_type::first);
  if (found == tenants_.end()) found = tenants_.emplace(tenants_.end(), tenant, std::deque<Work>());
  found->second.push_back(std::move(work));
}

WorkPool::Work WorkPool::Turns::Take() {
  auto [tenant, works] = std::move(tenants_.front());
  tenants_.pop_front();
  Work work = std::move(works.front());
  works.pop_front();
  if (!works.empty()) tenants_.emplace_back(std::move(tenant), std::move(works));
  return work;
}

WorkPool::WorkPool(const WorkPoolOptions& options) : options_(options) {
  for (int i = 0; i < std::max(options.threads, 2); ++i) {
    threads_.emplace_back([this, takes_large = i > 0] { Run(takes_large); });
  }
}

WorkPool::~WorkPool() {
  (void)Stop(std::chrono::milliseconds(0));
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::Add(const std::string& tenant, Size size, Work work) {
  return AddUpTo(options_.most_waiting, tenant, size, std::move(work));
}

bool WorkPool::AddAgain(const std::string& tenant, Size size, Work work) {
  return AddUpTo(std::numeric_limits<size_t>::max(), tenant, size, std::move(work));
}

bool WorkPool::AddUpTo(size_t most_waiting, const std::string& tenant, Size size, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || waiting_ >= most_waiting) return false;
    (size == Size::kSmall ? small_ : large_).Add(tenant, std::move(work));
    ++waiting_;
  }
  changed_.notify_all();
  return true;
}

size_t WorkPool::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_ + running_;
}

bool WorkPool::Stop(std::chrono::milliseconds grace) {
  Turns small, large;  // dropped outside of the lock
  std::unique_lock lock(mutex_);
  is_stopping_ = true;
  waiting_ = 0;
  std::swap(small, small_);
  std::swap(large, large_);
  changed_.notify_all();
  const bool is_idle = changed_.wait_for(lock, grace, [this] { return running_ == 0; });
  lock.unlock();
  return is_idle;
}

void WorkPool::Run(bool takes_large) {
  if (takes_large) LowerThreadPriority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopping_ || HasWork(takes_large); });
    if (is_stopping_) return;
    // Large work goes first: small work has a thread of its own, which takes no large work.
    Work work = takes_large && !large_.empty() ? large_.Take() : small_.Take();
    --waiting_;
    ++running_;
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes outside of the lock
    lock.lock();
    --running_;
    if (is_stopping_) changed_.notify_all();
  }
}

}  // namespace skald::serve
