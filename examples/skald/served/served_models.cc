// SPDX-License-Identifier: Apache-2.0

#include "served/served_models.h"

#ifdef SKALD_HAS_SERVER

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "model_files/known_models.h"
#include "served/load_served.h"
#include "server/service/models/machine_memory.h"
#include "server/service/service.h"
#include "skald/weights/opened/opened_model.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

namespace fs = std::filesystem;

// A model, and by which name clients call it; empty: its own.
using NamedPath = std::pair<std::string, fs::path>;

// Whether there is a model: a folder with its description, or a file that holds all of one, be it damaged.
bool IsModel(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_directory(ignored)) return fs::exists(entry.path() / "config.json", ignored);
  if (!entry.is_regular_file(ignored)) return false;
  const auto opened = OpenedModel::Open(entry.path());
  return !opened || opened->is_whole();
}

// The models in a folder under their file names, in the order of these.
Result<std::vector<NamedPath>> ModelsIn(const fs::path& folder) {
  std::error_code error;
  std::vector<NamedPath> models;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && IsModel(*entry)) models.emplace_back(name, entry->path());
  }
  const std::string option = "--models-dir " + folder.string() + ": ";
  if (error) return Fail(ErrorCode::kNotFound, option + error.message());
  if (models.empty()) return Fail(ErrorCode::kNotFound, option + "there is no model in it");
  std::ranges::sort(models);
  return models;
}

// All models, the one that clients get without a name first.
Result<std::vector<NamedPath>> PathsOf(const Options& options) {
  const ServeOptions& serve = options.serve;
  std::vector<NamedPath> models = serve.models;
  if (models.empty() && (serve.models_dir.empty() || options.hub)) {
    const bool needs_name = options.hub && HasSeveralModels(options);
    models.emplace_back(needs_name ? options.hub->repository : "", options.model);
  }
  if (!serve.models_dir.empty()) {
    SKALD_ASSIGN(auto more, ModelsIn(serve.models_dir));
    models.insert(models.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (!serve.model_name.empty()) models[0].first = serve.model_name;
  if (models.size() == 1) return models;
  for (auto& [name, path] : models) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      return Fail(ErrorCode::kNotFound, path.string() + ": no such folder or file, expected one with a model");
    }
    if (!name.empty()) continue;
    const fs::path whole = fs::absolute(path).lexically_normal();
    name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  }
  return models;
}

// The options for one of the models. Options on a model's text, adapters, control vectors and what guesses tokens are
// the first one's.
Options OptionsFor(const Options& options, const fs::path& path, bool is_first, uint64_t cache_bytes) {
  Options own = options;
  own.model = path;
  own.runtime.cache_bytes = cache_bytes;
  if (is_first) return own;
  own.tokenizer.reset();
  own.chat_template.reset();
  own.chat_template_file.reset();
  own.tool_format.reset();
  own.serve.adapters.clear();
  own.encoding.by_yes_or_no = false;
  own.steering = {};
  own.draft = {};
  return own;
}

// That all models may take: three quarters of the machine's memory for several, unless the user says how much.
uint64_t MemoryLimit(const Options& options) {
  return options.serve.memory.value_or(HasSeveralModels(options) ? serve::MemoryOfMachine() / 4 * 3 : kUnlimited);
}

// Of a model's caches, unless the user says how much: a quarter of the machine's memory, or an eighth of a limit that
// there is for all models.
uint64_t CacheBytes(const Options& options, uint64_t limit) {
  if (options.runtime.cache_bytes != kUnlimited) return options.runtime.cache_bytes;
  return limit == kUnlimited ? serve::MemoryOfMachine() / 4 : std::max<uint64_t>(limit / 8, 1);
}

Result<void> CheckNames(const std::vector<serve::ModelSource>& sources) {
  std::set<std::string> names;
  for (const serve::ModelSource& source : sources) {
    std::vector<std::string> own = source.adapters;
    own.push_back(source.name);
    for (const std::string& name : own) {
      if (name == serve::kDefaultModel) {
        return Fail(ErrorCode::kInvalidArgument, "'" + name + "' is the name of the first model, and no other's");
      }
      if (!names.insert(name).second) {
        return Fail(ErrorCode::kInvalidArgument, "two models are called '" + name + "'; --model NAME=PATH names them");
      }
    }
  }
  return {};
}

// Loads the only model, whose errors end the program.
Result<void> LoadOnly(uint64_t limit, serve::ModelSource& source) {
  if (limit != kUnlimited) {
    SKALD_ASSIGN(source.bytes, source.measure());
    if (source.bytes > limit) {
      return Fail(ErrorCode::kResourceExhausted, "--memory " + std::to_string(limit) + ": the model takes up to " +
                                                     std::to_string(source.bytes) + " bytes");
    }
  }
  SKALD_ASSIGN(auto loaded, source.load());
  source.name = loaded.name();
  source.loaded = std::move(loaded);
  return {};
}

}  // namespace

bool HasSeveralModels(const Options& options) {
  return options.serve.models.size() > 1 || !options.serve.models_dir.empty();
}

Result<std::unique_ptr<serve::Models>> StartModels(const Options& options, const std::vector<ChunkStoreRef>& stores) {
  const bool are_several = HasSeveralModels(options);
  if (are_several && options.ranks != nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "--ranks compute one model: --model more than once, and --models-dir, are not "
                "for them");
  }
  SKALD_ASSIGN(const auto paths, PathsOf(options));
  const uint64_t limit = MemoryLimit(options), cache_bytes = CacheBytes(options, limit);
  std::vector<serve::ModelSource> sources;
  for (const auto& [name, path] : paths) {
    Options own = OptionsFor(options, path, sources.empty(), cache_bytes);
    own.show_progress &= !are_several;
    serve::ModelSource& source = sources.emplace_back();
    source.name = name;
    source.stays = options.ranks != nullptr;
    for (const auto& [adapter, ignored] : own.serve.adapters) source.adapters.push_back(adapter);
    const auto shared = std::make_shared<const Options>(std::move(own));
    source.measure = [shared] { return BytesOfServed(*shared); };
    source.load = [shared, name = name, &stores] { return LoadServed(*shared, name, stores); };
  }
  if (!are_several) {
    SKALD_TRY(LoadOnly(limit, sources[0]));
  }
  SKALD_TRY(CheckNames(sources));
  serve::ModelsOptions models = {.memory = limit};
  if (are_several) models.tell = [](const std::string& line) { Note(line); };
  return std::make_unique<serve::Models>(std::move(sources), models);
}

}  // namespace skald::program

#endif  // SKALD_HAS_SERVER
