#include <medley/run/input_record.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/base/suggest.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kMostHashed = std::int64_t{64} << 20;
constexpr const char* kContents = "xxh3_128";
constexpr const char* kListing = "xxh3_128_of_names_sizes_times";
constexpr const char* kHeaders = "xxh3_128_of_headers";
constexpr std::uint64_t kMostHeader = 16 << 20;  // as SafetensorsFile takes them

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

// Of gigabytes: what stands in front of the values of each file says which tensors they are.
std::string HeaderOf(const fs::path& file) {
  const InputFile opened(file);
  std::string bytes(sizeof(std::uint64_t), '\0');
  bytes.resize(opened.Read(0, bytes.data(), bytes.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), bytes.size());
  if (length > kMostHeader) length = kMostHeader;  // it is refused where it is read
  std::string header(length, '\0');
  header.resize(opened.Read(sizeof(length), header.data(), header.size()));
  return bytes + header + std::to_string(opened.size());
}

// Null where there are none any more.
ordered_json PretrainedWeights(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file()) continue;
    if (name.ends_with(".safetensors")) files[name] = HeaderOf(entry.path());
    if (name.ends_with(".safetensors.index.json")) files[name] = HashFile(entry.path());
  }
  std::string text;
  for (const auto& [name, what] : files) text += name + '\n' + HashText(what) + '\n';
  if (files.empty()) return nullptr;
  return {{"path", directory.string()}, {kHeaders, HashText(text)}};
}

fs::path RealPath(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real;
}

// Of what must stay; "" where the record does not say.
std::string SumOf(const ordered_json& input) {
  return input.value(kContents, "") + input.value(kListing, "");
}

}  // namespace

ordered_json InputRecord(const RunConfig& config, const Registry& registry, const fs::path& pretrained) {
  ordered_json inputs = {{"model", Input(config.model)}, {"weights", Input(config.weights)}};
  if (!config.tokenizer.empty()) inputs["tokenizer"] = Input(config.tokenizer);
  if (!config.control_text.empty()) inputs["control_text"] = Input(config.control_text);
  if (!pretrained.empty()) {
    inputs["pretrained"] = Input(pretrained / kPretrainedConfigFile);
    if (ordered_json weights = PretrainedWeights(pretrained); !weights.is_null())
      inputs["pretrained_weights"] = std::move(weights);
  }
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

std::string InputChange::Words() const { return path + " (" + name + "): XXH3-128 " + before + " -> " + now; }

std::vector<InputChange> CompareInputs(const ordered_json& before, const ordered_json& now) {
  std::vector<InputChange> inputs;
  for (const auto& [name, input] : now.items()) {
    const auto known = before.find(name);
    if (name == "weights" || known == before.end() || SumOf(*known).empty()) continue;
    inputs.push_back({name, input.value("path", ""), SumOf(*known), SumOf(input)});
  }
  return inputs;
}

void RequireSameInputs(const ordered_json& before, const ordered_json& now, const fs::path& run) {
  std::string words, command = "medley resume " + run.string();
  for (const InputChange& input : CompareInputs(before, now)) {
    if (!input.any()) continue;
    words += input.path + " (" + input.name + ") is not what the run began with (XXH3-128 " + input.before +
             ", now " + input.now + "). ";
    command += " --allow-changed " + input.path;
  }
  if (!words.empty())
    throw InputError(words + "Restore it; where it was mended, " + command +
                     " goes on with it; or start a new run with init_from");
}

std::vector<InputChange> AllowChanged(ordered_json& before, const ordered_json& now,
                                      const std::vector<fs::path>& files, const fs::path& run) {
  const std::vector<InputChange> inputs = CompareInputs(before, now);
  std::vector<InputChange> allowed;
  for (const fs::path& file : files) {
    const auto is_named = [&](const InputChange& input) { return RealPath(file) == RealPath(input.path); };
    if (std::none_of(inputs.begin(), inputs.end(), is_named)) {
      std::set<std::string> paths;
      for (const InputChange& input : inputs) paths.insert(DisplayPath(input.path));
      throw InputError("--allow-changed " + file.string() + ": " + run.string() +
                       " is not made from it. Expected one of: " + Listed(paths));
    }
    for (const InputChange& input : inputs) {
      const bool is_known = std::any_of(allowed.begin(), allowed.end(),
                                        [&](const InputChange& other) { return other.name == input.name; });
      if (is_named(input) && !is_known) allowed.push_back(input);
    }
  }
  for (const InputChange& input : allowed) before[input.name] = now.at(input.name);
  RequireSameInputs(before, now, run);
  return allowed;
}

}  // namespace medley
