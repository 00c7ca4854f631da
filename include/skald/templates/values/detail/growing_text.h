// SPDX-License-Identifier: Apache-2.0
//
// A text that an operation of a template makes part by part. Its memory is counted before it is allocated: its
// capacity, and both capacities while it moves to a larger one. All texts of unknown size are made with it.

#ifndef SKALD_TEMPLATES_VALUES_DETAIL_GROWING_TEXT_H_
#define SKALD_TEMPLATES_VALUES_DETAIL_GROWING_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "skald/base/text/marked_text.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

class GrowingText {
 public:
  explicit GrowingText(Machine& machine) : machine_(&machine) {}
  GrowingText(const GrowingText&) = delete;
  GrowingText& operator=(const GrowingText&) = delete;
  ~GrowingText() { Release(); }

  size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }

  // Makes room for so many bytes more. Returns whether there is; without it the rendering has failed.
  bool Reserve(size_t bytes) {
    if (!machine_->ok()) return false;
    if (bytes <= room_ - text_.size()) return true;
    const size_t most = machine_->FreeBytes() / kBytesPerByte;
    if (bytes > most || text_.size() > most - bytes) return machine_->HasRoom(machine_->limits().memory_bytes + 1);
    const size_t room = std::min(std::max(text_.size() + bytes, 2 * room_), most);
    text_.Reserve(room);
    machine_->heap().meter().used += kBytesPerByte * (room - room_);
    room_ = room;
    return true;
  }

  // If there is no room, nothing is added.
  bool Append(std::string_view text, Author author) {
    if (!Reserve(text.size())) return false;
    text_.Append(text, author);
    return true;
  }
  bool Append(const MarkedText& text) {
    if (!Reserve(text.size())) return false;
    text_.Append(text);
    return true;
  }
  // The `count` bytes of `text` from `begin` on.
  bool Append(const MarkedText& text, size_t begin, size_t count) {
    if (!Reserve(std::min(count, text.size() - begin))) return false;
    text_.Append(text, begin, count);
    return true;
  }

  // The text, whose memory is counted no more until it is a value.
  MarkedText Take() && {
    Release();
    return std::move(text_);
  }

 private:
  static constexpr size_t kBytesPerByte = 2;  // each has its author beside it

  void Release() { machine_->heap().meter().used -= kBytesPerByte * std::exchange(room_, 0); }

  Machine* machine_;
  MarkedText text_;
  size_t room_ = 0;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_VALUES_DETAIL_GROWING_TEXT_H_
