#include "tests/tasks/all_tasks.h"

#include <dlfcn.h>

#include <sstream>

#include <medley/plugin/registry.h>
#include <medley/task/plugin_entry.h>

namespace medley::tasks {
namespace {

void Check(int result, const PluginFailure& failure) {
  if (result == static_cast<int>(PluginResult::kBadInput)) throw InputError(failure.message);
  if (result != static_cast<int>(PluginResult::kOk)) throw Error(failure.message);
}

const PluginEntry& EntryOf(const PluginFile& file) {
  void* library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(dlerror());
  return *reinterpret_cast<const PluginEntry* (*)()>(dlsym(library, MEDLEY_WORDS(MEDLEY_PLUGIN_ENTRY)))();
}

TaskClass ClassOf(const PluginEntry& entry, std::uint32_t index, const TaskInfo& info) {
  TaskClass task{.spec = &info, .texts = {}, .make = {}};
  PluginFailure failure{};
  const auto add = [](void* sink, const char* text, std::size_t size) {
    static_cast<std::vector<std::string>*>(sink)->emplace_back(text, size);
  };
  TextsContext context;
  context.options = OptionsOf(info);
  Check(entry.texts(index, &context, &task.texts, add, &failure), failure);
  task.make = [&entry, index](const TaskContext& context) {
    PluginFailure failed{};
    Task* made = nullptr;
    Check(entry.make(index, &context, &made, &failed), failed);
    return std::unique_ptr<Task>(made);
  };
  return task;
}

// The plugins are those that CMakeLists.txt names: the build tree may hold others.
std::vector<TaskClass> LoadAll() {
  static const auto* registry = new Registry(Registry::Scan({.paths = {MEDLEY_GAME_PLUGIN_DIRECTORY},
                                                             .environment = false,
                                                             .user_directory = false,
                                                             .own_directory = false}));
  std::vector<TaskClass> all;
  std::istringstream plugins(MEDLEY_GAME_PLUGINS);
  for (std::string plugin; std::getline(plugins, plugin, ' ');) {
    for (const PluginFile& file : registry->files()) {
      if (file.path.stem() != plugin) continue;
      const PluginEntry& entry = EntryOf(file);
      for (std::size_t i = 0; i < file.tasks.size(); ++i) {
        all.push_back(ClassOf(entry, static_cast<std::uint32_t>(i), file.tasks[i]));
      }
    }
  }
  return all;
}

}  // namespace

OptionValues OptionsOf(const TaskInfo& info) {
  OptionValues options;
  for (const OptionInfo& option : info.options) {
    const bool is_data = option.kind == OptionKind::kPath && option.required;
    options.emplace(option.name, is_data ? OptionValue(MEDLEY_TASK_DATA) : option.Default());
  }
  return options;
}

const std::vector<TaskClass>& AllTasks() {
  static const std::vector<TaskClass> kAll = LoadAll();
  return kAll;
}

const TaskClass& TaskNamed(std::string_view name) {
  for (const TaskClass& task : AllTasks()) {
    if (task.spec->name == name) return task;
  }
  throw Error("no task " + std::string(name));
}

}  // namespace medley::tasks
