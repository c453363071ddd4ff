#include "tools/medley/plugins_check.h"

#include <string.h>

#include <set>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/plugin/registry.h>
#include <medley/report/table.h>

#include "tools/medley/child.h"
#include "tools/medley/scratch.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What the child said is a stranger's word as soon as a plugin's code has run in it.
void TakeLine(const std::string& line, CheckResult& result) {
  const Json said = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto take = [&](const char* key, std::string& value) {
    if (said.is_object() && said.contains(key) && said[key].is_string()) value = said[key];
  };
  take("phase", result.phase);
  take("state", result.state);
  take("message", result.message);
  take("model", result.model);
  std::string not_judged;
  take("not_judged", not_judged);
  if (!not_judged.empty()) result.not_judged.push_back(not_judged);
  if (said.is_object() && said.contains("measured") && said["measured"].is_object())
    result.measured.push_back(said["measured"]);
}

void Judge(const ChildEnd& end, std::chrono::milliseconds limit, CheckResult& result) {
  if (end.out_of_time) {
    result.state = "hangs";
    result.message = "it did not end within " + FormatNumber(limit.count() / 1000.0) + " s";
  } else if (end.signal != 0) {
    const std::string how = "of signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
    result.message = result.state == "failed" ? result.message + "; then it died " + how : how;
    result.state = "died";
  } else if (result.state.empty() || end.exit_code != 0) {
    if (result.state == "failed" || result.state == "needs a config") return;
    result.state = "died";
    result.message = "it ended the process with exit code " + std::to_string(end.exit_code);
  }
}

CheckResult CheckOne(const PluginCheck& check, const fs::path& file, const std::string& kind,
                     const std::string& name) {
  const Scratch scratch;  // of the child, which may not live to remove it
  std::vector<std::string> arguments = {"medley",
                                        "check",
                                        file.string(),
                                        "--" + kind,
                                        name,
                                        "--scratch",
                                        scratch.path().string(),
                                        "--report",
                                        std::to_string(kChildReport)};
  if (!check.config.empty()) arguments.insert(arguments.end(), {"--config", check.config.string()});
  for (const fs::path& path : check.named.paths)
    arguments.insert(arguments.end(), {"--plugin-path", path.string()});
  if (check.named.allow_config) arguments.emplace_back("--allow-config-plugins");
  CheckResult result{file, kind + " " + name, "", "start", ""};
  const ChildEnd end =
      RunChild(arguments, check.limit, [&](const std::string& line) { TakeLine(line, result); });
  Judge(end, check.limit, result);
  return result;
}

void CheckFile(const PluginCheck& check, const PluginToCheck& wanted,
               const std::function<void(const CheckResult&)>& on_result) {
  const fs::path& file = wanted.file;
  const Registry registry = Registry::Scan({{file}, false, false, false});
  if (registry.files().empty()) {
    const std::vector<RejectedPlugin>& rejected = registry.rejected();
    const std::string why =
        rejected.empty() ? "no plugin is there" : rejected.front().state + ": " + rejected.front().reason;
    on_result({file, "", "failed", "scan", why});
    return;
  }
  const PluginFile& plugin = registry.files().front();
  std::set<std::string> ran;
  for (const TaskInfo& task : plugin.tasks) {
    const std::string& name = wanted.task.empty() ? task.name : wanted.task;
    if ((wanted.kind.empty() ? name : wanted.kind) != task.name) continue;
    const CheckResult result = CheckOne(check, file, "task", name);
    ran.insert(result.model);
    on_result(result);
  }
  for (const ModelInfo& model : plugin.models) {
    if (wanted.task.empty() && ran.count(model.name) == 0)
      on_result(CheckOne(check, file, "model", model.name));
  }
}

// What the child measured, as a stranger may have made it up: what has another form is passed over.
std::string MeasuredWords(const Json& measured) {
  std::string words, last;
  for (const Json& one : measured) {
    const std::string form = one.value("form", Json()).is_string() ? one["form"].get<std::string>() : "";
    if (!one.value("way", Json()).is_string() || !one.value("bytes", Json()).is_number_integer()) continue;
    words += words.empty() ? "a row takes " : form == last ? ", " : "; ";
    if (!form.empty() && form != last) words += "(" + form + ") ";
    words += one["way"].get<std::string>() + " " + FormatBytes(one["bytes"].get<std::int64_t>());
    last = form;
  }
  return Printable(words);
}

}  // namespace

std::string CheckResult::Words() const {
  std::string words =
      Printable(file.filename().string()) + (subject.empty() ? "" : ", " + subject) + ": " + state;
  if (state == "needs a config") return words + " (--config RUN): " + Printable(message);
  if (state != "ok") return words + " while in phase '" + Printable(phase) + "': " + PrintableLines(message);
  if (!model.empty()) words += " with " + Printable(model);
  if (const std::string bytes = MeasuredWords(measured); !bytes.empty()) words += "; " + bytes;
  for (const std::string& what : not_judged) words += "; not judged: " + Printable(what);
  return words;
}

Json CheckResult::ToJson() const {
  return {{"path", file.string()}, {"subject", subject}, {"state", state},       {"phase", phase},
          {"message", message},    {"model", model},     {"measured", measured}, {"not_judged", not_judged}};
}

void CheckPlugins(const PluginCheck& check, const std::function<void(const CheckResult&)>& on_result) {
  for (const PluginToCheck& plugin : check.plugins) CheckFile(check, plugin, on_result);
}

}  // namespace medley
