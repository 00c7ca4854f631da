// SPDX-License-Identifier: Apache-2.0
//
// Common to all code that writes values as text: a text that grows within the limits of the rendering, of parts that
// are the template's or have authors of their own.

#ifndef SKALD_TEMPLATES_OPERATIONS_DETAIL_TEXT_WRITER_H_
#define SKALD_TEMPLATES_OPERATIONS_DETAIL_TEXT_WRITER_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "skald/base/text/marked_text.h"
#include "skald/templates/values/detail/characters.h"
#include "skald/templates/values/detail/growing_text.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

class TextWriter {
 public:
  MarkedText Take() && { return std::move(out_).Take(); }

 protected:
  explicit TextWriter(Machine& machine) : machine_(machine), out_(machine) {}
  ~TextWriter() = default;

  Machine& machine() { return machine_; }

  void Add(std::string_view text) {
    if (machine_.StepOver(text.size())) out_.Append(text, Author::kTemplate);
  }
  void Add(const MarkedText& text) {
    if (machine_.StepOver(text.size())) out_.Append(text);
  }

  // write(i) for each of `count` parts, with separate() between them.
  template <class Separate, class Write>
  void AddSeries(size_t count, Separate separate, Write write) {
    for (size_t i = 0; i < count && machine_.ok(); ++i) {
      if (i > 0) separate();
      write(i);
    }
  }

  // The text in quotes. escape(character) returns the escape of a character, which keeps its author. Each byte of bytes
  // is a character.
  template <class Escape>
  void AddQuoted(const MarkedText& text, char quote, bool is_bytes, Escape escape) {
    const std::string_view whole = text.text();
    if (!machine_.StepOver(4 * whole.size()) || !out_.Reserve(whole.size() + 2)) return;
    out_.Append(std::string_view(&quote, 1), Author::kTemplate);
    for (size_t at = 0; at < whole.size() && machine_.ok();) {
      const size_t size = is_bytes ? 1 : CharacterSize(whole.substr(at));
      out_.Append(escape(whole.substr(at, size)), text.AuthorAt(at));
      at += size;
    }
    out_.Append(std::string_view(&quote, 1), Author::kTemplate);
  }

 private:
  Machine& machine_;
  GrowingText out_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_OPERATIONS_DETAIL_TEXT_WRITER_H_
