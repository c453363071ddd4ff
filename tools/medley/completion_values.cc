#include "tools/medley/completion_values.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/field.h>
#include <medley/config/run_config.h>
#include <medley/estimate/gpu.h>
#include <medley/plugin/registry.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Words = std::vector<std::string>;

bool HoldsRun(const fs::path& directory) try {
  NewestConfig(directory);
  return true;
} catch (const std::exception&) {
  return false;
}

// Below the directory that the word names so far.
void AddRuns(const std::string& above, Words& words) {
  std::error_code error;
  const fs::path directory = above.empty() ? fs::path(".") : fs::path(above);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string(), path = above + name;
    if (name.starts_with('.') || !entry.is_directory(error)) continue;
    words.push_back(HoldsRun(entry.path()) ? path : path + "/");
  }
}

// Where runs lie unless somebody says otherwise, they are offered at once.
Words Runs(const std::string& word) {
  Words words;
  const std::size_t slash = word.rfind('/');
  AddRuns(slash == std::string::npos ? "" : word.substr(0, slash + 1), words);
  if (slash == std::string::npos) AddRuns("runs/", words);
  return words;
}

// The keys of a run config by its schema, "optimizer.name="; and with a value where they have a few,
// "device=cpu".
class Keys {
 public:
  // For this word, which may name a task by a further name of its own.
  Keys(const Registry& registry, const std::string& word) : registry_(registry), further_(FurtherIn(word)) {
    AddBelow(RunConfigSchema(), "");
  }

  // A key with its values, once the word has the "="; else keys.
  Words For(const std::string& word) const {
    const auto found = values_.find(word.substr(0, word.find('=') + 1));
    return word.find('=') == std::string::npos ? keys_ : found == values_.end() ? Words() : found->second;
  }

 private:
  // "" where "tasks.NAME." is no beginning of it, or names a task.
  std::string FurtherIn(const std::string& word) const {
    const std::string above = "tasks.";
    const std::size_t end = word.find('.', above.size());
    if (!word.starts_with(above) || end == std::string::npos) return "";
    const std::string name = word.substr(above.size(), end - above.size());
    return registry_.Find(name) == nullptr ? name : "";
  }

  void Add(const ordered_json& schema, const std::string& path) {
    if (path == "tasks") return AddTasks(schema.at("additionalProperties"));
    if (schema.value("type", ordered_json()) == "object") {
      if (schema.at("additionalProperties") == false) return AddBelow(schema, path + ".");
      return keys_.push_back(path + ".");  // whose keys are the user's
    }
    keys_.push_back(path + "=");
    Words& values = values_[keys_.back()];
    if (schema.value("type", ordered_json()) == "boolean") values = {path + "=true", path + "=false"};
    const ordered_json none = ordered_json::array(), either = schema.value("anyOf", none);
    // One of a few words, or a file.
    const bool or_file = !either.empty() && either.back().contains("pattern");
    const ordered_json words = (or_file ? either.front() : schema).value("enum", none);
    for (const auto& word : words) values.push_back(path + "=" + word.get<std::string>());
  }

  void AddBelow(const ordered_json& schema, const std::string& above) {
    for (const auto& [key, below] : schema.at("properties").items()) {
      if (key != kComment && key != "$schema") Add(below, above + key);
    }
  }

  void AddFurther(const ordered_json& schema) {
    if (further_.empty()) return;
    const std::string above = "tasks." + further_ + ".";
    AddBelow(schema, above);
    for (const TaskInfo* task : registry_.tasks())
      values_[above + "kind="].push_back(above + "kind=" + task->name);
  }

  void AddTasks(ordered_json schema) {
    AddFurther(schema);
    schema.at("properties").erase("kind");  // under its own name a task is what it is
    for (const TaskInfo* task : registry_.tasks()) {
      const std::string above = "tasks." + task->name + ".";
      AddBelow(schema, above);
      for (const OptionInfo& option : task->options) keys_.push_back(above + "options." + option.name + "=");
      for (const TermInfo& term : task->variants.front().terms)
        keys_.push_back(above + "terms." + term.name + "=");
    }
  }

  const Registry& registry_;
  std::string further_;
  Words keys_;
  std::map<std::string, Words> values_;  // by key and "="
};

Words GpuNames() {
  Words names;
  for (const Gpu& gpu : ReadGpus(ConfigDirectory() / "gpus")) {
    names.push_back(gpu.name);
    std::replace(names.back().begin(), names.back().end(), ' ', '-');  // which FindGpu takes for the same
  }
  return names;
}

}  // namespace

std::string_view CompletedKind(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kKinds = {
      {"TASK", "task"},     {"--task", "task"},   {"KIND", "model"}, {"DIR", "run"},
      {"--against", "run"}, {"--replay", "run"},  {"--gpu", "gpu"},  {"--gpus", "gpu"},
      {"KEY=VALUE", "key"}, {"KEY=VALUES", "key"}};
  const auto found = kKinds.find(name);
  return found == kKinds.end() ? "file" : found->second;
}

Words CompletedValues(std::string_view kind, const std::string& word) {
  if (kind == "run") return Runs(word);
  if (kind == "gpu") return GpuNames();
  const Registry registry = Registry::Scan({});
  if (kind == "key") return Keys(registry, word).For(word);
  Words names;
  const auto add = [&](const auto& info) {  // with its meaning, which shells show
    names.push_back(info.name + (info.summary.empty() ? "" : "\t" + Printable(info.summary)));
  };
  if (kind == "task") {
    for (const TaskInfo* task : registry.tasks()) add(*task);
  } else {
    for (const ModelInfo* model : registry.models()) add(*model);
  }
  return names;
}

}  // namespace medley
