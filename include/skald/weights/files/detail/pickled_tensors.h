// SPDX-License-Identifier: Apache-2.0
//
// PickledTensors: what a pickle of a dictionary of tensors says. A small machine with the operations that torch.save
// writes for it, over values that refer to each other by number, so that nothing is followed by recursion. It calls
// nothing: the two functions that such a pickle names are known, and all others are refused.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_PICKLED_TENSORS_H_
#define SKALD_WEIGHTS_FILES_DETAIL_PICKLED_TENSORS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/detail/zip_entries.h"

namespace skald::internal {

/// A tensor as a pickle describes it: elements of a storage, from `offset` on.
struct PickledTensor {
  std::string name;               // in the dictionary
  std::string type;               // of the storage, such as "HalfStorage"
  std::string storage;            // its name
  uint64_t elements = 0;          // of the storage
  uint64_t offset = 0;            // elements before the first
  std::vector<uint64_t> shape;    // outermost axis first
  std::vector<uint64_t> strides;  // in elements
};

class PickledTensors {
 public:
  // Returns the tensors of the dictionary, in its order. Errors: kDataLoss, kUnsupported, naming the operation.
  static Result<std::vector<PickledTensor>> Read(std::span<const std::byte> pickle) {
    PickledTensors machine(pickle);
    while (!machine.error_ && !machine.stops_) machine.Step();
    if (!machine.error_ && machine.stack_.size() != 1) machine.Complain("it does not end in one value");
    if (machine.error_) return Failure(*machine.error_);
    return machine.TensorsOf(machine.stack_.front());
  }

 private:
  static constexpr size_t kMostBytes = 1 << 20, kMostValues = 1 << 16;

  enum class Kind : uint8_t { kNone, kNumber, kText, kMark, kTuple, kDictionary, kGlobal, kStorage, kTensor };
  using Index = uint32_t;  // of a value

  struct Value {
    Kind kind = Kind::kNone;
    uint64_t number = 0;            // also of false and true
    std::string text = {};          // also of a global: its module, a space, its name
    std::vector<Index> items = {};  // of a tuple; of a dictionary keys and values in turn; of a tensor its arguments
  };

  explicit PickledTensors(std::span<const std::byte> pickle) : pickle_(pickle) {
    if (pickle.size() > kMostBytes) Complain("it is larger than a dictionary of tensors is");
  }

  void Complain(std::string_view what, ErrorCode code = ErrorCode::kDataLoss) {
    if (!error_) error_ = Error{code, Concat({"its pickle: ", what})};
  }

  std::span<const std::byte> Take(uint64_t size) {
    if (size > pickle_.size() - at_) {
      Complain("it is cut off");
      return {};
    }
    at_ += size;
    return pickle_.subspan(at_ - size, size);
  }

  uint64_t Number(size_t size) {
    const std::span<const std::byte> bytes = Take(size);
    return bytes.size() == size ? LittleEndianAt(bytes, 0, size) : 0;
  }

  std::string Text(uint64_t size) {
    const std::span<const std::byte> bytes = Take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string Line() {
    const auto rest = pickle_.subspan(at_);
    const auto end = std::ranges::find(rest, std::byte{'\n'});
    std::string line = Text(static_cast<uint64_t>(end - rest.begin()));
    (void)Take(1);
    return line;
  }

  void Push(Value value) {
    if (values_.size() == kMostValues) return Complain("it has more values than a dictionary of tensors needs");
    values_.push_back(std::move(value));
    stack_.push_back(static_cast<Index>(values_.size() - 1));
  }

  // Returns the topmost value, off the stack; a value of no kind if the stack is empty.
  Index Pop() {
    if (stack_.empty()) {
      Complain("it takes a value from an empty stack");
      if (values_.empty()) values_.emplace_back();
      return 0;
    }
    const Index top = stack_.back();
    stack_.pop_back();
    return top;
  }

  // Returns all values above the topmost mark, off the stack as the mark.
  std::vector<Index> PopToMark() {
    size_t mark = stack_.size();
    while (mark > 0 && values_[stack_[mark - 1]].kind != Kind::kMark) --mark;
    if (mark == 0) {
      Complain("it lacks a mark");
      return {};
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(mark);
    std::vector<Index> items(begin, stack_.end());
    stack_.erase(begin - 1, stack_.end());
    return items;
  }

  void PushTuple(size_t size) {
    std::vector<Index> items(size);
    for (size_t i = size; i-- > 0;) items[i] = Pop();
    Push({.kind = Kind::kTuple, .items = std::move(items)});
  }

  void AddItems(const std::vector<Index>& items) {
    if (error_) return;
    if (stack_.empty() || values_[stack_.back()].kind != Kind::kDictionary || items.size() % 2 != 0) {
      return Complain("it sets items of something else than a dictionary");
    }
    std::vector<Index>& all = values_[stack_.back()].items;
    all.insert(all.end(), items.begin(), items.end());
  }

  // The call of a function with a tuple of arguments: of the two that a dictionary of tensors needs.
  void Reduce() {
    const Index arguments = Pop(), function = Pop();
    if (error_) return;
    const Value &callee = values_[function], &given = values_[arguments];
    if (callee.kind != Kind::kGlobal || given.kind != Kind::kTuple) return Complain("it calls what is no function");
    if (callee.text == "collections OrderedDict" && given.items.empty()) return Push({.kind = Kind::kDictionary});
    if (callee.text == "torch._utils _rebuild_tensor_v2") return Push({.kind = Kind::kTensor, .items = given.items});
    Complain(Concat({"it calls ", QuotedName(callee.text), ", expected a dictionary of tensors"}),
             ErrorCode::kUnsupported);
  }

  // A storage: ("storage", type, name, device, number of elements).
  void PersistentId() {
    const Index index = Pop();
    if (error_) return;
    const std::vector<Index> items = values_[index].items;
    const auto is = [&](size_t i, Kind kind) { return values_[items[i]].kind == kind; };
    const bool fits = values_[index].kind == Kind::kTuple && items.size() == 5 && is(0, Kind::kText) &&
                      is(1, Kind::kGlobal) && is(2, Kind::kText) && is(4, Kind::kNumber) &&
                      values_[items[0]].text == "storage";
    if (!fits) return Complain("it refers to something else than a storage", ErrorCode::kUnsupported);
    Push({.kind = Kind::kStorage, .items = items});
  }

  // The state of a dictionary, such as the versions of modules, changes no tensor.
  void Build() {
    (void)Pop();
    if (!error_ && (stack_.empty() || values_[stack_.back()].kind != Kind::kDictionary)) {
      Complain("it gives a state to something else than a dictionary", ErrorCode::kUnsupported);
    }
  }

  void Get(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) return Complain("it takes a value that was not kept");
    stack_.push_back(found->second);
  }

  void Put(uint64_t slot) {
    if (stack_.empty()) return Complain("it keeps a value of an empty stack");
    memo_[slot] = stack_.back();
  }

  // LONG1: a number of up to 8 bytes that is not negative.
  void PushLong() {
    const uint64_t size = Number(1);
    if (size > 8) return Complain("it has a number of more than 64 bits");
    PushNumber(Number(size), /*is_negative=*/size == 8 && at_ > 0 && (std::to_integer<int>(pickle_[at_ - 1]) & 0x80));
  }

  void PushNumber(uint64_t number, bool is_negative = false) {
    if (is_negative) return Complain("it has a negative number");
    Push({.kind = Kind::kNumber, .number = number});
  }

  void Step() {
    if (stack_.size() > kMostValues) return Complain("it has more values than a dictionary of tensors needs");
    const std::span<const std::byte> one = Take(1);
    if (one.empty()) return;
    switch (std::to_integer<uint8_t>(one[0])) {
      case 0x80:  // PROTO
        if (Number(1) != 2) Complain("it is not of protocol 2", ErrorCode::kUnsupported);
        return;
      case 'c': {  // GLOBAL
        std::string module = Line();
        return Push({.kind = Kind::kGlobal, .text = Concat({module, " ", Line()})});
      }
      case ')':  // EMPTY_TUPLE
        return Push({.kind = Kind::kTuple});
      case '}':  // EMPTY_DICT
        return Push({.kind = Kind::kDictionary});
      case '(':  // MARK
        return Push({.kind = Kind::kMark});
      case 'N':  // NONE
        return Push({});
      case 'X':  // BINUNICODE
        return Push({.kind = Kind::kText, .text = Text(Number(4))});
      case 'K':  // BININT1
        return PushNumber(Number(1));
      case 'M':  // BININT2
        return PushNumber(Number(2));
      case 'J': {  // BININT
        const uint64_t number = Number(4);
        return PushNumber(number, number >> 31 != 0);
      }
      case 0x8a:
        return PushLong();
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return PushNumber(one[0] == std::byte{0x88} ? 1 : 0);
      case 't':  // TUPLE
        return Push({.kind = Kind::kTuple, .items = PopToMark()});
      case 0x85:  // TUPLE1 to TUPLE3
      case 0x86:
      case 0x87:
        return PushTuple(std::to_integer<size_t>(one[0]) - 0x84);
      case 's': {  // SETITEM
        const Index value = Pop(), key = Pop();
        return AddItems({key, value});
      }
      case 'u':  // SETITEMS
        return AddItems(PopToMark());
      case 'R':
        return Reduce();
      case 'Q':  // BINPERSID
        return PersistentId();
      case 'b':
        return Build();
      case 'q':  // BINPUT
        return Put(Number(1));
      case 'r':  // LONG_BINPUT
        return Put(Number(4));
      case 'h':  // BINGET
        return Get(Number(1));
      case 'j':  // LONG_BINGET
        return Get(Number(4));
      case '.':
        stops_ = true;
        return;
      default:
        return Complain(Concat({"it has the operation ", std::to_string(std::to_integer<int>(one[0])),
                                ", which a dictionary of tensors does not need"}),
                        ErrorCode::kUnsupported);
    }
  }

  // The numbers of a tuple, or nothing.
  std::optional<std::vector<uint64_t>> NumbersOf(const Value& tuple) const {
    if (tuple.kind != Kind::kTuple) return std::nullopt;
    std::vector<uint64_t> numbers;
    for (const Index item : tuple.items) {
      if (values_[item].kind != Kind::kNumber) return std::nullopt;
      numbers.push_back(values_[item].number);
    }
    return numbers;
  }

  // Of the arguments (storage, offset, shape, strides, ..).
  std::optional<PickledTensor> TensorOf(const Value& value) const {
    if (value.kind != Kind::kTensor || value.items.size() < 4) return std::nullopt;
    const Value &storage = values_[value.items[0]], &offset = values_[value.items[1]];
    auto shape = NumbersOf(values_[value.items[2]]), strides = NumbersOf(values_[value.items[3]]);
    if (storage.kind != Kind::kStorage || offset.kind != Kind::kNumber || !shape || !strides) return std::nullopt;
    const std::string& type = values_[storage.items[1]].text;
    return PickledTensor{.name = {},
                         .type = type.substr(type.rfind(' ') + 1),
                         .storage = values_[storage.items[2]].text,
                         .elements = values_[storage.items[4]].number,
                         .offset = offset.number,
                         .shape = std::move(*shape),
                         .strides = std::move(*strides)};
  }

  Result<std::vector<PickledTensor>> TensorsOf(Index top) {
    const Value& all = values_[top];
    std::vector<PickledTensor> tensors;
    if (all.kind != Kind::kDictionary) Complain("it holds no dictionary of tensors", ErrorCode::kUnsupported);
    for (size_t i = 0; !error_ && i + 1 < all.items.size(); i += 2) {
      auto tensor = TensorOf(values_[all.items[i + 1]]);
      if (!tensor || values_[all.items[i]].kind != Kind::kText) {
        Complain("it holds something else than tensors by their names", ErrorCode::kUnsupported);
        break;
      }
      tensor->name = values_[all.items[i]].text;
      tensors.push_back(std::move(*tensor));
    }
    if (error_) return Failure(*error_);
    return tensors;
  }

  std::span<const std::byte> pickle_;
  size_t at_ = 0;
  bool stops_ = false;
  std::optional<Error> error_;
  std::vector<Value> values_;
  std::vector<Index> stack_;
  std::map<uint64_t, Index> memo_;
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_FILES_DETAIL_PICKLED_TENSORS_H_
