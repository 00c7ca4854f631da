// SPDX-License-Identifier: Apache-2.0
//
// Grammar: what texts may be, as rules that call one another. gbnf.h and json_schema.h read one from a text, and a
// program can put one together itself. Plain data; nothing is checked before GrammarFilter::Compile.

#ifndef SKALD_CONSTRAINTS_GRAMMAR_GRAMMAR_H_
#define SKALD_CONSTRAINTS_GRAMMAR_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/constraints/grammar/characters.h"

namespace skald {

class Grammar {
 public:
  // Numbers of this grammar's expressions and rules, in the order in which they were made. An expression may be part
  // of several others.
  using Expression = uint32_t;
  using Rule = uint32_t;

  /// The bytes of a text.
  struct Text {
    std::string bytes;
  };
  /// One character of a set.
  struct Characters {
    CharacterRanges set;
  };
  /// One after the other. Of none: the empty text.
  struct Sequence {
    std::vector<Expression> parts;
  };
  /// Any one. Of none: no text at all.
  struct Choice {
    std::vector<Expression> parts;
  };
  /// From `min` times to `max`, or any number of times from `min` on.
  struct Repeat {
    Expression part;
    size_t min = 0;
    std::optional<size_t> max = {};
  };
  struct Call {
    Rule rule;
  };
  /// Ways from node 0 to node 1 of a graph. An edge costs the text of its expression.
  struct Graph {
    struct Edge {
      size_t from, to;
      Expression text;
    };
    size_t nodes = 2;
    std::vector<Edge> edges = {};
  };
  using Form = std::variant<Sequence, Text, Characters, Choice, Repeat, Call, Graph>;

  struct NamedRule {
    std::string name;
    Expression text = 0;
  };

  /// Has one rule, which the whole text must be: rule 0.
  explicit Grammar(std::string root_name = "root");

  template <class OneForm>
  Expression Add(OneForm form) {
    forms_.emplace_back(std::move(form));
    return static_cast<Expression>(forms_.size() - 1);
  }
  Expression Literal(std::string_view text) { return Add(Text{std::string(text)}); }
  Expression Maybe(Expression part) { return Add(Repeat{part, 0, 1}); }

  /// Adds a rule, the empty text until it is defined. Its name is for error messages.
  Rule AddRule(std::string name);
  void Define(Rule rule, Expression text) { rules_[rule].text = text; }

  const Form& form(Expression expression) const { return forms_[expression]; }
  const std::vector<NamedRule>& rules() const { return rules_; }
  size_t expressions() const { return forms_.size(); }

  static constexpr Rule kRoot = 0;
  static constexpr Expression kEmpty = 0;  ///< the empty text

 private:
  std::vector<Form> forms_;
  std::vector<NamedRule> rules_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/constraints/grammar/detail/grammar.h"
#endif

#endif  // SKALD_CONSTRAINTS_GRAMMAR_GRAMMAR_H_
