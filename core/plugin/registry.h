#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/task_config.h>
#include <medley/model/model_info.h>
#include <medley/plugin/task_info.h>

namespace medley {

// Which file on which disk, and whether it has changed since it was read.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// A plugin file, read without loading it.
struct PluginFile {
  std::filesystem::path path;  // absolute, real
  FileIdentity identity;
  std::string build_id;  // hex, "" where the linker wrote none
  std::string note;      // the bytes of .note.medley, or the specs in Python; compared again after loading
  std::vector<TaskInfo> tasks;
  std::vector<ModelInfo> models;
  bool is_python = false;  // a file of Python (python_file.h), not a shared library
};

// A file or directory that was found and not used, with the reason in words.
struct RejectedPlugin {
  std::filesystem::path path;
  std::string state;  // not a plugin, bad abi, bad permissions, truncated, ...
  std::string reason;
  bool named = false;  // by the user: the file itself, or its directory
};

// A task or model that stands in several plugins: the first one found is used.
struct ShadowedTask {
  std::string task;  // or "model NAME"
  std::filesystem::path used, other;
};

struct PluginSearch {
  std::vector<std::filesystem::path> paths;  // --plugin-path and the config's, first wins
  bool environment = true;                   // MEDLEY_PLUGIN_PATH
  bool user_directory = true;
  bool own_directory = true;  // the one beside libmedley
};

// Every task that can be trained and every model that can be, from files that were read and not loaded; and
// medley's own models. Scanning never runs a plugin's code. Nothing changes once it was made and a run's
// names were given to it: any thread may ask, and what it hands out lives as long as it.
class Registry {
 public:
  Registry();  // medley's own models alone
  static Registry Scan(const PluginSearch& search);

  // Further names that a run has for tasks, which are asked for like any other from then on: each has a spec
  // of its own, equal but for the name. Passed over is one whose kind is no task of a plugin, and kept what
  // was given before.
  void GiveNames(const TaskKinds& kinds);
  // The task of a plugin whose code runs under this name: mostly itself. InputError as of Require.
  const std::string& KindOf(std::string_view task) const;
  std::vector<std::string> KindsOf(const std::vector<std::string>& tasks) const;
  // Whether a plugin has a task of this name, or a kind, which a run's further names are not.
  bool IsKind(std::string_view task) const { return by_name_.contains(task); }
  // Whether several names of the run may be of this kind.
  bool HasFurtherNames(std::string_view kind) const;

  // In alphabetical order, a run's further names among them.
  std::vector<const TaskInfo*> tasks() const;
  const TaskInfo* Find(std::string_view task) const;
  // An InputError that suggests near names and lists where it looked.
  const TaskInfo& Require(std::string_view task) const;
  const PluginFile& FileOf(std::string_view task) const;

  // In alphabetical order.
  std::vector<const ModelInfo*> models() const;
  const ModelInfo* FindModel(std::string_view name) const;
  // Null for one of medley's own.
  const PluginFile* FileOfModel(std::string_view name) const;

  const std::vector<PluginFile>& files() const { return files_; }
  const std::vector<RejectedPlugin>& rejected() const { return rejected_; }
  const std::vector<ShadowedTask>& shadowed() const { return shadowed_; }
  // A line for each of these tasks that stands in several plugins: which one is used.
  std::vector<std::string> Choices(const std::vector<std::string>& tasks) const;
  const std::vector<std::filesystem::path>& searched() const { return searched_; }
  // "searched: DIR, DIR", for a name that is not there.
  std::string SearchedWords() const;
  // An InputError that lists what the user named and what cannot be used: another file would take its place.
  // A whole library without a medley note in a named directory is passed over.
  void RequireNamed() const;

 private:
  using Places = std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>>;  // file, item in it

  // `first_of_directory` is the index of the first file of the directory that is being read.
  void Take(PluginFile file, std::size_t first_of_directory);
  // Enters the names that are new, and says whether there were any.
  bool Enter(const std::vector<std::string>& names, const std::string& kind, const PluginFile& file,
             std::size_t first_of_directory, Places& places);

  std::vector<PluginFile> files_;
  std::vector<RejectedPlugin> rejected_;
  std::vector<ShadowedTask> shadowed_;
  std::vector<std::filesystem::path> searched_;
  std::map<std::string, ModelInfo, std::less<>> own_models_;
  Places by_name_, models_;
  struct Named {
    std::string kind;
    TaskInfo info;
  };
  std::map<std::string, Named, std::less<>> named_;  // by a run's further name
};

}  // namespace medley
