#pragma once

#include <memory>
#include <string>
#include <vector>

#include <medley/model/model_context.h>
#include <medley/plugin/registry.h>
#include <medley/task/task.h>

namespace medley {

// A plugin whose code is in the process, and stays: a graph, a deleter or an exception may need it until the
// end.
class PluginLibrary {
 public:
  virtual ~PluginLibrary();

  // Loads a scanned file, or gives what was loaded before: a shared library, or a file of Python, by the
  // process's host. Throws Error where the file is no longer the one that was scanned, where others may write
  // to it by now, where the linker refuses it, or what Python raised.
  static const PluginLibrary& Load(const PluginFile& file);

  // `index` is the task's place in the plugin's note. c10::OutOfMemoryError passes; all else is an Error,
  // without the name of the plugin.
  virtual std::unique_ptr<Task> Make(std::size_t index, const TaskContext& context) const = 0;
  virtual std::unique_ptr<Model> MakeModel(std::size_t index, const ModelContext& context) const = 0;
  virtual std::vector<std::string> Texts(std::size_t index, const TextsContext& context) const = 0;
  virtual std::vector<std::string> Classes(std::size_t index, const TaskOptions& options) const = 0;
};

}  // namespace medley
