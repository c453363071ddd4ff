#include <ATen/Parallel.h>

#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <medley/base/cpu.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/plugin/trust.h>
#include <medley/run/run_record.h>

namespace medley {
namespace {

// Whose config.json was found elsewhere: RunFiles tells of these.
bool IsFolder(const std::string& input) { return input == "pretrained" || input == "pretrained_tower"; }

using nlohmann::ordered_json;

ordered_json PluginFiles(const Registry& registry) {
  ordered_json plugins = ordered_json::array();
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical(OwnPluginDirectory(), error);
  for (const PluginFile& file : registry.files()) {
    ordered_json tasks = ordered_json::array();
    for (const TaskInfo& task : file.tasks) {
      if (registry.FileOf(task.name).path == file.path) tasks.push_back(task.name);
    }
    ordered_json models = ordered_json::array();
    for (const ModelInfo& model : file.models) {
      if (registry.FileOfModel(model.name) == &file) models.push_back(model.name);
    }
    plugins.push_back({{"path", file.path.string()},
                       {"build_id", file.build_id},
                       {"own", file.path.parent_path() == own},
                       {"tasks", tasks},
                       {"models", models}});
  }
  return plugins;
}

// A record that was edited may have other types than those that were written.
template <typename Compare>
auto ReadingRecord(const Compare& compare) {
  try {
    return compare();
  } catch (const nlohmann::json::exception& error) {
    throw InputError(std::string("the run's run.json is damaged: ") + error.what() +
                     ". Restore it, or move it away: then nothing is compared");
  }
}

ordered_json InputsOf(const ordered_json& record) {
  const auto inputs = record.find("inputs");
  return inputs == record.end() ? ordered_json::object() : *inputs;
}

// By "task NAME" and "model NAME".
std::map<std::string, ordered_json> PluginsOf(const ordered_json& record) {
  std::map<std::string, ordered_json> plugins;
  for (const auto& plugin : record.value("plugins", ordered_json::array())) {
    for (const auto& task : plugin.value("tasks", ordered_json::array()))
      plugins.emplace("task " + task.get<std::string>(), plugin);
    for (const auto& model : plugin.value("models", ordered_json::array()))
      plugins.emplace("model " + model.get<std::string>(), plugin);
  }
  return plugins;
}

// Built anew where it was is the author's business, and so is another medley's own; another file is another
// task.
void RequireSamePlugin(const ordered_json& before, const ordered_json& now, const std::string& what) {
  if (before.value("path", "") == now.value("path", "")) return;
  if (before.value("own", false) && now.value("own", false)) return;
  const std::string id = before.value("build_id", "");
  if (!id.empty() && id == now.value("build_id", "")) return;
  throw InputError(
      "the " + what + " came from " + before.value("path", "") + " when the run began, and now from " +
      now.value("path", "") +
      ", which is another plugin. Make that one be found again (plugin_path, MEDLEY_PLUGIN_PATH), "
      "or start a new run with init_from");
}

std::vector<std::string> UsedBy(const std::string& model, const std::vector<std::string>& tasks) {
  std::vector<std::string> used = {"model " + model};
  for (const std::string& task : tasks) used.push_back("task " + task);
  return used;
}

void RequirePluginsOf(const std::vector<std::string>& used, const ordered_json& before,
                      const ordered_json& now) {
  const auto plugins_before = PluginsOf(before), plugins_now = PluginsOf(now);
  for (const std::string& what : used) {
    const auto was = plugins_before.find(what), is = plugins_now.find(what);
    if (was != plugins_before.end() && is != plugins_now.end())
      RequireSamePlugin(was->second, is->second, what);
  }
}

std::map<std::string, std::string> BuildIds(const ordered_json& record) {
  std::map<std::string, std::string> ids;
  for (const auto& plugin : record.value("plugins", ordered_json::array())) {
    ids[plugin.value("path", "")] = plugin.value("build_id", "");
  }
  return ids;
}

std::vector<std::string> Changes(const ordered_json& old_record, const ordered_json& now,
                                 const std::vector<std::string>& tasks, const std::filesystem::path& run) {
  RequireSameInputs(InputsOf(old_record), InputsOf(now), run);
  RequirePluginsOf(UsedBy(now.value("model", ""), tasks), old_record, now);
  std::vector<std::string> changes;
  for (const char* key : {"medley", "revision", "libtorch", "device", "threads"}) {
    if (old_record.value(key, ordered_json()) == now.value(key, ordered_json())) continue;
    changes.push_back(std::string(key) + ": " + JsonText(old_record.value(key, ordered_json())) + " -> " +
                      JsonText(now.value(key, ordered_json())));
  }
  const std::string cpu_before = old_record.value("cpu", ""), cpu = now.value("cpu", "");
  if (!cpu_before.empty() && cpu_before != cpu)
    changes.push_back("cpu: " + cpu_before + " -> " + cpu +
                      ": other kernels round otherwise, so bits may differ");
  const auto before = BuildIds(old_record);
  for (const auto& [path, id] : BuildIds(now)) {
    const auto found = before.find(path);
    if (found != before.end() && found->second != id)
      changes.push_back("the plugin " + path + " was built anew");
  }
  return changes;
}

}  // namespace

ordered_json RunRecord(const Run& run) {
  return {{"medley", std::string(Version())},
          {"revision", std::string(GitRevision())},
          {"compiler", std::string(Compiler())},
          {"libtorch", std::string(Torch().version)},
          {"cpu", Describe(ThisCpu())},
          {"device", run.device.str()},
          {"threads", at::get_num_threads()},
          {"seed", run.config.seed},
          {"model", run.model_file->info.name},
          {"tokenizer_hash", run.tokenizer ? run.tokenizer->hash() : ""},
          {"inputs", InputRecord(run.config, *run.registry, run.model_file->config.pretrained(),
                                 run.model_file->config.pretrained_tower())},
          {"plugins", PluginFiles(*run.registry)}};
}

std::string NewerRunWords(const std::filesystem::path& run) {
  const ordered_json record = ReadRunRecord(run);
  const auto found = record.is_object() ? record.find("medley") : record.end();
  if (found == record.end() || !found->is_string()) return "";
  const auto version = found->get<std::string>();
  if (!IsLaterVersion(version)) return "";
  return "\nThe run is of medley " + Printable(version) + ", this is " + std::string(Version()) +
         ": use that one";
}

RecordedInputs RequireRecordedInputs(ordered_json& old_record, const RunInputs& now,
                                     const std::filesystem::path& run,
                                     const std::vector<std::filesystem::path>& changed) {
  RecordedInputs recorded{.known = now.moved.uncompared};
  if (!old_record.is_object()) return recorded;
  return ReadingRecord([&] {
    const std::optional<ModelFile>& model = now.checked.model;
    const std::filesystem::path none;
    const ordered_json found =
        InputRecord(now.checked.run, now.registry, model ? model->config.pretrained() : none,
                    model ? model->config.pretrained_tower() : none);
    recorded.now = found;
    recorded.moved = MoveWords(now.moved, old_record, {{"inputs", found}});
    ordered_json inputs = InputsOf(old_record);
    recorded.allowed = AllowChanged(inputs, found, changed, run);
    old_record["inputs"] = std::move(inputs);
    recorded.known.merge(KeysOfSameInputs(old_record, found));
    if (!now.moved.plugins.empty()) recorded.known.insert("plugin_path");  // which is told of each
    return recorded;
  });
}

std::vector<std::string> MoveWords(const MovedFiles& moved, const ordered_json& old_record,
                                   const ordered_json& now) {
  std::vector<std::string> words = moved.words;
  if (!old_record.is_object()) return words;
  return ReadingRecord([&] {
    for (const InputChange& input : CompareInputs(InputsOf(old_record), InputsOf(now))) {
      if (input.moved() && !input.any() && !IsFolder(input.name)) words.push_back(input.MoveWords());
    }
    return words;
  });
}

std::set<std::string> KeysOfSameInputs(const ordered_json& old_record, const ordered_json& inputs) {
  std::set<std::string> keys;
  if (!old_record.is_object()) return keys;
  for (const InputChange& input : CompareInputs(InputsOf(old_record), inputs)) {
    if (!input.any()) keys.insert(input.name);
  }
  return keys;
}

void RequireSamePlugins(const ordered_json& old_record, const RunInputs& now) {
  if (!old_record.is_object()) return;
  ordered_json moved = old_record;
  MovePlugins(now.moved, moved);
  ReadingRecord([&] {
    RequirePluginsOf(
        UsedBy(now.checked.model->info.name, now.registry.KindsOf(now.checked.curriculum.Named())), moved,
        {{"plugins", PluginFiles(now.registry)}});
    return true;
  });
}

std::vector<std::string> CompareRecord(const ordered_json& old_record, const ordered_json& now,
                                       const std::vector<std::string>& tasks,
                                       const std::filesystem::path& run) {
  if (!old_record.is_object()) return {};
  return ReadingRecord([&] { return Changes(old_record, now, tasks, run); });
}

}  // namespace medley
