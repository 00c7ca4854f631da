// SPDX-License-Identifier: Apache-2.0
//
// Executor: runs the pieces of one operation on several threads. Skald ships ThreadPool (thread_pool.h). A program with
// its own threads passes any type that meets the concept. There is no hidden pool.

#ifndef SKALD_BASE_THREADS_EXECUTOR_H_
#define SKALD_BASE_THREADS_EXECUTOR_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace skald {

/// A reference to a callable `void(size_t task)`. Valid only while that callable lives.
class TaskRef {
 public:
  /// Refers to `function`, which must outlive this.
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, TaskRef>)
      TaskRef(Function& function)  // NOLINT: a reference like any other
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, size_t task) { (*static_cast<Function*>(object))(task); }) {}

  void operator()(size_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, size_t);
};

/// `Run(n, task)` calls task(0) .. task(n - 1) once each, in any order and on any threads, and returns when all have
/// returned. Calls may come from one thread at a time. num_workers() is how many tasks can run at once. Tasks do not
/// throw. Run may throw types that derive from std::exception, after the last running task has ended.
template <class E>
concept Executor = requires(E& executor, size_t num_tasks, TaskRef task) {
  { executor.num_workers() } -> std::convertible_to<size_t>;
  executor.Run(num_tasks, task);
};

/// More than any machine has; work is not divided among more workers.
inline constexpr size_t kMaxWorkers = size_t{1} << 16;

/// An Executor without its type, which the caller keeps alive: code that uses it is compiled once.
class ExecutorRef {
 public:
  /// Refers to `executor`, which must outlive all copies of this.
  template <Executor E>
  requires(!std::same_as<E, ExecutorRef>) explicit ExecutorRef(E& executor)
      : object_(std::addressof(executor)),
        num_workers_(std::clamp<size_t>(executor.num_workers(), 1, kMaxWorkers)),
        run_([](void* object, size_t n, TaskRef task) { static_cast<E*>(object)->Run(n, task); }) {}

  size_t num_workers() const { return num_workers_; }
  void Run(size_t num_tasks, TaskRef task) const { run_(object_, num_tasks, task); }

 private:
  void* object_;
  size_t num_workers_;
  void (*run_)(void*, size_t, TaskRef);
};

}  // namespace skald

#endif  // SKALD_BASE_THREADS_EXECUTOR_H_
