#include <medley/run/input_record.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kMostHashed = std::int64_t{64} << 20;
constexpr const char* kContents = "xxh3_128";
constexpr const char* kListing = "xxh3_128_of_names_sizes_times";

struct stat InfoOf(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) ThrowFileError("look at", path, errno);
  return info;
}

std::string Line(const fs::path& path, const fs::path& name) {
  const struct stat info = InfoOf(path);
  return name.string() + '\n' + std::to_string(info.st_size) + ' ' + std::to_string(info.st_mtim.tv_sec) +
         '.' + std::to_string(info.st_mtim.tv_nsec) + '\n';
}

std::string Listing(const fs::path& path) {
  if (!fs::is_directory(path)) return Line(path, path.filename());
  std::vector<std::string> lines;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) lines.push_back(Line(entry.path(), entry.path().lexically_relative(path)));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

ordered_json Input(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored) ||
      (fs::is_regular_file(path, ignored) && InfoOf(path).st_size > kMostHashed))
    return {{"path", path.string()}, {kListing, HashText(Listing(path))}};
  return {{"path", path.string()}, {kContents, HashFile(path)}};
}

// Of both kinds; "" where the record does not say.
std::string SumOf(const ordered_json& input) {
  return input.value(kContents, "") + input.value(kListing, "");
}

}  // namespace

ordered_json InputRecord(const RunConfig& config, const Registry& registry) {
  ordered_json inputs = {{"model", Input(config.model)}, {"weights", Input(config.weights)}};
  if (!config.tokenizer.empty()) inputs["tokenizer"] = Input(config.tokenizer);
  if (!config.control_text.empty()) inputs["control_text"] = Input(config.control_text);
  for (const auto& [name, settings] : config.tasks) {
    const TaskInfo* task = registry.Find(name);
    if (task == nullptr) continue;
    for (const auto& [option, value] : settings.options) {
      const OptionInfo* info = task->FindOption(option);
      if (info == nullptr || info->kind != OptionKind::kPath) continue;
      inputs["tasks." + name + ".options." + option] = Input(std::get<std::string>(value));
    }
  }
  return inputs;
}

void RequireSameInputs(const ordered_json& before, const ordered_json& now) {
  for (const auto& [name, input] : now.items()) {
    const auto known = before.find(name);
    if (name == "weights" || known == before.end() || SumOf(*known).empty() || SumOf(*known) == SumOf(input))
      continue;
    throw InputError(input.value("path", "") + " (" + name + ") is not what the run began with (XXH3-128 " +
                     SumOf(*known) + ", now " + SumOf(input) +
                     "). Restore it, or start a new run with init_from");
  }
}

}  // namespace medley
