#include <ATen/Parallel.h>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/version.h>
#include <medley/run/run.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

ordered_json InputFile(const std::filesystem::path& path) {
  return {{"path", path.string()}, {"xxh3_128", HashFile(path)}};
}

ordered_json PluginFiles(const Run& run) {
  ordered_json plugins = ordered_json::array();
  if (!run.registry) return plugins;
  for (const PluginFile& file : run.registry->files()) {
    ordered_json tasks = ordered_json::array();
    for (const TaskInfo& task : file.tasks) tasks.push_back(task.name);
    plugins.push_back({{"path", file.path.string()}, {"build_id", file.build_id}, {"tasks", tasks}});
  }
  return plugins;
}

// "" where the record does not say.
std::string SumOf(const ordered_json& record, const std::string& input) {
  const auto pointer = ordered_json::json_pointer("/inputs/" + input + "/xxh3_128");
  return record.contains(pointer) ? record.at(pointer).get<std::string>() : "";
}

std::string PathOf(const ordered_json& record, const std::string& input) {
  return record.value(ordered_json::json_pointer("/inputs/" + input + "/path"), "");
}

void RequireSame(const ordered_json& before, const ordered_json& now, const std::string& input) {
  if (SumOf(before, input).empty() || SumOf(before, input) == SumOf(now, input)) return;
  throw InputError(PathOf(now, input) + " (" + input +
                   ") is not the file that the run began with (XXH3-128 " + SumOf(before, input) + ", now " +
                   SumOf(now, input) + "). Restore it, or start a new run with init_from");
}

std::map<std::string, std::string> BuildIds(const ordered_json& record) {
  std::map<std::string, std::string> ids;
  for (const auto& plugin : record.value("plugins", ordered_json::array())) {
    ids[plugin.value("path", "")] = plugin.value("build_id", "");
  }
  return ids;
}

}  // namespace

ordered_json RunRecord(const Run& run) {
  ordered_json record = {{"medley", std::string(Version())},
                         {"revision", std::string(GitRevision())},
                         {"compiler", std::string(Compiler())},
                         {"libtorch", std::string(Torch().version)},
                         {"device", run.device.str()},
                         {"threads", at::get_num_threads()},
                         {"seed", run.config.seed}};
  record["tokenizer_hash"] = run.tokenizer ? ordered_json(run.tokenizer->hash()) : ordered_json();
  record["inputs"] = {{"model", InputFile(run.config.model)},
                      {"tokenizer", InputFile(run.config.tokenizer)},
                      {"control_text", InputFile(run.config.control_text)},
                      {"weights", InputFile(run.config.weights)}};
  record["plugins"] = PluginFiles(run);
  return record;
}

std::vector<std::string> CompareRecord(const ordered_json& old_record, const ordered_json& now) {
  if (!old_record.is_object()) return {};
  for (const char* input : {"model", "tokenizer", "control_text"}) RequireSame(old_record, now, input);
  std::vector<std::string> changes;
  if (SumOf(old_record, "weights") != SumOf(now, "weights")) {
    changes.push_back("the weights file " + PathOf(now, "weights") +
                      " was edited; it counts from the next draw on");
  }
  for (const char* key : {"medley", "revision", "libtorch", "device", "threads"}) {
    if (old_record.value(key, ordered_json()) == now.value(key, ordered_json())) continue;
    changes.push_back(std::string(key) + ": " + old_record.value(key, ordered_json()).dump() + " -> " +
                      now.value(key, ordered_json()).dump());
  }
  const auto before = BuildIds(old_record);
  for (const auto& [path, id] : BuildIds(now)) {
    const auto found = before.find(path);
    if (found != before.end() && found->second != id)
      changes.push_back("the plugin " + path + " was built anew");
  }
  return changes;
}

}  // namespace medley
