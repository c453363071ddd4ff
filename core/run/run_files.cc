#include <medley/run/run_files.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/plugin/model_file.h>
#include <medley/run/input_record.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char *kPlaces = "places", *kRunPlace = "run", *kConfigPlace = "config";

bool IsThere(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Not where only looking at it fails: whoever reads it says that.
bool IsGone(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() == fs::file_type::not_found;
}

fs::path RealPlace(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path).lexically_normal() : real;
}

// Null where there is none, or the file is not read.
ordered_json JsonOf(const fs::path& file) try { return ReadJson(ReadFile(file), ""); } catch (const Error&) {
  return nullptr;
}

// "tasks.NAME.options.OPTION" and "init_from.run", whatever dots a name has; null where nothing is there.
ordered_json* ValueAt(ordered_json& json, const std::string& key) {
  if (!json.is_object()) return nullptr;
  if (const auto found = json.find(key); found != json.end()) return &*found;
  for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    const auto below = json.find(key.substr(0, dot));
    if (below == json.end()) continue;
    if (ordered_json* value = ValueAt(*below, key.substr(dot + 1))) return value;
  }
  return nullptr;
}

std::string TextAt(ordered_json json, const std::string& key) {
  const ordered_json* value = ValueAt(json, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

bool IsOfRun(const fs::path& config) {
  const std::string name = config.filename().string();
  return name.starts_with("config.resolved.") && name.ends_with(".json");
}

// What a record says of an input, as a sum to compare with; null where it has none.
const ordered_json* InputIn(const ordered_json& record, const std::string& key) {
  const auto inputs = record.is_object() ? record.find("inputs") : record.end();
  if (!record.is_object() || inputs == record.end() || !inputs->is_object()) return nullptr;
  const auto input = inputs->find(key);
  return input != inputs->end() && input->is_object() && input->size() > 1 ? &*input : nullptr;
}

// Where it has the contents that are known. Of a file that cannot be looked at, nothing is known.
std::optional<InputChange> SameAt(const std::string& key, const ordered_json& known,
                                  const fs::path& path) try {
  InputChange found = CompareInput(key, known, InputAt(path));
  return found.any() ? std::nullopt : std::optional(std::move(found));
} catch (const Error&) {
  return std::nullopt;
} catch (const fs::filesystem_error&) {
  return std::nullopt;
}

// Of what is there, and is not the one that is looked for, or may not be looked at.
std::string OtherWords(const fs::path& place) {
  std::error_code ignored;
  const std::string problem = fs::is_directory(place, ignored) ? DirectoryProblem(place) : FileProblem(place);
  return "\n    " +
         (problem.empty() ? Printable(RealPlace(place)) + " is there, with other contents" : problem);
}

// The libraries that a record has below a path, or at it.
std::vector<fs::path> LibrariesBelow(const fs::path& path, const ordered_json& record) {
  std::vector<fs::path> libraries;
  if (!record.is_object()) return libraries;
  for (const auto& plugin : record.value("plugins", ordered_json::array())) {
    const fs::path library = plugin.value("path", "");
    if (library == path || library.parent_path() == path) libraries.push_back(library);
  }
  return libraries;
}

}  // namespace

ordered_json PlacesRecord(const fs::path& directory, const fs::path& config) {
  ordered_json places = {{kRunPlace, RunHolding(RealPlace(directory)).string()}};
  if (!config.empty()) places[kConfigPlace] = config.string();
  return places;
}

void TakePaths(const std::set<std::string>& keys, const ordered_json& now, ordered_json& config) {
  ordered_json from = now;
  for (const std::string& key : keys) {
    const ordered_json* value = ValueAt(from, key);
    ordered_json* place = ValueAt(config, key);
    if (value != nullptr && place != nullptr) *place = *value;
  }
}

void MovePlugins(const MovedFiles& moved, ordered_json& record) {
  const auto plugins = record.is_object() ? record.find("plugins") : record.end();
  if (!record.is_object() || plugins == record.end()) return;
  for (auto& plugin : *plugins) {
    const auto found = moved.plugins.find(plugin.value("path", ""));
    if (found != moved.plugins.end()) plugin["path"] = found->second;
  }
}

std::vector<std::string> MovedFiles::AllWords() const {
  std::vector<std::string> all = same;
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

RunFiles::RunFiles(const fs::path& config, std::vector<std::string> overrides, std::vector<fs::path> changed)
    : config_(config), overrides_(std::move(overrides)), changed_(std::move(changed)) {
  if (!IsOfRun(config)) {
    moved_.config = fs::absolute(config).lexically_normal();
    return;
  }
  run_ = RunHolding(RealPlace(config).parent_path());
  record_ = ReadRunRecord(RealPlace(config).parent_path());
  FindPlaces();
}

void RunFiles::FindPlaces() {
  search_.LookAround(run_);
  const fs::path run = TextAt(record_, std::string(kPlaces) + "." + kRunPlace);
  is_elsewhere_ = !run.empty() && run != run_;
  if (is_elsewhere_) search_.Moved(run, run_);
  if (const fs::path config = TextAt(record_, std::string(kPlaces) + "." + kConfigPlace); !config.empty())
    FindConfig(config);
  std::error_code ignored;
  search_.LookAround(fs::current_path(ignored));
}

// The copy nearest to the run: the other one belongs to what was copied.
void RunFiles::FindConfig(const fs::path& recorded) {
  std::vector<fs::path> places = search_.PlacesOf(recorded);
  places.insert(is_elsewhere_ ? places.end() : places.begin(), recorded);
  // Whose record may have the config's name.
  const auto is_it = [&](const fs::path& place) { return place.parent_path() != run_ && IsThere(place); };
  const auto found = std::ranges::find_if(places, is_it);
  moved_.config = found == places.end() ? recorded : *found;
  if (found == places.end()) return;
  search_.Moved(recorded.parent_path(), found->parent_path());
  search_.LookAround(found->parent_path());
}

bool RunFiles::IsGiven(const std::string& key) const {
  return std::ranges::any_of(
      overrides_, [&](const std::string& given) { return given.substr(0, given.find('=')) == key; });
}

// First as the user wrote it in the config, where that is now: its author may have mended it.
std::vector<fs::path> RunFiles::PlacesOf(const std::string& key, const fs::path& path) const {
  std::vector<fs::path> places = search_.PlacesOf(path);
  const std::string written = moved_.config.empty() ? "" : TextAt(JsonOf(moved_.config), key);
  if (written.empty()) return places;
  const fs::path first = RealPlace(moved_.config.parent_path() / written);
  std::erase(places, first);
  places.insert(places.begin(), first);
  return places;
}

void RunFiles::Take(const std::string& key, const fs::path& from, const fs::path& to) {
  const fs::path real = RealPlace(to);
  overrides_.push_back(key + "=" + real.string());
  search_.Moved(from.parent_path(), to.parent_path());
}

bool RunFiles::MayChange(const fs::path& file) const {
  return std::ranges::any_of(changed_,
                             [&](const fs::path& named) { return RealPlace(named) == RealPlace(file); });
}

void RunFiles::TakeUncompared(const std::string& key, const fs::path& from, const fs::path& to) {
  Take(key, from, to);
  moved_.uncompared.insert(key);
  moved_.words.push_back(
      key + ": " + Printable(from) + " is not there; " + Printable(RealPlace(to)) +
      " is taken for it, and no record tells what was in it: where another one is meant, name it, " + key +
      "=PATH");
}

void RunFiles::FindInput(const std::string& key, const fs::path& path) {
  const ordered_json* known = InputIn(record_, key);
  const bool is_there = !IsGone(path);
  if (is_there && (!is_elsewhere_ || known == nullptr || SameAt(key, *known, path))) return;
  std::string others;
  for (const fs::path& place : PlacesOf(key, path)) {
    if (IsGone(place)) continue;
    if (known == nullptr && IsThere(place)) return TakeUncompared(key, path, place);
    std::optional<InputChange> same = known == nullptr ? std::nullopt : SameAt(key, *known, RealPlace(place));
    if (same || MayChange(place)) {
      Take(key, path, place);
      if (!same) return;
      same->from = path.string();  // the record may be newer than the config
      moved_.same.push_back(same->MoveWords());
      return;
    }
    others += OtherWords(place);
  }
  if (is_there) return;  // with other contents, which is said where they are compared
  missing_ +=
      "\n  " + key + ": " + Printable(path) + " is not there" + others + "\n    " + search_.Words(path);
}

// Folders that a run needs only until its first checkpoint, and a lock: no record tells what is in them.
void RunFiles::FindFolder(const std::string& key, const fs::path& path) {
  if (path.empty() || !IsGone(path) || IsGiven(key)) return;
  const std::vector<fs::path> places = PlacesOf(key, path);
  const auto found = std::ranges::find_if(places, IsThere);
  if (found != places.end()) TakeUncompared(key, path, *found);  // else who needs it says so
}

void RunFiles::FindPublished(const fs::path& model, const Registry& registry) {
  Diagnostics ignored;
  for (const NamedFolder& named : NamedFoldersIn(ConfigFile(model, ignored), registry))
    FindPublished(model, named, named.is_tower ? "pretrained_tower" : "pretrained");
}

void RunFiles::FindPublished(const fs::path& model, const NamedFolder& named, const std::string& input) {
  const fs::path folder = RealPlace(named.path);
  if (!IsGone(folder)) return;
  const ordered_json* known = InputIn(record_, input);
  // As the record has it: the model's file may itself have moved since.
  const fs::path then = known == nullptr ? folder : fs::path(known->value("path", "")).parent_path();
  std::vector<fs::path> places = search_.PlacesOf(folder);
  for (fs::path& place : search_.PlacesOf(then)) places.push_back(std::move(place));
  std::string others;
  const auto found = std::ranges::find_if(places, [&](const fs::path& place) {
    const fs::path config = place / kPretrainedConfigFile;
    if (IsGone(config)) return false;
    if (known == nullptr ? IsThere(config) : SameAt(input, *known, config).has_value()) return true;
    const std::string words = OtherWords(config);
    if (others.find(words) == others.npos) others += words;
    return false;
  });
  if (found == places.end()) {
    missing_ += "\n  " + named.key + " of " + DisplayPath(model) + ": " + folder.string() + " is not there" +
                others + "\n    " + search_.Words(then) +
                "\n    To name it: write it there, and --allow-changed " + ShellWord(DisplayPath(model));
    return;
  }
  of_model_.push_back(named.key + "=" + RealPlace(*found).string());
  moved_.words.push_back(named.key + " of the model: " + Printable(folder) + " is now " +
                         Printable(RealPlace(*found)) +
                         (known == nullptr ? ", and nothing was compared" : ", with the same config.json"));
}

void RunFiles::Find(const Registry& registry) {
  if (run_.empty()) return;
  RunConfig config;
  try {
    config = ReadWrittenConfig(config_, overrides_);
  } catch (const InputError&) {
    return;  // all that is wrong with it is said where it is checked
  }
  for (const auto& [key, path] : InputPaths(config, registry)) {
    if (!IsGiven(key)) FindInput(key, path);
  }
  FindFolder("plugin_lock", config.plugin_lock);
  FindFolder("init_from.run", config.init_from.run);
  FindFolder("lora.pretrained", config.lora.pretrained);
  const auto model = std::find_if(overrides_.rbegin(), overrides_.rend(),
                                  [](const std::string& given) { return given.starts_with("model="); });
  FindPublished(model == overrides_.rend() ? config.model : fs::path(model->substr(model->find('=') + 1)),
                registry);
  if (missing_.empty()) return;
  throw InputError(DisplayPath(run_) + " is made from files that were moved or removed:" + missing_ +
                   "\nPut each, or a link to it, at one of these places, or name it: medley resume " +
                   ShellWord(DisplayPath(run_)) +
                   " KEY=FILE; and where it was mended too, with --allow-changed FILE");
}

// A config that is older than the record names a place that the record does not know: then the one that it
// has libraries of. Without a record, what has the name.
fs::path RunFiles::PlaceOfPlugins(const fs::path& path) const {
  const std::vector<fs::path> libraries = LibrariesBelow(path, record_);
  const auto has = [&](const fs::path& place) {
    if (libraries.empty() && record_.is_object()) return !LibrariesBelow(RealPlace(place), record_).empty();
    return std::ranges::all_of(libraries, [&](const fs::path& library) {
      return IsThere(library == path ? place : place / library.filename());
    });
  };
  const std::vector<fs::path> places = search_.PlacesOf(path);
  const auto found =
      std::ranges::find_if(places, [&](const fs::path& place) { return IsThere(place) && has(place); });
  return found == places.end() ? fs::path() : *found;
}

std::vector<fs::path> RunFiles::Plugins(std::vector<fs::path> paths, const std::vector<fs::path>& named) {
  if (run_.empty() || IsGiven("plugin_path")) return paths;
  std::vector<fs::path> now;
  for (const fs::path& path : paths) {
    if (!IsGone(path)) {
      now.push_back(path);
      continue;
    }
    const std::vector<fs::path> libraries = LibrariesBelow(path, record_);
    const bool brought_any = !record_.is_object() || !libraries.empty();
    const fs::path place = PlaceOfPlugins(path);
    for (const fs::path& library : libraries) {
      if (!place.empty())
        moved_.plugins[library] = RealPlace(library == path ? place : place / library.filename());
      for (const fs::path& other : named) {
        std::error_code ignored;
        const fs::path in = fs::is_directory(other, ignored) ? other / library.filename() : other;
        if (in.filename() == library.filename() && IsThere(in)) moved_.plugins[library] = RealPlace(in);
      }
    }
    if (!place.empty()) {
      now.push_back(RealPlace(place));
      search_.Moved(path, place);
      moved_.words.push_back("plugin_path: " + Printable(path) + " is now " + Printable(RealPlace(place)));
    } else if (!brought_any || !named.empty()) {
      moved_.words.push_back("plugin_path: " + Printable(path) + " is not there, and is left out");
    } else {
      throw InputError("plugin_path: " + path.string() + ", which brought plugins of " + DisplayPath(run_) +
                       ", is not there; " + search_.Words(path) +
                       ". Name where its plugins are now: --plugin-path DIR");
    }
  }
  if (now != paths) {
    ordered_json list = ordered_json::array();
    for (const fs::path& path : now) list.push_back(path.string());
    overrides_.push_back("plugin_path=" + JsonText(list));
  }
  return now;
}

}  // namespace medley
