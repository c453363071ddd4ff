#include <medley/memory/profile.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;

ordered_json ToJson(const std::vector<Probe>& probes) {
  ordered_json list = ordered_json::array();
  for (const Probe& probe : probes) list.push_back({{"rows", probe.rows}, {"bytes", probe.bytes}});
  return list;
}

ordered_json ToJson(const ModeProfile& mode) {
  ordered_json times = ordered_json::array();
  for (const StepTime& time : mode.times) times.push_back({{"rows", time.rows}, {"ms", time.milliseconds}});
  return {{"mode", ModeName(mode.mode)},
          {"recompute_every", mode.recompute_every},
          {"whole", ToJson(mode.whole)},
          {"pieces", ToJson(mode.pieces)},
          {"times", times},
          {"saved_per_row", mode.saved_per_row},
          {"forwards", mode.forwards},
          {"more_than", mode.more_than}};
}

// A number of bytes or rows; what is no sensible one is an exception that the caller words.
std::int64_t Count(const ordered_json& object, const char* name, std::int64_t low = 0) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const auto value = object.at(name).get<std::int64_t>();
  if (!object.at(name).is_number_integer() || value < low || value > kMost)
    throw std::out_of_range(std::string(name) + " is " + object.at(name).dump());
  return value;
}

std::vector<Probe> ProbesOf(const ordered_json& list) {
  std::vector<Probe> probes;
  for (const ordered_json& probe : list) probes.push_back({Count(probe, "rows", 1), Count(probe, "bytes")});
  return probes;
}

ModeProfile ModeOf(const ordered_json& json) {
  const auto mode = ParseMode(json.at("mode").get<std::string>());
  if (!mode) throw std::out_of_range("mode is " + json.at("mode").dump());
  ModeProfile profile{.mode = *mode,
                      .recompute_every = static_cast<int>(Count(json, "recompute_every")),
                      .whole = ProbesOf(json.at("whole")),
                      .pieces = ProbesOf(json.at("pieces")),
                      .times = {},
                      .saved_per_row = Count(json, "saved_per_row"),
                      .forwards = Count(json, "forwards"),
                      .more_than = Count(json, "more_than")};
  for (const ordered_json& time : json.at("times"))
    profile.times.push_back({Count(time, "rows", 1), time.at("ms").get<double>()});
  return profile;
}

TaskProfile TaskOf(const ordered_json& json) {
  TaskProfile profile{.key = json.at("key"),
                      .gradients = Count(json, "gradients"),
                      .constants = Count(json, "constants"),
                      .held = Count(json, "held"),
                      .batch_per_row = Count(json, "batch_per_row"),
                      .contract = Count(json, "contract"),
                      .modes = {}};
  for (const ordered_json& mode : json.at("modes")) profile.modes.push_back(ModeOf(mode));
  return profile;
}

Profile ProfileOf(const ordered_json& json) {
  if (json.at("format") != kFormat)
    throw std::out_of_range("format is " + json.at("format").dump() + ", expected " +
                            std::to_string(kFormat));
  const ordered_json& floor = json.at("floor");
  Profile profile{.key = json.at("key"),
                  .floor = {.weights = Count(floor, "weights"),
                            .optimizer = Count(floor, "optimizer"),
                            .other = Count(floor, "other")},
                  .gradients = Count(json, "gradients"),
                  .tasks = {}};
  for (const auto& [name, task] : json.at("tasks").items()) profile.tasks[name] = TaskOf(task);
  return profile;
}

std::string Value(const ordered_json& key, const std::string& name) {
  if (!key.is_object() || !key.contains(name)) return "nothing";
  const ordered_json& value = key.at(name);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

double ModeProfile::Milliseconds(std::int64_t rows) const {
  if (times.empty()) return 0;
  if (times.size() == 1 || rows <= times.front().rows)
    return times.front().milliseconds * static_cast<double>(rows) / static_cast<double>(times.front().rows);
  auto right =
      std::find_if(times.begin() + 1, times.end(), [&](const StepTime& t) { return t.rows >= rows; });
  if (right == times.end()) --right;
  const StepTime &a = *(right - 1), &b = *right;
  const double slope = (b.milliseconds - a.milliseconds) / static_cast<double>(b.rows - a.rows);
  return a.milliseconds + std::max(slope, 0.0) * static_cast<double>(rows - a.rows);
}

ModeProfile* TaskProfile::Find(Mode mode, int recompute_every) {
  return const_cast<ModeProfile*>(std::as_const(*this).Find(mode, recompute_every));
}

const ModeProfile* TaskProfile::Find(Mode mode, int recompute_every) const {
  const auto found = std::find_if(modes.begin(), modes.end(), [&](const ModeProfile& profile) {
    return profile.mode == mode && profile.recompute_every == recompute_every;
  });
  return found == modes.end() ? nullptr : &*found;
}

ordered_json ToJson(const Profile& profile) {
  ordered_json tasks = ordered_json::object();
  for (const auto& [name, task] : profile.tasks) {
    ordered_json modes = ordered_json::array();
    for (const ModeProfile& mode : task.modes) modes.push_back(ToJson(mode));
    tasks[name] = {{"key", task.key},   {"gradients", task.gradients},         {"constants", task.constants},
                   {"held", task.held}, {"batch_per_row", task.batch_per_row}, {"contract", task.contract},
                   {"modes", modes}};
  }
  return {{"format", kFormat},
          {"key", profile.key},
          {"floor",
           {{"weights", profile.floor.weights},
            {"optimizer", profile.floor.optimizer},
            {"other", profile.floor.other}}},
          {"gradients", profile.gradients},
          {"tasks", tasks}};
}

Profile ProfileFromJson(const ordered_json& json, const std::filesystem::path& file) {
  try {
    return ProfileOf(json);
  } catch (const std::exception& error) {
    throw InputError(DisplayPath(file) + " is no profile of medley's (" + error.what() +
                     "). Remove it, or make one: medley plan CONFIG --out DIR");
  }
}

Profile ReadProfile(const std::filesystem::path& file) {
  const ordered_json json = ordered_json::parse(ReadFile(file), nullptr, /*allow_exceptions=*/false);
  return ProfileFromJson(json, file);
}

std::string KeyDifferences(const ordered_json& before, const ordered_json& now) {
  std::vector<std::string> names;
  for (const ordered_json* key : {&before, &now}) {
    if (!key->is_object()) continue;
    for (const auto& [name, value] : key->items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string text;
  for (const std::string& name : names) {
    const std::string was = Value(before, name), is = Value(now, name);
    if (was != is) text += (text.empty() ? "" : "; ") + name + " " + was + " -> " + is;
  }
  return text;
}

}  // namespace medley
