// SPDX-License-Identifier: Apache-2.0
//
// Reads the tokens of a chat template in order, and keeps the first error. After an error nothing more is read, so that
// a parser checks for it once, at the end.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_TOKEN_CURSOR_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_TOKEN_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/templates/syntax/detail/lexer.h"

namespace skald::internal::jinja {

// How deep expressions and statements may be inside each other, which bounds recursion. Published ones reach 25.
inline constexpr size_t kMaxSyntaxDepth = 100;

class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  bool ok() const { return !error_; }
  const std::optional<Error>& error() const { return error_; }

  const Token& Current() const { return tokens_[at_]; }
  bool At(TokenType type) const { return Current().type == type; }
  bool AtName(std::string_view name) const { return At(TokenType::kName) && Current().text == name; }
  bool AtOperator(std::string_view name) const { return At(TokenType::kOperator) && Current().text == name; }

  void Skip() {
    if (!At(TokenType::kEnd)) ++at_;
  }
  bool SkipName(std::string_view name) { return AtName(name) && (Skip(), true); }
  bool SkipOperator(std::string_view name) { return AtOperator(name) && (Skip(), true); }

  void Complain(std::string_view what) { ComplainAt(Current().at, what); }
  void ComplainAt(Position at, std::string_view what) {
    if (error_) return;
    error_ = SyntaxError(at, what);
    at_ = tokens_.size() - 1;  // the end, at which every loop stops
  }

  void Expect(std::string_view name) {
    if (!SkipOperator(name)) Complain(Concat({"expected '", name, "', but found ", Shown()}));
  }
  void Expect(TokenType type, std::string_view shown) {
    if (!At(type)) return Complain(Concat({"expected ", shown, ", but found ", Shown()}));
    Skip();
  }
  std::string ExpectName(std::string_view what) {
    std::string name = Current().text;
    if (!At(TokenType::kName)) Complain(Concat({"expected ", what, ", but found ", Shown()}));
    Skip();
    return name;
  }

  // The present token in an error.
  std::string Shown() const { return At(TokenType::kEnd) ? "the end of the template" : QuotedName(Current().text); }

  const Token& Next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool NextIsOperator(std::string_view name) const {
    return Next().type == TokenType::kOperator && Next().text == name;
  }

  void ComplainAboutDepth() { Complain(Concat({"more than ", std::to_string(kMaxSyntaxDepth), " levels of nesting"})); }

  // Counts levels while it lives; false if there are too many.
  class Level {
   public:
    explicit Level(TokenCursor& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxSyntaxDepth) parser_.ComplainAboutDepth();
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --parser_.depth_; }
    explicit operator bool() const { return parser_.ok(); }

   private:
    TokenCursor& parser_;
  };

 private:
  std::vector<Token> tokens_;  // the last one is the end
  size_t at_ = 0, depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_TOKEN_CURSOR_H_
