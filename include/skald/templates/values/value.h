// SPDX-License-Identifier: Apache-2.0
//
// The values of a chat template's variables: the values of Python that the Jinja language shows, with texts that know
// their authors. Texts are counted references; all others with parts belong to the Heap of one rendering and are
// destroyed with it, so that values which contain themselves do no harm. One thread at a time, except for texts that
// nothing counts.

#ifndef SKALD_TEMPLATES_VALUES_VALUE_H_
#define SKALD_TEMPLATES_VALUES_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/marked_text.h"

namespace skald::internal::jinja {

/// Whole numbers are exact up to 128 bits; beyond that is an error. (A template writes sizes and indices.)
__extension__ typedef __int128 Integer;

enum class Type : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInteger,
  kFloat,
  kText,
  kBytes,  ///< of text.encode(), which can only be shown
  kList,
  kTuple,
  kRange,
  kView,       ///< of the keys, values or items of a dictionary
  kGenerator,  ///< what can be passed through once
  kDict,
  kNamespace,
  kLoop,
  kFunction,
  kJoiner,
  kCycler,
};

/// Counts the bytes that texts and objects of a rendering hold.
struct Meter {
  size_t used = 0;
};

/// A text that is counted as long as it lives. Without a meter, as in a parsed template, it is not.
class CountedText {
 public:
  CountedText(MarkedText text, Meter* meter);
  CountedText(const CountedText&) = delete;
  CountedText& operator=(const CountedText&) = delete;
  ~CountedText();

  const MarkedText& text() const { return text_; }

 private:
  // Each byte has its author beside it.
  size_t Size() const { return sizeof(CountedText) + 2 * text_.capacity(); }

  MarkedText text_;
  Meter* meter_;
};

/// Anything that a heap owns.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct Sequence;
struct Dict;

class Value {
 public:
  Value() = default;  ///< undefined, of no name
  static Value None() { return Value(Type::kNone); }
  static Value Bool(bool flag);
  static Value Int(Integer integer);
  static Value Float(double number);
  static Value Text(std::shared_ptr<const CountedText> text, bool is_markup = false, Type type = Type::kText);
  /// A value of a type that is an object. Its heap must outlive the value.
  static Value Of(Type type, Object* object);
  /// `why` is what an error says of its use, or null.
  static Value Undefined(std::shared_ptr<const CountedText> why);

  Type type() const { return type_; }
  bool Is(Type type) const { return type_ == type; }
  bool IsNumber() const { return type_ == Type::kBool || type_ == Type::kInteger || type_ == Type::kFloat; }
  bool IsWhole() const { return type_ == Type::kBool || type_ == Type::kInteger; }

  /// Each of these needs a value of the right type.
  bool flag() const { return integer_ != 0; }
  Integer integer() const { return integer_; }  // of a truth value too
  double number() const { return type_ == Type::kFloat ? float_ : static_cast<double>(integer_); }
  const MarkedText& text() const { return text_->text(); }
  std::string_view view() const { return text_->text().text(); }
  Object* object() const { return object_; }
  Sequence& sequence() const;
  Dict& dict() const;

  /// Whether it is what the filters `safe` and `escape` give: a text that adding escapes the other text for.
  bool is_markup() const { return is_markup_; }
  Value WithMarkup(bool is_markup) const;

  /// Whether both are the undefined value that one look for a name or an element gave.
  bool IsSameUndefined(const Value& other) const;

  /// The text of an error about the use of an undefined value.
  std::string WhyUndefined() const { return text_ == nullptr ? "the value is undefined" : text_->text().text(); }

 private:
  explicit Value(Type type) : type_(type) {}

  Type type_ = Type::kUndefined;
  bool is_markup_ = false;
  union {
    Integer integer_ = 0;
    double float_;
    Object* object_;
  };
  std::shared_ptr<const CountedText> text_;
};

/// A list, tuple, range, view or generator.
struct Sequence : Object {
  std::vector<Value> items;
  size_t next = 0;    ///< of a generator: what was taken from it
  std::string shown;  ///< how a range or generator is printed, or the name of the class of a view
};

/// A dictionary or namespace, in the order in which its keys came. Looking for a key passes by all others: templates
/// have small ones, and each look counts as steps.
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;
};

inline Sequence& Value::sequence() const { return static_cast<Sequence&>(*object_); }
inline Dict& Value::dict() const { return static_cast<Dict&>(*object_); }

/// Owns the objects of one rendering.
class Heap {
 public:
  template <class T>
  T* New() {
    auto object = std::make_unique<T>();
    T* const address = object.get();
    meter_.used += sizeof(T);
    objects_.push_back(std::move(object));
    return address;
  }

  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }

 private:
  Meter meter_;  ///< outlives the objects
  std::vector<std::unique_ptr<Object>> objects_;
};

/// Arguments of a call, as they were written.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* Named(std::string_view name) const;
};

class Machine;

/// Arguments by their place in the list of parameters; what was not given is null, and all beyond the list are `rest`.
struct Inputs {
  std::vector<const Value*> given;
  std::vector<Value> rest;
  const std::vector<std::pair<std::string, Value>>* named = nullptr;  ///< all by name, where the function takes any

  const Value* operator[](size_t i) const { return given[i]; }
};

/// A filter, test, method or global function. `parameters` are names, optional ones in brackets; after them "*" means
/// any more, and "**" any names. `subject` is the value before the | or the dot.
struct Builtin {
  std::string_view name;
  std::string_view parameters;
  Value (*run)(Machine& machine, const Value& subject, const Inputs& inputs);
};

struct Macro;  ///< of the template

struct Scope;

/// A function, a method with its subject, a macro with the variables around it, or the body of a {% call %}.
struct Function : Object {
  const Builtin* builtin = nullptr;
  Value subject;
  const Macro* macro = nullptr;
  Scope* scope = nullptr;
};

}  // namespace skald::internal::jinja

#ifndef SKALD_COMPILED
#include "skald/templates/values/detail/value.h"
#endif

#endif  // SKALD_TEMPLATES_VALUES_VALUE_H_
