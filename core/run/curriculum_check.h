#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/task_info.h>

namespace medley {

// Reports mistakes in a task's settings where they stand.
class TaskReport {
 public:
  using Path = std::vector<std::string>;
  // `place`: of a key below the task, such as {"options", "moves"}, in the file.
  TaskReport(ConfigFile& file, std::function<Path(const Path& key)> place)
      : file_(file), place_(std::move(place)) {}

  void FailAt(const Path& key, const std::string& message) const { file_.FailAt(place_(key), message); }
  void FailAtKey(const Path& key, const std::string& message) const { file_.FailAtKey(place_(key), message); }
  // The path that stands there, absolute; none where the file does not set it.
  std::optional<std::filesystem::path> PathAt(const Path& key) const {
    const JsonNode* node = file_.Find(place_(key));
    return node != nullptr && node->IsString() ? std::optional(file_.Resolve(*node)) : std::nullopt;
  }

 private:
  ConfigFile& file_;
  std::function<Path(const Path& key)> place_;
};

// Variant, options, terms and mode against the task's spec: what making or executing it would refuse. Makes
// the paths among the options absolute.
void CheckTask(const TaskInfo& task, TaskConfig& config, const TaskReport& report);

// Where a task is named, for what to do if a further name of one was meant.
enum class NamedIn { kConfig, kWeights, kEdit };
// The task that the path's last key names; null, and reported, where there is none.
const TaskInfo* RequireTask(ConfigFile& file, const std::vector<std::string>& path, const Registry& registry,
                            NamedIn where);
// Reports a kind that is none, or that stands under the name of another task. `begun`: of a run that has
// begun, where a plugin may have got a task of that name since. False where it reported something.
bool CheckKind(const std::string& name, const std::string& kind, const Registry& registry,
               const TaskReport& report, bool begun);

// What the task hands to the model and asks of it that the model has not, and sizes that are not its own,
// each as a sentence; none where they fit.
std::vector<std::string> ModelProblems(const TaskInfo& task, const ModelInfo& model);

// Reports tasks of a curriculum that are not there, that do not fit the run's model or vocabulary, and scores
// that nobody would evaluate. What does not fit is reported in the run's config, in the weights file where
// that is null.
// `model` null: it is not known, which was reported.
void CheckCurriculumFits(ConfigFile& weights, const Curriculum& curriculum, const RunConfig& run,
                         const ModelInfo* model, const Registry& registry, ConfigFile* config);

}  // namespace medley
