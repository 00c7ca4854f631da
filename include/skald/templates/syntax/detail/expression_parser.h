// SPDX-License-Identifier: Apache-2.0
//
// Parses the expressions of a chat template. Binds as Jinja does, which is not always as Python does: a filter binds
// tighter than any operator, a unary minus tighter than **, and ** from the left.

#ifndef SKALD_TEMPLATES_SYNTAX_DETAIL_EXPRESSION_PARSER_H_
#define SKALD_TEMPLATES_SYNTAX_DETAIL_EXPRESSION_PARSER_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "skald/templates/syntax/detail/operand_parser.h"
#include "skald/templates/syntax/detail/token_cursor.h"
#include "skald/templates/syntax/syntax.h"

namespace skald::internal::jinja {

class ExpressionParser final : public OperandParser {
 public:
  using OperandParser::OperandParser;

  ExpressionPtr ParseExpression(bool with_condition = true) override {
    const Level level(*this);
    if (!level) return New(ExpressionType::kConstant);
    return with_condition ? ParseCondition() : ParseOr();
  }

 private:
  // a if b else c
  ExpressionPtr ParseCondition() {
    ExpressionPtr expression = ParseOr();
    while (ok() && SkipName("if")) {
      ExpressionPtr whole = NewOf(Types::kCondition, ParseOr(), std::move(expression));
      AddPart(*whole, SkipName("else") ? ParseExpression() : nullptr);
      expression = std::move(whole);
    }
    return expression;
  }

  // One or more parts with a word or operator between them.
  ExpressionPtr ParseSeries(ExpressionType type, TokenType separator_type, std::string_view separator,
                            ExpressionPtr (ExpressionParser::*parse)()) {
    ExpressionPtr first = (this->*parse)();
    const auto at_separator = [&] { return At(separator_type) && Current().text == separator; };
    if (!at_separator()) return first;
    ExpressionPtr series = NewOf(type, std::move(first));
    while (ok() && at_separator()) {
      Skip();
      AddPart(*series, (this->*parse)());
    }
    return series;
  }

  ExpressionPtr ParseOr() { return ParseSeries(Types::kOr, TokenType::kName, "or", &ExpressionParser::ParseAnd); }
  ExpressionPtr ParseAnd() { return ParseSeries(Types::kAnd, TokenType::kName, "and", &ExpressionParser::ParseNot); }
  ExpressionPtr ParseJoin() {
    return ParseSeries(Types::kJoin, TokenType::kOperator, "~", &ExpressionParser::ParseProduct);
  }

  ExpressionPtr ParseNot() {
    if (!SkipName("not")) return ParseComparison();
    const Level level(*this);
    if (!level) return New(Types::kConstant);
    return NewOf(Types::kNot, ParseNot());
  }

  std::optional<Operator> TakeComparison() {
    constexpr std::pair<std::string_view, Operator> kComparisons[] = {
        {"==", Operator::kEqual},     {"!=", Operator::kNotEqual}, {"<", Operator::kLess},
        {"<=", Operator::kLessEqual}, {">", Operator::kGreater},   {">=", Operator::kGreaterEqual}};
    for (const auto& [name, comparison] : kComparisons) {
      if (SkipOperator(name)) return comparison;
    }
    if (SkipName("in")) return Operator::kIn;
    if (!AtName("not") || Next().type != TokenType::kName || Next().text != "in") return std::nullopt;
    Skip();
    Skip();
    return Operator::kNotIn;
  }

  ExpressionPtr ParseComparison() {
    ExpressionPtr first = ParseSum();
    std::optional<Operator> comparison = TakeComparison();
    if (!comparison) return first;
    ExpressionPtr whole = NewOf(Types::kCompare, std::move(first));
    while (ok() && comparison) {
      whole->operators.push_back(*comparison);
      AddPart(*whole, ParseSum());
      comparison = TakeComparison();
    }
    return whole;
  }

  using BinaryOperators = std::initializer_list<std::pair<std::string_view, Operator>>;
  ExpressionPtr ParseBinary(BinaryOperators operators, ExpressionPtr (ExpressionParser::*parse)()) {
    ExpressionPtr left = (this->*parse)();
    while (ok()) {
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [this](const auto& candidate) { return SkipOperator(candidate.first); });
      if (found == operators.end()) break;
      left = NewOf(Types::kBinary, std::move(left), (this->*parse)());
      left->operators = {found->second};
    }
    return left;
  }

  ExpressionPtr ParseSum() {
    return ParseBinary({{"+", Operator::kAdd}, {"-", Operator::kSubtract}}, &ExpressionParser::ParseJoin);
  }
  ExpressionPtr ParseProduct() {
    return ParseBinary({{"*", Operator::kMultiply},
                        {"/", Operator::kDivide},
                        {"//", Operator::kFloorDivide},
                        {"%", Operator::kModulo}},
                       &ExpressionParser::ParsePower);
  }
  ExpressionPtr ParsePower() {
    return ParseBinary({{"**", Operator::kPower}}, &ExpressionParser::ParseUnaryWithFilters);
  }
  ExpressionPtr ParseUnaryWithFilters() { return ParseFiltersAndTests(ParseUnary()); }

  ExpressionPtr ParseUnary() {
    for (const auto& [name, type] : {std::pair("-", Types::kNegative), std::pair("+", Types::kPositive)}) {
      if (!SkipOperator(name)) continue;
      const Level level(*this);
      if (!level) return New(Types::kConstant);
      return NewOf(type, ParseUnary());
    }
    return ParseOperand();
  }
};

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SYNTAX_DETAIL_EXPRESSION_PARSER_H_
