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
  /// Numbers of this grammar's expressions and rules, in the order in which they were made. An expression may be part
  /// of several others.
  using Expression = uint32_t;
  /// See Expression.
  using Rule = uint32_t;

  /// The bytes of a text.
  struct Text {
    std::string bytes;  ///< UTF-8, or any bytes
  };
  /// One character of a set.
  struct Characters {
    CharacterRanges set;  ///< Unicode code points, of which one is written as UTF-8
  };
  /// One after the other. Of none: the empty text.
  struct Sequence {
    std::vector<Expression> parts;  ///< in the order of the text
  };
  /// Any one. Of none: no text at all.
  struct Choice {
    std::vector<Expression> parts;  ///< alternatives
  };
  /// From `min` times to `max`, or any number of times from `min` on.
  struct Repeat {
    Expression part;                 ///< the text that is repeated
    size_t min = 0;                  ///< times, at least
    std::optional<size_t> max = {};  ///< times, at most; unset: no limit
  };
  /// The text of a rule, which may be the one that the call is part of.
  struct Call {
    Rule rule;  ///< it may be defined later
  };
  /// Ways from node 0 to node 1 of a graph. An edge costs the text of its expression.
  struct Graph {
    /// A way from one node to another.
    struct Edge {
      /// Node numbers, less than Graph::nodes.
      size_t from, to;
      Expression text;  ///< the text that the edge costs
    };
    size_t nodes = 2;              ///< numbered from 0; 0 is the start and 1 the end
    std::vector<Edge> edges = {};  ///< in any order; there may be several between two nodes
  };
  using Form = std::variant<Sequence, Text, Characters, Choice, Repeat, Call, Graph>;  ///< an expression of any kind

  /// A rule, for error messages and for calls.
  struct NamedRule {
    std::string name;     ///< for error messages alone
    Expression text = 0;  ///< its text; until it is defined the empty text
  };

  /// Has one rule, which the whole text must be: rule 0.
  explicit Grammar(std::string root_name = "root");

  /// Adds an expression and returns its number. Expressions that it refers to must be there. Throws std::bad_alloc.
  template <class OneForm>
  Expression Add(OneForm form) {
    forms_.emplace_back(std::move(form));
    return static_cast<Expression>(forms_.size() - 1);
  }
  /// Adds a Text of these bytes.
  Expression Literal(std::string_view text) { return Add(Text{std::string(text)}); }
  /// Adds the choice between a text and nothing.
  Expression Maybe(Expression part) { return Add(Repeat{part, 0, 1}); }

  /// Adds a rule, the empty text until it is defined. Its name is for error messages.
  Rule AddRule(std::string name);
  /// Makes `text` the text of a rule.
  void Define(Rule rule, Expression text) { rules_[rule].text = text; }

  /// The expression of that number. Valid until one is added.
  const Form& form(Expression expression) const { return forms_[expression]; }
  /// By number. Valid until a rule is added.
  const std::vector<NamedRule>& rules() const { return rules_; }
  /// The number of expressions; each smaller number names one.
  size_t expressions() const { return forms_.size(); }

  static constexpr Rule kRoot = 0;         ///< the rule that the whole text must be
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
