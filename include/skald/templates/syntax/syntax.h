// SPDX-License-Identifier: Apache-2.0
//
// A parsed chat template as a tree. Plain data, immutable once parsed; then safe for concurrent renderings.

#ifndef SKALD_TEMPLATES_SYNTAX_SYNTAX_H_
#define SKALD_TEMPLATES_SYNTAX_SYNTAX_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/templates/values/value.h"

namespace skald::internal::jinja {

enum class ExpressionType {
  kConstant,   ///< value
  kName,       ///< name
  kTuple,      ///< parts
  kList,       ///< parts
  kDict,       ///< parts: key, value, key, value
  kCondition,  ///< parts: condition, then, else or null
  kOr,         ///< parts
  kAnd,        ///< parts
  kNot,        ///< part
  kCompare,    ///< parts, operators between them
  kJoin,       ///< parts, with ~
  kBinary,     ///< parts: left, right; operators[0]
  kNegative,   ///< part
  kPositive,   ///< part
  kAttribute,  ///< part . text
  kItem,       ///< parts: of what, which
  kSlice,      ///< parts: of what, begin, end, step; each but the first may be null
  kCall,       ///< part, call
  kFilter,     ///< part (null inside of a {% filter %}), builtin, call
  kTest,       ///< part, builtin, call
};

enum class Operator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// The arguments of a call, in the order in which they are written: of what sort each one is, and its name.
struct CallArgument {
  enum class Sort { kPositional, kNamed, kAllOf, kAllNamedOf };  ///< x, name=x, *x, **x
  Sort sort;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  ExpressionType type;
  size_t line = 1;
  size_t depth = 1;  ///< of the tree below
  Value value;
  int name = 0;
  std::string text;
  const Builtin* builtin = nullptr;
  std::vector<Operator> operators;
  std::vector<ExpressionPtr> parts;
  std::vector<CallArgument> call;
};

enum class StatementType {
  kText,   ///< text
  kPrint,  ///< value
  kIf,     ///< branches
  kFor,    ///< target, value, condition, body, other_body; is_recursive
  kBreak,
  kContinue,
  kSet,       ///< target, value
  kSetBlock,  ///< target, value (filters, or null), body
  kMacro,     ///< macro
  kCall,      ///< value, macro
  kFilter,    ///< value (filters), body
  kWith,      ///< targets and values in branches
  kScope,     ///< body, with variables of its own
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

/// The target of an assignment: a name, an attribute of a namespace, or several of these.
struct Target {
  int name = 0;
  std::string attribute;  ///< empty: none
  std::vector<Target> several;
};

struct Branch {
  ExpressionPtr condition;  ///< of {% if %}; null: else
  Target target;            ///< of {% with %}
  ExpressionPtr value;
  Block body;
};

struct Macro {
  std::string name;
  std::vector<std::pair<int, ExpressionPtr>> parameters;  ///< with their default values, or null
  Block body;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

struct Statement {
  StatementType type;
  size_t line = 1;
  Value text;
  ExpressionPtr value, condition;
  Target target;
  std::vector<Branch> branches;
  Block body, other_body;
  std::unique_ptr<Macro> macro;
  bool is_recursive = false;
};

/// Names of variables as numbers.
class Names {
 public:
  int Add(std::string_view name);
  /// -1 for a name that the template does not use.
  int Find(std::string_view name) const;
  const std::string& Text(int name) const { return texts_[static_cast<size_t>(name)]; }

 private:
  std::map<std::string, int, std::less<>> numbers_;
  std::vector<std::string> texts_;
};

struct Program {
  Names names;
  Block body;
};

}  // namespace skald::internal::jinja

#ifndef SKALD_COMPILED
#include "skald/templates/syntax/detail/syntax.h"
#endif

#endif  // SKALD_TEMPLATES_SYNTAX_SYNTAX_H_
