#include <medley/plan/profile.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
#include <medley/base/json_reader.h>
#include <medley/base/newer.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kProfileFormat = 1;
constexpr std::int64_t kMostProbedRows = std::int64_t{1} << 40;  // as Prober's
constexpr std::int64_t kMostOfARow = std::int64_t{1} << 40;

ordered_json ToJson(const std::vector<Probe>& probes) {
  ordered_json list = ordered_json::array();
  for (const Probe& probe : probes) list.push_back({{"rows", probe.rows}, {"bytes", probe.bytes}});
  return list;
}

ordered_json ToJson(const ModeProfile& mode) {
  ordered_json times = ordered_json::array();
  for (const StepTime& time : mode.times) times.push_back({{"rows", time.rows}, {"ms", time.milliseconds}});
  ordered_json work = ordered_json::array();
  for (const CountedWork& one : mode.work)
    work.push_back({{"rows", one.rows}, {"operations", one.operations}});
  return {{"mode", ModeName(mode.way.mode)},
          RecomputedMember(mode.way.recomputed),
          {"whole", ToJson(mode.whole)},
          {"pieces", ToJson(mode.pieces)},
          {"times", times},
          {"work", work},
          {"saved_per_row", mode.saved_per_row},
          {"forwards", mode.forwards},
          {"more_than", mode.more_than},
          {"saved_by_pass", mode.saved_by_pass},
          {"gradients_at_peak", {{"whole", mode.gradients_whole}, {"pieces", mode.gradients_pieces}}}};
}

template <typename Row>
void RequireRising(const std::vector<Row>& rows, const char* name) {
  const auto falls =
      std::ranges::adjacent_find(rows, [](const Row& a, const Row& b) { return a.rows >= b.rows; });
  if (falls != rows.end())
    throw std::out_of_range(std::string(name) + " has " + std::to_string((falls + 1)->rows) + " rows after " +
                            std::to_string(falls->rows));
}

std::vector<Probe> ProbesOf(const ordered_json& mode, const char* name) {
  std::vector<Probe> probes;
  for (const ordered_json& probe : mode.at(name))
    probes.push_back({CountOf(probe, "rows", 1, kMostProbedRows), CountOf(probe, "bytes")});
  RequireRising(probes, name);
  return probes;
}

std::vector<StepTime> TimesOf(const ordered_json& mode) {
  std::vector<StepTime> times;
  for (const ordered_json& time : mode.at("times")) {
    constexpr double kMost = 1e9;
    const double milliseconds = time.at("ms").get<double>();
    if (!(milliseconds >= 0 && milliseconds <= kMost))
      throw std::out_of_range("ms is " + time.at("ms").dump());
    times.push_back({CountOf(time, "rows", 1, kMostProbedRows), milliseconds});
  }
  RequireRising(times, "times");
  return times;
}

// The first profiles had none.
std::vector<CountedWork> WorkOf(const ordered_json& mode) {
  std::vector<CountedWork> work;
  if (!mode.contains("work")) return work;
  for (const ordered_json& one : mode.at("work"))
    work.push_back(
        {CountOf(one, "rows", 1, kMostProbedRows), CountOf(one, "operations", 0, kMostOperations)});
  RequireRising(work, "work");
  return work;
}

// A mode that was measured in part would be no mode, and nobody would know.
void RequireMeasured(const ModeProfile& mode) {
  const bool nothing = mode.whole.empty() && mode.pieces.empty();
  if (mode.measured() ? mode.forwards > 0 : nothing && mode.more_than > 0) return;
  throw std::out_of_range(mode.way.Words() + " has " + std::to_string(mode.whole.size()) + " sizes whole, " +
                          std::to_string(mode.pieces.size()) + " in pieces and " +
                          std::to_string(mode.forwards) + " forwards, and did not overflow");
}

// Figures to show, which decide nothing. A profile that has none is as good.
void AddDetails(const ordered_json& json, ModeProfile& profile) {
  if (json.contains("saved_by_pass")) {
    const ordered_json& saved = json.at("saved_by_pass");
    for (const auto& [pass, bytes] : saved.items())
      profile.saved_by_pass[pass] = CheckedCount(bytes, pass, 0, kMostOfARow);
  }
  if (!json.contains("gradients_at_peak")) return;
  profile.gradients_whole = CountOf(json.at("gradients_at_peak"), "whole");
  profile.gradients_pieces = CountOf(json.at("gradients_at_peak"), "pieces");
}

ModeProfile ModeOf(const ordered_json& json) {
  ModeProfile profile{.way = WayOf(json),
                      .whole = ProbesOf(json, "whole"),
                      .pieces = ProbesOf(json, "pieces"),
                      .times = TimesOf(json),
                      .saved_per_row = CountOf(json, "saved_per_row", 0, kMostOfARow),
                      .forwards = CountOf(json, "forwards"),
                      .more_than = CountOf(json, "more_than")};
  profile.work = WorkOf(json);
  AddDetails(json, profile);
  RequireMeasured(profile);
  return profile;
}

TaskProfile TaskOf(const ordered_json& json) {
  TaskProfile profile{.key = json.at("key"),
                      .gradients = CountOf(json, "gradients"),
                      .constants = CountOf(json, "constants"),
                      .held = CountOf(json, "held"),
                      .batch_per_row = CountOf(json, "batch_per_row", 0, kMostOfARow),
                      .contract = CountOf(json, "contract"),
                      .modes = {}};
  if (json.contains("cache")) profile.cache = CountOf(json, "cache");
  if (json.contains("shared")) {
    for (const auto& [table, bytes] : json.at("shared").items())
      profile.shared[table] = CheckedCount(bytes, table, 0, profile.constants);
  }
  // The first profiles had none: as much as a copy takes.
  profile.rebuilding = json.contains("rebuilding") ? CountOf(json, "rebuilding") : profile.constants;
  if (json.contains("layers"))
    profile.layers = static_cast<int>(CountOf(json, "layers", 0, RecomputedLayers::kMost));
  for (const ordered_json& json_mode : json.at("modes")) {
    ModeProfile mode = ModeOf(json_mode);
    if (profile.Find(mode.way) != nullptr) throw std::out_of_range(mode.way.Words() + " stands there twice");
    profile.modes.push_back(std::move(mode));
  }
  return profile;
}

Profile ProfileOf(const ordered_json& json) {
  if (json.at("format") != kProfileFormat)
    throw std::out_of_range("format is " + json.at("format").dump() + ", expected " +
                            std::to_string(kProfileFormat));
  const ordered_json& floor = json.at("floor");
  Profile profile{.key = json.at("key"),
                  .floor = {.weights = CountOf(floor, "weights"),
                            .optimizer = CountOf(floor, "optimizer"),
                            .references = floor.contains("references") ? CountOf(floor, "references") : 0,
                            .workspace = CountOf(floor, "other")},
                  .gradients = CountOf(json, "gradients"),
                  .tasks = {}};
  for (const auto& [name, task] : json.at("tasks").items()) profile.tasks[FormId(name)] = TaskOf(task);
  return profile;
}

// What rows of this number take, through what was found for some: below the first in proportion to them.
template <typename Found, typename Take>
double ByLines(const std::vector<Found>& found, std::int64_t rows, const Take& take) {
  if (found.empty()) return 0;
  if (found.size() == 1 || rows <= found.front().rows)
    return take(found.front()) * static_cast<double>(rows) / static_cast<double>(found.front().rows);
  auto right =
      std::find_if(found.begin() + 1, found.end(), [&](const Found& one) { return one.rows >= rows; });
  if (right == found.end()) --right;
  const Found &a = *(right - 1), &b = *right;
  const double slope = (take(b) - take(a)) / static_cast<double>(b.rows - a.rows);
  return take(a) + std::max(slope, 0.0) * static_cast<double>(rows - a.rows);
}

std::string Value(const ordered_json& key, const std::string& name) {
  if (!key.is_object() || !key.contains(name)) return "nothing";
  const ordered_json& value = key.at(name);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::pair<std::string, ordered_json> RecomputedMember(const std::optional<RecomputedLayers>& recomputed) {
  if (!recomputed) return {"recompute_every", -1};
  if (const std::optional<int> every = recomputed->every()) return {"recompute_every", *every};
  return {"recompute_layers", recomputed->Fraction()};
}

Way WayOf(const ordered_json& json) {
  const auto mode = ParseMode(json.at("mode").get<std::string>());
  if (!mode) throw std::out_of_range("mode is " + json.at("mode").dump());
  if (!json.contains("recompute_layers"))
    return {*mode, static_cast<int>(CountOf(json, "recompute_every", 0, RecomputedLayers::kMost))};
  const auto layers = ParseRecomputedLayers(json.at("recompute_layers").get<std::string>());
  if (!layers) throw std::out_of_range("recompute_layers is " + json.at("recompute_layers").dump());
  return {*mode, *layers};
}

double ModeProfile::Milliseconds(std::int64_t rows) const {
  return ByLines(times, rows, [](const StepTime& time) { return time.milliseconds; });
}

double ModeProfile::Operations(std::int64_t rows) const {
  return ByLines(work, rows, [](const CountedWork& one) { return static_cast<double>(one.operations); });
}

std::int64_t TablesTogether::Add(const TaskProfile& profile) {
  std::int64_t bytes = profile.constants;
  for (const auto& [table, size] : profile.shared) {
    if (!there_.insert(table).second) bytes -= size;
  }
  return std::max<std::int64_t>(0, bytes);
}

ModeProfile* TaskProfile::Find(const Way& way) {
  return const_cast<ModeProfile*>(std::as_const(*this).Find(way));
}

const ModeProfile* TaskProfile::Find(const Way& way) const {
  const auto found = std::ranges::find(modes, way, &ModeProfile::way);
  return found == modes.end() ? nullptr : &*found;
}

ordered_json ToJson(const Profile& profile) {
  ordered_json tasks = ordered_json::object();
  for (const auto& [form, task] : profile.tasks) {
    ordered_json modes = ordered_json::array();
    for (const ModeProfile& mode : task.modes) modes.push_back(ToJson(mode));
    ordered_json& json = tasks[form.text()];
    json = {{"key", task.key},
            {"gradients", task.gradients},
            {"constants", task.constants},
            {"rebuilding", task.rebuilding},
            {"held", task.held},
            {"batch_per_row", task.batch_per_row},
            {"contract", task.contract},
            {"layers", task.layers},
            {"modes", modes}};
    if (!task.shared.empty()) json["shared"] = task.shared;
    if (task.cache > 0) tasks[form.text()]["cache"] = task.cache;
  }
  ordered_json floor = {{"weights", profile.floor.weights},
                        {"optimizer", profile.floor.optimizer},
                        {"other", profile.floor.workspace}};
  if (profile.floor.references > 0) floor["references"] = profile.floor.references;
  return {{"format", kProfileFormat},
          {"key", profile.key},
          {"floor", floor},
          {"gradients", profile.gradients},
          {"tasks", tasks}};
}

Profile ProfileFromJson(const ordered_json& json, const std::filesystem::path& file) {
  RefuseNewer(json, "format", kProfileFormat, DisplayPath(file), "make one: medley plan CONFIG --out DIR");
  try {
    return ProfileOf(json);
  } catch (const std::exception& error) {
    throw InputError(DisplayPath(file) + " is no profile of medley's (" + error.what() +
                     "). Remove it, or make one: medley plan CONFIG --out DIR");
  }
}

Profile ReadProfile(const std::filesystem::path& file) {
  return ProfileFromJson(ReadJson(ReadFile(file), DisplayPath(file)), file);
}

std::string KeyDifferences(const ordered_json& before, const ordered_json& now) {
  std::vector<std::string> names;
  for (const ordered_json* key : {&before, &now}) {
    if (!key->is_object()) continue;
    for (const auto& [name, value] : key->items()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
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
