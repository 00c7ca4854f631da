// SPDX-License-Identifier: Apache-2.0

#include "model_files/locate_model.h"

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include "hub/fetch_model.h"
#include "hub/hub_settings.h"
#include "model_files/known_repositories.h"
#include "skald/base/text/message.h"
#include "terminal/messages.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

Result<std::filesystem::path> Fetch(const HubName& name, bool show_progress) {
  SKALD_ASSIGN(const auto settings, ReadHubSettings());
  const ProgressBar bar("downloading " + name.repository, show_progress);
  using Clock = std::chrono::steady_clock;
  Clock::time_point drawn;
  const auto progress = [&](uint64_t done, uint64_t total) {
    const auto now = Clock::now();
    if (done < total && now - drawn < std::chrono::milliseconds(100)) return;  // a terminal is slower than a network
    drawn = now;
    bar.Draw(done, total);
  };
  return FetchModel(name, settings, {progress, Note});
}

// The repository that a text means which is no path, or "".
std::string RepositoryMeant(const std::string& text) {
  if (const std::string_view known = RepositoryOf(text); !known.empty()) return std::string(known);
  return text.find('/') != text.npos && ParseHubName(text) ? text : "";
}

// Error: there is nothing at `path`, and it is the name of a model.
Result<void> RefuseName(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {};
  const std::string repository = RepositoryMeant(path.native());
  if (repository.empty()) return {};  // opening it says what is wrong
  return Fail(ErrorCode::kNotFound, Concat({path.native(), ": no such file or folder; 'skald pull ", repository,
                                            "' downloads the model of this name, and -hf ", repository, " runs it"}));
}

}  // namespace

Result<std::filesystem::path> LocateModel(const Options& options) {
  if (options.hub) return Fetch(*options.hub, options.show_progress);
  if (options.command == Command::kInspect && options.inspect_ranks > 0) return options.model;  // may be a known name
  SKALD_TRY(RefuseName(options.model));
  for (const auto& path : options.bench.models) {
    SKALD_TRY(RefuseName(path));
  }
  for (const auto& [name, path] : options.serve.models) {
    SKALD_TRY(RefuseName(path));
  }
  return options.model;
}

}  // namespace skald::program
