#include <medley/run/input_record.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_tower.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kMostHashed = std::int64_t{64} << 20;
constexpr const char* kContents = "xxh3_128";
constexpr const char* kListing = "xxh3_128_of_names_sizes_times";
constexpr const char* kSamples = "xxh3_128_of_sizes_and_samples";
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

// Of the files below a folder, sorted; of a file itself "".
std::vector<fs::path> NamesIn(const fs::path& path) {
  if (!fs::is_directory(path)) return {fs::path()};
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    std::error_code ignored;  // a link may lead to itself
    if (entry.is_regular_file(ignored)) names.push_back(entry.path().lexically_relative(path));
  }
  std::ranges::sort(names);
  return names;
}

fs::path FileOf(const fs::path& path, const fs::path& name) { return name.empty() ? path : path / name; }

std::string Listing(const fs::path& path, const std::vector<fs::path>& names) {
  std::vector<std::string> lines;
  for (const fs::path& name : names)
    lines.push_back(Line(FileOf(path, name), name.empty() ? path.filename() : name));
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// Of what cannot be opened nothing: who needs it says so.
std::string Piece(const InputFile* file, std::int64_t offset, std::size_t bytes) {
  std::string piece(bytes, '\0');
  piece.resize(file == nullptr ? 0 : file->Read(offset, piece.data(), piece.size()));
  return piece;
}
std::optional<InputFile> OpenIfPossible(const fs::path& file) try {
  return std::optional<InputFile>(std::in_place, file);
} catch (const Error&) {
  return std::nullopt;
}

// Pieces at even distances of all the bytes, one file behind the other: they tell one corpus from another
// where reading it whole would take minutes.
std::string SizesAndSamples(const fs::path& path, const std::vector<fs::path>& names) {
  constexpr std::int64_t kCount = 64;
  constexpr std::size_t kBytes = 4096;
  std::vector<std::int64_t> sizes;
  for (const fs::path& name : names) sizes.push_back(InfoOf(FileOf(path, name)).st_size);
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::string text;
  std::int64_t sample = 0, begin = 0;
  for (std::size_t i = 0; i < names.size(); begin += sizes[i++]) {
    text += names[i].string() + '\n' + std::to_string(sizes[i]) + '\n';
    const auto place = [&] { return all / kCount * sample + all % kCount * sample / kCount; };
    const auto is_here = [&] { return sample < kCount && place() < begin + sizes[i]; };
    if (!is_here()) continue;
    const std::optional<InputFile> file = OpenIfPossible(FileOf(path, names[i]));
    for (; is_here(); ++sample) text += Piece(file ? &*file : nullptr, place() - begin, kBytes);
  }
  return text;
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

ordered_json InputAt(const fs::path& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const bool is_large =
      !is_folder && fs::is_regular_file(path, ignored) && InfoOf(path).st_size > kMostHashed;
  if (!is_folder && !is_large) return {{"path", path.string()}, {kContents, HashFile(path)}};
  const std::vector<fs::path> names = NamesIn(path);
  return {{"path", path.string()},
          {kListing, HashText(Listing(path, names))},
          {kSamples, HashText(SizesAndSamples(path, names))}};
}

std::vector<std::pair<std::string, fs::path>> InputPaths(const RunConfig& config, const Registry& registry) {
  std::vector<std::pair<std::string, fs::path>> paths = {{"model", config.model},
                                                         {"weights", config.weights}};
  if (!config.tokenizer.empty()) paths.emplace_back("tokenizer", config.tokenizer);
  if (!config.control_text.empty()) paths.emplace_back("control_text", config.control_text);
  for (const auto& [name, settings] : config.tasks) {
    const TaskInfo* task = registry.Find(name);
    if (task == nullptr) continue;
    for (const auto& [option, value] : settings.options) {
      const OptionInfo* info = task->FindOption(option);
      if (info != nullptr && info->kind == OptionKind::kPath && std::holds_alternative<std::string>(value))
        paths.emplace_back("tasks." + name + ".options." + option, std::get<std::string>(value));
    }
  }
  return paths;
}

ordered_json InputRecord(const RunConfig& config, const Registry& registry, const fs::path& pretrained,
                         const fs::path& tower) {
  ordered_json inputs = ordered_json::object();
  for (const auto& [name, path] : InputPaths(config, registry)) inputs[name] = InputAt(path);
  const auto add = [&](const fs::path& folder, const std::string& name) {
    if (folder.empty()) return;
    inputs[name] = InputAt(folder / kPretrainedConfigFile);
    if (ordered_json weights = PretrainedWeights(folder); !weights.is_null())
      inputs[name + "_weights"] = std::move(weights);
  };
  add(pretrained, "pretrained");
  add(tower, "pretrained_tower");
  const fs::path rule = tower.empty() ? fs::path() : RuleFileIn(tower);
  if (!rule.empty() && FileProblem(rule).empty()) inputs["pretrained_preprocessor"] = InputAt(rule);
  return inputs;
}

std::string InputChange::Words() const { return path + " (" + name + "): XXH3-128 " + before + " -> " + now; }

std::string InputChange::MoveWords() const {
  return name + ": " + from + " is now " + path +
         (by_samples ? ", with the same sizes and the same bytes at 64 places; it was not read whole"
                     : ", with the same contents");
}

InputChange CompareInput(const std::string& name, const ordered_json& before, const ordered_json& now) {
  InputChange input{.name = name,
                    .path = now.value("path", ""),
                    .before = SumOf(before),
                    .now = SumOf(now),
                    .from = before.value("path", "")};
  const std::string samples = before.value(kSamples, "");
  if (!input.any() || !input.moved() || samples.empty() || samples != now.value(kSamples, "")) return input;
  input.before = input.now = samples;  // a copy, whose times are others
  input.by_samples = true;
  return input;
}

std::vector<InputChange> CompareInputs(const ordered_json& before, const ordered_json& now) {
  std::vector<InputChange> inputs;
  for (const auto& [name, input] : now.items()) {
    const auto known = before.find(name);
    if (name == "weights" || known == before.end() || SumOf(*known).empty()) continue;
    inputs.push_back(CompareInput(name, *known, input));
  }
  return inputs;
}

void RequireSameInputs(const ordered_json& before, const ordered_json& now, const fs::path& run) {
  std::string words, command = "medley resume " + ShellWord(run.string());
  for (const InputChange& input : CompareInputs(before, now)) {
    if (!input.any()) continue;
    words += input.path + " (" + input.name + ") is not what the run began with (XXH3-128 " + input.before +
             ", now " + input.now + "). ";
    command += " --allow-changed " + ShellWord(input.path);
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
    if (std::ranges::none_of(inputs, is_named)) {
      std::set<std::string> paths;
      for (const InputChange& input : inputs) paths.insert(DisplayPath(input.path));
      throw InputError("--allow-changed " + Printable(file) + ": " + Printable(run) +
                       " is not made from it. Expected one of: " + Listed(paths));
    }
    for (const InputChange& input : inputs) {
      const bool is_known =
          std::ranges::any_of(allowed, [&](const InputChange& other) { return other.name == input.name; });
      if (is_named(input) && !is_known) allowed.push_back(input);
    }
  }
  for (const InputChange& input : allowed) before[input.name] = now.at(input.name);
  RequireSameInputs(before, now, run);
  return allowed;
}

}  // namespace medley
