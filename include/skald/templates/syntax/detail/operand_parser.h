// SPDX-License-Identifier: Apache-2.0
//
// Parses the operands of a chat template: names, literals, calls, attributes, filters and tests.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_OPERAND_PARSER_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_OPERAND_PARSER_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/text/read_decimal.h"
#include "skald/templates/syntax/detail/token_cursor.h"
#include "skald/templates/syntax/syntax.h"
#include "skald/templates/values/machine.h"

namespace skald::internal::jinja {

// Names that a macro takes from its caller.
struct NamesUsed {
  bool varargs = false, kwargs = false, caller = false;
};

// The kinds of expression that may be here: whether "a if b", and a word that ends it.
struct Where {
  bool with_condition = true;
  std::string_view end_word = {};
};

// Works like the cursor that it is: after an error every function returns something harmless.
class OperandParser : public TokenCursor {
 public:
  OperandParser(std::vector<Token> tokens, const Finders& find, Names& names)
      : TokenCursor(std::move(tokens)), find_(find), names_(names) {}

  // The content of an operand in parentheses and the like: any expression.
  virtual ExpressionPtr ParseExpression(bool with_condition = true) = 0;

  // Several expressions with commas are a tuple.
  ExpressionPtr ParseTuple(Where where = {}) { return ParseTupleOf(where, false); }

  // Filters that {% filter %} and {% set %} begin with: as if something stood before the first one.
  ExpressionPtr ParseFilters(ExpressionPtr subject, bool at_first) {
    while (ok() && (at_first || AtOperator("|"))) {
      if (!at_first) Skip();
      at_first = false;
      subject = ParseFilter(std::move(subject));
    }
    return subject;
  }

  // name, a.b or (a, b) on the left of "=" and "in".
  Target ParseTarget(bool with_attribute) {
    Target target = ParseSingleTarget(with_attribute);
    if (!AtOperator(",")) return target;
    Target all;
    all.several.push_back(std::move(target));
    while (ok() && SkipOperator(",")) {
      if (!At(TokenType::kName) && !AtOperator("(")) break;
      if (AtName("in")) break;
      all.several.push_back(ParseSingleTarget(with_attribute));
    }
    return all;
  }

  // The content of a call's parentheses, the first of which is the present token.
  std::vector<CallArgument> ParseArguments() {
    std::vector<CallArgument> call;
    Expect("(");
    while (ok() && !AtOperator(")")) {
      if (!call.empty()) Expect(",");
      if (AtOperator(")")) break;
      CallArgument argument{CallArgument::Sort::kPositional, {}, nullptr};
      if (SkipOperator("**")) {
        argument.sort = CallArgument::Sort::kAllNamedOf;
      } else if (SkipOperator("*")) {
        argument.sort = CallArgument::Sort::kAllOf;
      } else if (At(TokenType::kName) && NextIsOperator("=")) {
        argument.sort = CallArgument::Sort::kNamed;
        argument.name = Current().text;
        Skip();
        Skip();
      }
      const bool after_named = !call.empty() && call.back().sort != CallArgument::Sort::kPositional;
      if (argument.sort == CallArgument::Sort::kPositional && after_named) {
        Complain("an argument without a name must not follow one with a name");
      }
      argument.value = ParseExpression();
      call.push_back(std::move(argument));
    }
    Expect(")");
    return call;
  }

  Value NewText(std::string_view text) const {
    return Value::Text(std::make_shared<const CountedText>(MarkedText(text, Author::kTemplate), nullptr));
  }

  NamesUsed names_used;
  Names& names() { return names_; }

 protected:
  using Types = ExpressionType;

  ~OperandParser() = default;

  ExpressionPtr New(ExpressionType type) const {
    auto expression = std::make_unique<Expression>();
    expression->type = type;
    expression->line = Current().at.line;
    return expression;
  }

  // Makes `part`, which may be null, a part. Trees are limited in depth, so that going through them is.
  void AddPart(Expression& expression, ExpressionPtr part) {
    if (part != nullptr) Deepen(expression, *part);
    expression.parts.push_back(std::move(part));
  }
  void Deepen(Expression& expression, const Expression& part) {
    expression.depth = std::max(expression.depth, part.depth + 1);
    if (expression.depth > kMaxSyntaxDepth) ComplainAboutDepth();
  }
  ExpressionPtr NewOf(ExpressionType type, ExpressionPtr first, ExpressionPtr second = nullptr) {
    ExpressionPtr expression = New(type);
    expression->line = first->line;
    AddPart(*expression, std::move(first));
    if (second != nullptr) AddPart(*expression, std::move(second));
    return expression;
  }

  // An operand with everything after it except filters and tests.
  ExpressionPtr ParseOperand() { return ParsePostfix(ParsePrimary()); }

  ExpressionPtr ParseFiltersAndTests(ExpressionPtr subject) {
    while (ok()) {
      if (SkipOperator("|")) {
        subject = ParseFilter(std::move(subject));
      } else if (SkipName("is")) {
        subject = ParseTest(std::move(subject));
      } else if (AtOperator("(")) {
        subject = ParseCall(std::move(subject));
      } else {
        break;
      }
    }
    return subject;
  }

 private:
  ExpressionPtr ParsePrimary() {
    const Token& token = Current();
    ExpressionPtr expression = New(Types::kConstant);
    switch (token.type) {
      case TokenType::kName:
        ReadWord(token.text, *expression);
        break;
      case TokenType::kText: {
        std::string text;
        for (; At(TokenType::kText); Skip()) text += Current().text;
        expression->value = NewText(text);
        return expression;
      }
      case TokenType::kInteger:
        expression->value = Value::Int(IntegerOf(token));
        break;
      case TokenType::kFloat:
        expression->value = Value::Float(FloatOf(token.text));
        break;
      default:
        if (AtOperator("(")) return ParseParentheses();
        if (AtOperator("[")) return ParseList();
        if (AtOperator("{")) return ParseDict();
        Complain(Concat({"expected an expression, but found ", Shown()}));
    }
    Skip();
    return expression;
  }

  void ReadWord(const std::string& word, Expression& expression) {
    if (word == "true" || word == "True" || word == "false" || word == "False") {
      expression.value = Value::Bool(word == "true" || word == "True");
    } else if (word == "none" || word == "None") {
      expression.value = Value::None();
    } else {
      expression.type = Types::kName;
      expression.name = names_.Add(word);
      names_used.varargs |= word == "varargs";
      names_used.kwargs |= word == "kwargs";
      names_used.caller |= word == "caller";
    }
  }

  Integer IntegerOf(const Token& token) {
    std::string_view digits = token.text;
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
      const char kind = static_cast<char>(digits[1] | 0x20);
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
      if (base != 10) digits.remove_prefix(2);
    }
    Integer number = 0;
    for (const char digit : digits) {
      const int value = digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
      if (__builtin_mul_overflow(number, base, &number) || __builtin_add_overflow(number, value, &number)) {
        ComplainAt(token.at, "the number does not fit into 128 bits");
        return 0;
      }
    }
    return number;
  }

  static double FloatOf(std::string_view text) {
    double number = 0;
    const auto read = ReadDecimal(text, number);
    if (read.ec != std::errc::result_out_of_range) return number;
    const size_t exponent = text.find_first_of("eE");
    const bool is_tiny = exponent != text.npos && text.substr(exponent + 1).starts_with('-');
    return is_tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }

  // In parentheses stands an expression or a tuple, which may be empty.
  ExpressionPtr ParseParentheses() {
    Skip();
    const Level level(*this);
    if (!level) return New(Types::kConstant);
    ExpressionPtr inside = ParseTupleOf({}, true);
    Expect(")");
    return inside;
  }

  ExpressionPtr ParseTupleOf(Where where, bool may_be_empty) {
    const auto at_end = [&] {
      return At(TokenType::kPrintEnd) || At(TokenType::kBlockEnd) || AtOperator(")") ||
             (!where.end_word.empty() && AtName(where.end_word));
    };
    ExpressionPtr tuple = New(Types::kTuple);
    bool is_tuple = false;
    while (ok() && !at_end()) {
      AddPart(*tuple, ParseExpression(where.with_condition));
      if (!SkipOperator(",")) break;
      is_tuple = true;
    }
    if (is_tuple || (tuple->parts.empty() && may_be_empty)) return tuple;
    if (tuple->parts.empty()) {
      Complain(Concat({"expected an expression, but found ", Shown()}));
      return tuple;
    }
    return std::move(tuple->parts[0]);
  }

  ExpressionPtr ParseList() {
    ExpressionPtr list = New(Types::kList);
    Skip();
    while (ok() && !AtOperator("]")) {
      if (!list->parts.empty()) Expect(",");
      if (AtOperator("]")) break;
      AddPart(*list, ParseExpression());
    }
    Expect("]");
    return list;
  }

  ExpressionPtr ParseDict() {
    ExpressionPtr dict = New(Types::kDict);
    Skip();
    while (ok() && !AtOperator("}")) {
      if (!dict->parts.empty()) Expect(",");
      if (AtOperator("}")) break;
      AddPart(*dict, ParseExpression());
      Expect(":");
      AddPart(*dict, ParseExpression());
    }
    Expect("}");
    return dict;
  }

  ExpressionPtr ParsePostfix(ExpressionPtr subject) {
    while (ok()) {
      if (AtOperator(".")) {
        subject = ParseDot(std::move(subject));
      } else if (AtOperator("[")) {
        subject = ParseBrackets(std::move(subject));
      } else if (AtOperator("(")) {
        subject = ParseCall(std::move(subject));
      } else {
        break;
      }
    }
    return subject;
  }

  ExpressionPtr ParseDot(ExpressionPtr subject) {
    Skip();
    if (At(TokenType::kInteger)) {
      ExpressionPtr index = New(Types::kConstant);
      index->value = Value::Int(IntegerOf(Current()));
      Skip();
      return NewOf(Types::kItem, std::move(subject), std::move(index));
    }
    ExpressionPtr attribute = NewOf(Types::kAttribute, std::move(subject));
    attribute->text = ExpectName("a name after the dot");
    return attribute;
  }

  ExpressionPtr ParseBrackets(ExpressionPtr subject) {
    Skip();
    ExpressionPtr begin;
    if (!AtOperator(":")) begin = ParseExpression();
    if (begin != nullptr && AtOperator(",")) {
      ExpressionPtr tuple = NewOf(Types::kTuple, std::move(begin));
      while (ok() && SkipOperator(",") && !AtOperator("]")) AddPart(*tuple, ParseExpression());
      begin = std::move(tuple);
    }
    if (!AtOperator(":")) {
      Expect("]");
      return NewOf(Types::kItem, std::move(subject), std::move(begin));
    }
    ExpressionPtr slice = NewOf(Types::kSlice, std::move(subject));
    AddPart(*slice, std::move(begin));
    for (int bound = 0; bound < 2; ++bound) {
      const bool is_given = SkipOperator(":") && !AtOperator(":") && !AtOperator("]");
      AddPart(*slice, is_given ? ParseExpression() : nullptr);
    }
    Expect("]");
    return slice;
  }

  ExpressionPtr ParseCall(ExpressionPtr subject) {
    ExpressionPtr call = NewOf(Types::kCall, std::move(subject));
    TakeArguments(*call, ParseArguments());
    return call;
  }

  void TakeArguments(Expression& expression, std::vector<CallArgument> call) {
    for (const CallArgument& argument : call) Deepen(expression, *argument.value);
    expression.call = std::move(call);
  }

  std::string ParseDottedName(std::string_view what) {
    std::string name = ExpectName(what);
    while (ok() && SkipOperator(".")) name += "." + ExpectName(what);
    return name;
  }

  // `subject` is null inside of {% filter %}.
  ExpressionPtr ParseFilter(ExpressionPtr subject) {
    ExpressionPtr filter = New(Types::kFilter);
    const Position at = Current().at;
    AddPart(*filter, std::move(subject));
    const std::string name = ParseDottedName("the name of a filter");
    filter->builtin = find_.filter(name);
    if (filter->builtin == nullptr) ComplainAt(at, Concat({"there is no filter named ", QuotedName(name)}));
    if (AtOperator("(")) TakeArguments(*filter, ParseArguments());
    return filter;
  }

  ExpressionPtr ParseTest(ExpressionPtr subject) {
    const bool is_negated = SkipName("not");
    ExpressionPtr test = New(Types::kTest);
    const Position at = Current().at;
    AddPart(*test, std::move(subject));
    const std::string name = ParseDottedName("the name of a test");
    test->builtin = find_.test(name);
    if (test->builtin == nullptr) ComplainAt(at, Concat({"there is no test named ", QuotedName(name)}));
    if (AtOperator("(")) {
      TakeArguments(*test, ParseArguments());
    } else if (AtName("is")) {
      Complain("tests cannot be chained with 'is'");
    } else if (AtTestArgument()) {
      std::vector<CallArgument> call;
      call.push_back({CallArgument::Sort::kPositional, {}, ParseOperand()});
      TakeArguments(*test, std::move(call));
    }
    return is_negated ? NewOf(Types::kNot, std::move(test)) : std::move(test);
  }

  // One argument of a test may stand without parentheses.
  bool AtTestArgument() const {
    if (At(TokenType::kName)) {
      constexpr std::string_view kOther[] = {"else", "or", "and", "is", "if", "in", "not"};
      return std::find(std::begin(kOther), std::end(kOther), Current().text) == std::end(kOther);
    }
    return At(TokenType::kText) || At(TokenType::kInteger) || At(TokenType::kFloat) || AtOperator("[") ||
           AtOperator("{");
  }

  Target ParseSingleTarget(bool with_attribute) {
    Target target;
    const Level level(*this);
    if (!level) return target;
    if (SkipOperator("(")) {
      target = ParseTarget(with_attribute);
      Expect(")");
      return target;
    }
    const Position at = Current().at;
    const std::string name = ExpectName("a name to assign to");
    for (const std::string_view word : {"true", "True", "false", "False", "none", "None"}) {
      if (name == word) ComplainAt(at, Concat({name, " cannot be assigned to"}));
    }
    target.name = names_.Add(name);
    if (with_attribute && SkipOperator(".")) target.attribute = ExpectName("the name of an attribute");
    return target;
  }

  const Finders& find_;
  Names& names_;
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_OPERAND_PARSER_H_
