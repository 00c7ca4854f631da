// SPDX-License-Identifier: Apache-2.0
#include "tests/allocation/failing_allocations.h"

#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <string_view>

namespace skald::testing {
namespace {

constexpr size_t kNever = ~size_t{0};

std::atomic<size_t> made{0}, live{0};            // since the last FailingAllocations began; not yet freed
std::atomic<size_t> first{kNever}, end{kNever};  // those that fail

// Where a library's code lies.
struct CodeRange {
  uintptr_t begin = 0, end = 0;
};

// SentencePiece's protocol buffers do not handle failing allocations: their destructors crash afterwards, and no caller
// can prevent it. Their own allocations do not fail here.
CodeRange SentencePieceCode() {
  CodeRange range;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (std::string_view(info->dlpi_name).find("libsentencepiece") == std::string_view::npos) return 0;
        for (const auto& part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          *static_cast<CodeRange*>(found) = {begin, begin + part.p_memsz};
        }
        return 1;
      },
      &range);
  return range;
}

bool IsForSentencePiece() {
  static const CodeRange code = SentencePieceCode();
  void* callers[40];
  const auto depth = static_cast<size_t>(backtrace(callers, 40));
  return std::ranges::any_of(std::span(callers).first(depth), [](const void* caller) {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return address >= code.begin && address < code.end;
  });
}

// Returns null where the allocation is one of those that fail, or there is no memory.
void* Allocate(size_t size, size_t alignment) noexcept {
  const size_t number = made.fetch_add(1);
  if (number >= first && number < end && !IsForSentencePiece()) return nullptr;
  const size_t whole = (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
  const bool usual = alignment <= alignof(std::max_align_t);
  void* const memory = usual ? std::malloc(whole) : std::aligned_alloc(alignment, whole);
  if (memory != nullptr) ++live;
  return memory;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  if (void* const memory = Allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

void Free(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}

}  // namespace

FailingAllocations::FailingAllocations(size_t number, Failing failing) {
  made = 0;
  end = failing == Failing::kOnce ? number + 1 : kNever;
  first = number;
}

FailingAllocations::~FailingAllocations() { first = kNever; }

bool FailingAllocations::reached() const { return made > first; }

size_t LiveAllocations() { return live; }

}  // namespace skald::testing

// All forms that can be replaced ([new.delete]).
using skald::testing::Allocate, skald::testing::AllocateOrThrow, skald::testing::Free;
using Alignment = std::align_val_t;
using NoThrowTag = const std::nothrow_t&;
constexpr Alignment kUsual{alignof(std::max_align_t)};

void* operator new(size_t size, Alignment to) { return AllocateOrThrow(size, static_cast<size_t>(to)); }
void* operator new[](size_t size, Alignment to) { return AllocateOrThrow(size, static_cast<size_t>(to)); }
void* operator new(size_t size) { return operator new(size, kUsual); }
void* operator new[](size_t size) { return operator new(size, kUsual); }
void* operator new(size_t size, Alignment to, NoThrowTag) noexcept { return Allocate(size, static_cast<size_t>(to)); }
void* operator new[](size_t size, Alignment to, NoThrowTag) noexcept { return Allocate(size, static_cast<size_t>(to)); }
void* operator new(size_t size, NoThrowTag tag) noexcept { return operator new(size, kUsual, tag); }
void* operator new[](size_t size, NoThrowTag tag) noexcept { return operator new(size, kUsual, tag); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, Alignment) noexcept { Free(memory); }
void operator delete[](void* memory, Alignment) noexcept { Free(memory); }
void operator delete(void* memory, size_t, Alignment) noexcept { Free(memory); }
void operator delete[](void* memory, size_t, Alignment) noexcept { Free(memory); }
void operator delete(void* memory, NoThrowTag) noexcept { Free(memory); }
void operator delete[](void* memory, NoThrowTag) noexcept { Free(memory); }
void operator delete(void* memory, Alignment, NoThrowTag) noexcept { Free(memory); }
void operator delete[](void* memory, Alignment, NoThrowTag) noexcept { Free(memory); }
