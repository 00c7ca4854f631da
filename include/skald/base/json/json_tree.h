// SPDX-License-Identifier: Apache-2.0
//
// JSON values built from texts, even if memory may run out. nlohmann::json's destructor allocates a list of a value's
// content; if that fails, it ends the program. So values are built under a JsonGuard, which dismantles them from the
// leaves up, and without temporary values that contain others: never from initializer lists. A null also does not
// become an object or an array implicitly: if memory ran out, it would be half constructed.

#ifndef SKALD_BASE_JSON_JSON_TREE_H_
#define SKALD_BASE_JSON_JSON_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/json/read_json.h"
#include "skald/base/text/message.h"

namespace skald::internal {

/// Empties a value without allocating.
void Dismantle(nlohmann::json& value) noexcept;
void Dismantle(nlohmann::ordered_json& value) noexcept;

/// Dismantles a value before it is destroyed: declare it right after the value.
class JsonGuard {
 public:
  explicit JsonGuard(nlohmann::json& value) : value_(value) {}
  JsonGuard(const JsonGuard&) = delete;
  JsonGuard& operator=(const JsonGuard&) = delete;
  ~JsonGuard() { Dismantle(value_); }

 private:
  nlohmann::json& value_;
};

/// The treatment of a name that an object gives twice.
enum class RepeatedNames {
  kLastCounts,  ///< the last value, at the first one's place
  kRefused,     ///< parsers commonly keep one of them, so two programs could read one text differently
};

/// Builds a value from the parts of a text, in place. `Tree` is nlohmann::json or ordered_json. The latter keeps the
/// order of names; without an index it would search all names of an object for each one that is added.
template <class Tree>
class JsonTreeBuilder final : public JsonEvents {
 public:
  using Json = nlohmann::json;

  explicit JsonTreeBuilder(Tree& root, RepeatedNames same_names = RepeatedNames::kLastCounts)
      : next_(&root), same_names_(same_names) {}

  /// A sentence fragment about the text; empty if there is no error.
  const std::string& complaint() const { return complaint_; }

  bool start_object(size_t /*elements*/) override { return Open(Json::value_t::object); }
  bool start_array(size_t /*elements*/) override { return Open(Json::value_t::array); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (Tree* const known = FindMember(name)) {
      if (same_names_ == RepeatedNames::kRefused) {
        complaint_ = Concat({"gives the name ", QuotedName(name), " twice"});
        return false;
      }
      if constexpr (!kIsOrdered) Dismantle(*known);
      *known = nullptr;
      next_ = known;
      return true;
    }
    next_ = &AddMember(name);
    return true;
  }
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(Json::number_integer_t value) override { return Add(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return Add(value); }
  bool number_float(Json::number_float_t value, const std::string&) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  static constexpr bool kIsOrdered = std::is_same_v<Tree, nlohmann::ordered_json>;
  struct Level {
    Tree* value;
    std::map<std::string, size_t> places;  ///< of an ordered object's names
  };

  /// The member of the innermost object, or null.
  Tree* FindMember(const std::string& name) {
    auto& object = open_.back().value->template get_ref<typename Tree::object_t&>();
    if constexpr (kIsOrdered) {
      const auto found = open_.back().places.find(name);
      return found == open_.back().places.end()
                 ? nullptr
                 : &(object.begin() + static_cast<std::ptrdiff_t>(found->second))->second;
    } else {
      const auto found = object.find(name);
      return found == object.end() ? nullptr : &found->second;
    }
  }
  Tree& AddMember(std::string& name) {
    auto& object = open_.back().value->template get_ref<typename Tree::object_t&>();
    if constexpr (kIsOrdered) {
      using Members = typename Tree::object_t::Container;
      open_.back().places.emplace(name, object.size());
      return static_cast<Members&>(object).emplace_back(std::move(name), nullptr).second;
    } else {
      return object.emplace(std::move(name), nullptr).first->second;
    }
  }

  /// Where the next value goes: after its name, or at the end of an array.
  Tree& Place() {
    if (next_ != nullptr) return *std::exchange(next_, nullptr);
    return open_.back().value->emplace_back(nullptr);
  }
  template <class Value>
  bool Add(Value&& value) {
    Place() = std::forward<Value>(value);
    return true;
  }
  bool Open(Json::value_t type) {
    Tree& place = Place();
    place = type;
    open_.push_back({&place, {}});
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Tree* next_;               ///< null in an array
  std::vector<Level> open_;  ///< objects and arrays that have not ended, the outermost first
  const RepeatedNames same_names_;
  std::string complaint_;
};
using JsonBuilder = JsonTreeBuilder<nlohmann::json>;

/// Parses `text` into `root`, which the caller guards if memory may run out. Returns "" or a sentence fragment about
/// the text; `root` then holds a part of it.
template <class Tree>
std::string ParseJson(std::string_view text, Tree& root, const JsonLimits& limits = {},
                      RepeatedNames same_names = RepeatedNames::kLastCounts) {
  JsonTreeBuilder<Tree> builder(root, same_names);
  std::string complaint;
  if (ReadJson(text, builder, complaint, limits)) return "";
  return complaint.empty() ? builder.complaint() : complaint;
}

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/base/json/detail/json_tree.h"
#endif

#endif  // SKALD_BASE_JSON_JSON_TREE_H_
