#pragma once

#include <memory>
#include <string>
#include <vector>

#include <medley/model/model_context.h>
#include <medley/plugin/registry.h>
#include <medley/task/plugin_entry.h>
#include <medley/task/task.h>

namespace medley {

// A plugin whose code is in the process, and stays: a graph, a deleter or an exception may need it until the
// end.
class PluginLibrary {
 public:
  // Loads a scanned file, or gives the one that was loaded before. Throws Error where the file is no longer
  // the one that was scanned, where others may write to it by now, or where the linker refuses it.
  static const PluginLibrary& Load(const PluginFile& file);

  // `index` is the task's place in the plugin's note. c10::OutOfMemoryError passes; all else is an Error,
  // without the name of the plugin.
  std::unique_ptr<Task> Make(std::size_t index, const TaskContext& context) const;
  std::unique_ptr<Model> MakeModel(std::size_t index, const ModelContext& context) const;
  std::vector<std::string> Texts(std::size_t index, const TextsContext& context) const;
  std::vector<std::string> Classes(std::size_t index, const TaskOptions& options) const;

 private:
  PluginLibrary(const PluginFile& file, const PluginEntry& entry) : identity_(file.identity), entry_(entry) {}
  static PluginLibrary Open(const PluginFile& file);

  FileIdentity identity_;
  const PluginEntry& entry_;
};

}  // namespace medley
