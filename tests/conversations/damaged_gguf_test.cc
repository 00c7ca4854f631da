// SPDX-License-Identifier: Apache-2.0
//
// GGUF files that are damaged in one place: of Gemma 3n each value and each tensor removed, doubled, of another type or
// shape, of every other family values removed and tensors damaged by turns. A file is refused with a sentence, or gives
// the very same answer.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/result.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/create.h"
#include "skald/model/load_any.h"
#include "skald/open/convert_model.h"
#include "skald/open/model_info.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"
#include "tests/support/golden_folders.h"
#include "tests/support/long_tests.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace damaged_gguf_test {

Result<std::vector<float>> AnswerOf(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto model, LoadAnyModel(path, {.dtype = DType::kF32}));
  SKALD_ASSIGN(auto cache, CreateKVCache(model.layout(), {.kv_type = DType::kF32}));
  SKALD_ASSIGN(auto workspace, CreateWorkspace({.threads = 1}));
  const int32_t prompt[] = {3, 17, 25, 9, 40, 11, 7, 30, 2, 58, 1, 1};
  SKALD_ASSIGN(const auto logits, model.Forward(cache, prompt, workspace));
  return std::vector<float>(logits.begin(), logits.end());
}

class Damages {
 public:
  explicit Damages(const char* family) {
    const auto info = IdentifyModel(GoldenPath(family));
    REQUIRE(info);
    auto draft = DraftOfModel(*info);
    REQUIRE_MESSAGE(draft, draft.error().message);
    whole_ = std::move(*draft);
    for (DraftTensor& tensor : whole_.tensors) Keep(tensor);
    const auto answer = Written(whole_);
    REQUIRE_MESSAGE(answer, answer.error().message);
    expected_ = *answer;
  }

  const GgufDraft& whole() const { return whole_; }

  // Returns whether the damaged file is refused.
  bool Try(const std::string& name, const std::function<void(GgufDraft&)>& damage) {
    GgufDraft draft = whole_;
    damage(draft);
    const auto answer = Written(draft);
    ++tried;
    if (!answer) CHECK(answer.error().message.size() > path_.native().size());
    if (answer && *answer != expected_) other_answers.insert(name);
    return !answer;
  }

  std::set<std::string> other_answers;
  size_t tried = 0;

 private:
  // Elements as they lie in the file, so that a shape may say something else.
  void Keep(DraftTensor& tensor) {
    std::vector<float>& all = kept_.emplace_back(static_cast<size_t>(tensor.rows() * tensor.cols()));
    const auto cols = static_cast<size_t>(tensor.cols());
    for (size_t row = 0; row * cols < all.size(); ++row) tensor.read_row(row, std::span(all).subspan(row * cols, cols));
    tensor.type = tensor.stored = FindGgufTypeByName("F32");
    tensor.bytes = std::as_bytes(std::span(all));
  }

  Result<std::vector<float>> Written(const GgufDraft& draft) {
    SKALD_TRY(WriteGguf(path_, draft, ExecutorRef(pool_)));
    return AnswerOf(path_);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "damaged.gguf";
  ThreadPool pool_ = ThreadPool(1);
  std::deque<std::vector<float>> kept_;
  GgufDraft whole_;
  std::vector<float> expected_;
};

TEST_CASE("a damaged file of Gemma 3n is refused, or gives the answer of the whole one") {
  Damages damages("gemma3n");
  const std::string base = "gemma3n.rope.freq_base";
  for (size_t i = 0; i < damages.whole().entries.size(); ++i) {
    const std::string name = damages.whole().entries[i].name;
    damages.Try(name + " removed", [i](GgufDraft& draft) {
      draft.entries.erase(std::next(draft.entries.begin(), static_cast<std::ptrdiff_t>(i)));
    });
    damages.Try(name + " doubled", [i](GgufDraft& draft) { draft.entries.push_back(draft.entries[i]); });
    damages.Try(name + " a text", [&](GgufDraft& draft) { draft.entries[i] = GgufText(name, "x"); });
  }
  for (size_t i = 0; i < damages.whole().tensors.size(); ++i) {
    const std::string name = damages.whole().tensors[i].name;
    damages.Try(name + " removed", [i](GgufDraft& draft) {
      draft.tensors.erase(std::next(draft.tensors.begin(), static_cast<std::ptrdiff_t>(i)));
    });
    damages.Try(name + " doubled", [i](GgufDraft& draft) { draft.tensors.push_back(draft.tensors[i]); });
    damages.Try(name + " of integers",
                [i](GgufDraft& draft) { draft.tensors[i].type = draft.tensors[i].stored = FindGgufTypeByName("I32"); });
    damages.Try(name + " flat", [i](GgufDraft& draft) {
      DraftTensor& tensor = draft.tensors[i];
      tensor.shape = {tensor.rows() * tensor.cols() / 2, 2};
    });
  }
  CHECK(damages.Try("unknown value", [](GgufDraft& draft) { draft.Set(GgufNumber("gemma3n.surprise", uint32_t{3})); }));
  CHECK(damages.tried > 300);
  // Formats have a base of their own for files that do not say it.
  CHECK(damages.other_answers == std::set<std::string>{base + " removed"});
}

// A name without the architecture and the numbers of layers and experts.
std::string SortOf(std::string name, const std::string& architecture) {
  if (name.starts_with(architecture + ".")) name.erase(0, architecture.size() + 1);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isdigit(c) != 0; }, '#');
  return name;
}

void RemoveValues(const std::string& architecture, Damages& damages) {
  for (size_t i = 0; i < damages.whole().entries.size(); ++i) {
    const std::string& name = damages.whole().entries[i].name;
    if (!name.starts_with(architecture + ".")) continue;
    damages.Try(SortOf(name, architecture) + " removed", [i](GgufDraft& draft) {
      draft.entries.erase(std::next(draft.entries.begin(), static_cast<std::ptrdiff_t>(i)));
    });
  }
}

// One tensor of each sort in one way, or in all of them.
void DamageTensors(Damages& damages) {
  std::set<std::string> done;
  for (size_t i = 0; i < damages.whole().tensors.size(); ++i) {
    const std::string sort = SortOf(damages.whole().tensors[i].name, "");
    if (!done.insert(sort).second) continue;
    const auto is_turn = [&](size_t way) { return LongTests() || i % 3 == way; };
    if (is_turn(0)) {
      damages.Try(sort + " removed", [i](GgufDraft& draft) {
        draft.tensors.erase(std::next(draft.tensors.begin(), static_cast<std::ptrdiff_t>(i)));
      });
    }
    if (is_turn(1)) {
      damages.Try(sort + " of integers", [i](GgufDraft& draft) {
        draft.tensors[i].type = draft.tensors[i].stored = FindGgufTypeByName("I32");
      });
    }
    if (is_turn(2)) {
      damages.Try(sort + " flat", [i](GgufDraft& draft) {
        DraftTensor& tensor = draft.tensors[i];
        tensor.shape = {tensor.rows() * tensor.cols() / 2, 2};
      });
    }
  }
}

// Formats have values of their own for files that do not say these: they are of other models of the architecture.
const std::set<std::string> kOptional = {
    "attention.scale removed",
    "attention.sliding_window removed",
    "embedding_scale removed",
    "expert_weights_norm removed",
    "expert_weights_scale removed",
    "final_logit_softcapping removed",
    "logit_scale removed",
    "residual_scale removed",
    "rope.dimension_count removed",
    "rope.freq_base removed",
    "rope.scaling.attn_factor removed",
    "rope.scaling.finetuned removed",
    "rope.scaling.yarn_log_multiplier removed",
    "rope_freqs.weight removed",
    "ssm.dt_b_c_rms removed",
};

TEST_CASE("a damaged file of any family is refused, or gives the answer of the whole one") {
  std::set<std::string> other_answers;
  size_t families = 0;
  for (const std::string& family : GoldenFolders()) {
    CAPTURE(family);
    const auto info = IdentifyModel(GoldenPath(family));
    REQUIRE(info);
    if (!DraftOfModel(*info)) continue;
    Damages damages(family.c_str());
    std::string architecture;
    for (const auto& entry : damages.whole().entries) {
      const size_t end = entry.name.find(".block_count");
      if (end != std::string::npos) architecture = entry.name.substr(0, end);
    }
    RemoveValues(architecture, damages);
    DamageTensors(damages);
    for (const std::string& other : damages.other_answers) {
      if (!kOptional.contains(other)) other_answers.insert(family + ": " + other);
    }
    ++families;
  }
  CHECK(families >= 65);
  for (const std::string& other : other_answers) FAIL_CHECK(other);
}

}  // namespace damaged_gguf_test
}  // namespace skald::testing
