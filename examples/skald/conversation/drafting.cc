// SPDX-License-Identifier: Apache-2.0

#include "conversation/drafting.h"

#ifdef SKALD_HAS_STORE

#include <algorithm>
#include <filesystem>
#include <utility>

#include "model_files/known_models.h"
#include "setup.h"
#include "skald/engine/speculation/draft_model.h"
#include "skald/engine/speculation/new_head_drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/heads/published_head.h"
#include "skald/model/workspace.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

// A smaller model at its work, which a drafter refers to.
struct Drafting {
  Drafting(std::shared_ptr<const ProgramModel> its_model, std::shared_ptr<BlockPool> pool, Workspace its_workspace)
      : model(std::move(its_model)), workspace(std::move(its_workspace)), drafter(*model, std::move(pool), workspace) {}

  std::shared_ptr<const ProgramModel> model;
  Workspace workspace;
  DraftModel drafter;
};

// The same of layers that read a model.
struct HeadDrafting {
  std::shared_ptr<const ProgramModel> model;
  DraftHead head;
  Workspace workspace;
  std::unique_ptr<Drafter> drafter;
};

const char* OptionOf(const DraftOptions& draft) { return draft.mtp ? "--mtp" : "--draft-model"; }

Result<void> RefuseRanks(const Options& options) {
  if (!options.use_ranks) return {};
  return Fail(ErrorCode::kUnsupported, "--ranks compute one model, and no other beside it");
}

Result<std::shared_ptr<Drafter>> LoadModelFor(const Options& options, int vocab_size, RuntimeConfig runtime) {
  SKALD_TRY(RefuseRanks(options));
  const Options own = OptionsOfDraft(options);
  SKALD_ASSIGN(const auto info, IdentifyModel(own.model));
  if (info.spec.vocab_size != vocab_size) {
    return Fail(ErrorCode::kInvalidArgument, own.model.string() + " has a vocabulary of " +
                                                 std::to_string(info.spec.vocab_size) +
                                                 " tokens, expected the model's " + std::to_string(vocab_size));
  }
  SKALD_ASSIGN(auto weights, LoadWeights(own, info));
  const std::shared_ptr<const ProgramModel> model = std::move(weights);
  if (info.trained_context > 0) runtime.max_tokens = std::min(runtime.max_tokens, info.trained_context);
  SKALD_ASSIGN(auto pool, model->CreatePool(runtime));
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const auto drafting = std::make_shared<Drafting>(model, std::move(pool), std::move(workspace));
  return std::shared_ptr<Drafter>(drafting, &drafting->drafter);
}

Result<std::shared_ptr<Drafter>> LoadHeadFor(const Options& options, const ModelInfo& info,
                                             std::shared_ptr<const ProgramModel> model, RuntimeConfig runtime) {
  SKALD_TRY(RefuseRanks(options));
  const ProgressBar bar("loading " + std::string(OptionOf(options.draft)), options.show_progress);
  const LoadOptions load = LoadOptionsOf(options, info, bar);
  const std::filesystem::path& path = options.draft.model;
  SKALD_ASSIGN(auto head, options.draft.mtp ? LoadPredictionHead(info.model, model->model(), load)
                                            : LoadPublishedHead(path, model->model(), load));
  runtime.cache_bytes /= NumLayers(info.spec);  // its part of the model's
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const auto drafting =
      std::make_shared<HeadDrafting>(HeadDrafting{std::move(model), std::move(head), std::move(workspace), nullptr});
  SKALD_ASSIGN(drafting->drafter, NewHeadDrafter(drafting->head, runtime, drafting->workspace));
  return std::shared_ptr<Drafter>(drafting, drafting->drafter.get());
}

}  // namespace

std::string DescribeDrafter(const DraftOptions& draft) {
  if (draft.mtp) return "the model's layers for further tokens guess tokens";
  const char* const head = PublishedHeadAt(draft.model);
  const std::string kind = head != nullptr ? ", " + std::string(head) + "," : "";
  return draft.model.string() + kind + " guesses tokens";
}

bool DraftsWithModel(const DraftOptions& draft) {
  return !draft.model.empty() && PublishedHeadAt(draft.model) == nullptr;
}

Options OptionsOfDraft(const Options& options) {
  Options own = options;
  own.model = options.draft.model;
  own.draft = {};
  own.adapter.reset();
  own.steering = {};
  return own;
}

Result<std::shared_ptr<Drafter>> LoadDraftModel(const Options& options, const ModelInfo& info,
                                                const RuntimeConfig& runtime) {
  if (!DraftsWithModel(options.draft)) return nullptr;
  auto drafter = LoadModelFor(options, info.spec.vocab_size, runtime);
  if (!drafter) return Annotate(OptionOf(options.draft), drafter);
  return drafter;
}

Result<std::shared_ptr<Drafter>> LoadDraftHead(const Options& options, const ModelInfo& info,
                                               std::shared_ptr<const ProgramModel> model,
                                               const RuntimeConfig& runtime) {
  if (!options.draft.any() || DraftsWithModel(options.draft)) return nullptr;
  auto drafter = LoadHeadFor(options, info, std::move(model), runtime);
  if (!drafter) return Annotate(OptionOf(options.draft), drafter);
  return drafter;
}

Result<DraftedModel> LoadWithDrafter(const Options& options, const ModelInfo& info, const RuntimeConfig& runtime) {
  DraftedModel loaded;
  SKALD_ASSIGN(loaded.drafter, LoadDraftModel(options, info, runtime));
  SKALD_ASSIGN(loaded.model, LoadWeights(options, info));
  if (loaded.drafter == nullptr) {
    SKALD_ASSIGN(loaded.drafter, LoadDraftHead(options, info, loaded.model, runtime));
  }
  return loaded;
}

}  // namespace skald::program

#else

#include "setup.h"

namespace skald::program {

Result<DraftedModel> LoadWithDrafter(const Options& options, const ModelInfo& info, const RuntimeConfig&) {
  if (options.draft.any()) {
    return Fail(ErrorCode::kUnsupported,
                "this program was built without skald::store, which --mtp and --draft-model need");
  }
  DraftedModel loaded;
  SKALD_ASSIGN(loaded.model, LoadWeights(options, info));
  return loaded;
}

}  // namespace skald::program

#endif  // SKALD_HAS_STORE
