#include <medley/plugin/registry.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/model/built_in_models.h>

#include "plugin_scan.h"

namespace medley {
namespace {

std::string Words(const RejectedPlugin& file) {
  return Printable(file.path.string()) + " was not used (" + file.state + "): " + file.reason;
}

}  // namespace

Registry::Registry() {
  for (const ModelSpec* model : kBuiltInModels) own_models_.emplace(model->name, InfoOf(*model));
}

Registry Registry::Scan(const PluginSearch& search) {
  Registry registry;
  for (const SearchPath& where : SearchPaths(search)) {
    registry.searched_.push_back(where.path);
    ScannedDirectory scanned = ScanPlugins(where);
    registry.rejected_.insert(registry.rejected_.end(), scanned.rejected.begin(), scanned.rejected.end());
    const std::size_t first = registry.files_.size();
    for (PluginFile& file : scanned.files) registry.Take(std::move(file), first);
  }
  return registry;
}

void Registry::Take(PluginFile file, std::size_t first_of_directory) {
  const auto same = [&](const PluginFile& other) {
    return other.identity.device == file.identity.device && other.identity.inode == file.identity.inode;
  };
  if (std::ranges::any_of(files_, same)) return;

  std::vector<std::string> tasks, models;
  for (const TaskInfo& task : file.tasks) tasks.push_back(task.name);
  for (const ModelInfo& model : file.models) models.push_back(model.name);
  const bool has_tasks = Enter(tasks, "task", file, first_of_directory, by_name_);
  const bool has_models = Enter(models, "model", file, first_of_directory, models_);
  if (has_tasks || has_models) files_.push_back(std::move(file));
}

bool Registry::Enter(const std::vector<std::string>& names, const std::string& kind, const PluginFile& file,
                     std::size_t first_of_directory, Places& places) {
  bool any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [taken, is_new] = places.try_emplace(names[i], files_.size(), i);
    any = any || is_new;
    if (is_new) continue;
    const std::filesystem::path& other = files_[taken->second.first].path;
    if (taken->second.first >= first_of_directory) {
      throw InputError(kind + " '" + names[i] + "' is in two plugins of one directory, " +
                       Printable(other.string()) + " and " + Printable(file.path.string()) +
                       ": remove one of them");
    }
    shadowed_.push_back({kind == "task" ? names[i] : kind + " " + names[i], other, file.path});
  }
  return any;
}

void Registry::GiveNames(const TaskKinds& kinds) {
  for (const auto& [name, kind] : kinds) {
    const auto found = by_name_.find(kind);
    if (found == by_name_.end()) continue;
    TaskInfo info = files_[found->second.first].tasks[found->second.second];
    info.name = name;
    named_.try_emplace(name, Named{.kind = kind, .info = std::move(info)});
  }
}

const std::string& Registry::KindOf(std::string_view task) const {
  const auto named = named_.find(task);
  return named != named_.end() ? named->second.kind : Require(task).name;
}

std::vector<std::string> Registry::KindsOf(const std::vector<std::string>& tasks) const {
  std::vector<std::string> kinds;
  for (const std::string& task : tasks) kinds.push_back(KindOf(task));
  return kinds;
}

bool Registry::HasFurtherNames(std::string_view kind) const {
  return std::ranges::any_of(named_, [&](const auto& named) { return named.second.kind == kind; });
}

std::vector<const TaskInfo*> Registry::tasks() const {
  std::map<std::string_view, const TaskInfo*> by_name;
  for (const auto& [name, named] : named_) by_name.emplace(name, &named.info);
  for (const auto& [name, where] : by_name_) by_name.emplace(name, &files_[where.first].tasks[where.second]);
  std::vector<const TaskInfo*> tasks;
  for (const auto& [name, info] : by_name) tasks.push_back(info);
  return tasks;
}

const TaskInfo* Registry::Find(std::string_view task) const {
  if (const auto named = named_.find(task); named != named_.end()) return &named->second.info;
  const auto found = by_name_.find(task);
  return found == by_name_.end() ? nullptr : &files_[found->second.first].tasks[found->second.second];
}

void Registry::RequireNamed() const {
  std::string words;
  for (const RejectedPlugin& file : rejected_) {
    if (file.named) words += "\n  " + Words(file);
  }
  if (words.empty()) return;
  throw InputError(
      "plugins that were named (--plugin-path, plugin_path, MEDLEY_PLUGIN_PATH) cannot be used:" + words +
      "\nMend them, or do not name them");
}

std::vector<std::string> Registry::Choices(const std::vector<std::string>& tasks) const {
  std::vector<std::string> lines;
  std::vector<std::string> kinds;
  for (const std::string& task : tasks) kinds.push_back(Find(task) == nullptr ? task : KindOf(task));
  for (const ShadowedTask& task : shadowed_) {
    if (std::ranges::find(kinds, task.task) == kinds.end()) continue;
    lines.push_back("the task " + task.task + " comes from " + Printable(task.used.string()) + ", not from " +
                    Printable(task.other.string()));
  }
  return lines;
}

std::string Registry::SearchedWords() const {
  std::vector<std::string> places;
  for (const std::filesystem::path& path : searched_) places.push_back(Printable(path.string()));
  return "searched: " + (places.empty() ? "nowhere" : JoinNames(places));
}

const TaskInfo& Registry::Require(std::string_view task) const {
  if (const TaskInfo* info = Find(task)) return *info;
  std::vector<std::string> names;
  for (const TaskInfo* known : tasks()) names.push_back(known->name);
  std::string message = "no such task: '" + Printable(task) + "'" + DidYouMean(task, names) + " (" +
                        std::to_string(names.size()) + " tasks: medley tasks; " + SearchedWords() + ")";
  for (const RejectedPlugin& file : rejected_) {
    if (file.path.stem() == task || names.empty()) {
      message += "\n  " + Words(file);
    }
  }
  throw InputError(message);
}

const PluginFile& Registry::FileOf(std::string_view task) const {
  return files_[by_name_.find(KindOf(task))->second.first];
}

std::vector<const ModelInfo*> Registry::models() const {
  std::map<std::string_view, const ModelInfo*> models;
  for (const auto& [name, info] : own_models_) models.emplace(name, &info);
  for (const auto& [name, where] : models_) models.emplace(name, &files_[where.first].models[where.second]);
  std::vector<const ModelInfo*> list;
  for (const auto& [name, info] : models) list.push_back(info);
  return list;
}

const ModelInfo* Registry::FindModel(std::string_view name) const {
  if (const auto own = own_models_.find(name); own != own_models_.end()) return &own->second;
  const auto found = models_.find(name);
  return found == models_.end() ? nullptr : &files_[found->second.first].models[found->second.second];
}

const PluginFile* Registry::FileOfModel(std::string_view name) const {
  if (own_models_.find(name) != own_models_.end()) return nullptr;
  const auto found = models_.find(name);
  return found == models_.end() ? nullptr : &files_[found->second.first];
}

}  // namespace medley
