#include <tuple>

#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/base/newer.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/shares.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr int kVersion = 2, kWithoutRamps = 1;
constexpr std::int64_t kMostCounts = std::int64_t{1} << 62;

// 128 bits as two JSON integers: the whole units, rounded down, and 2^-32 parts.
json Split(MixerTask::Owed owed) {
  return json::array({static_cast<std::int64_t>(owed >> 32), static_cast<std::int64_t>(owed & 0xffffffff)});
}

void Expect(bool good, const std::string& what) {
  if (!good)
    throw Error("the saved state of the mixer cannot be used: " + what + "; take an older checkpoint");
}

std::int64_t Count(const json& object, const char* key, std::int64_t most = kMostCounts) {
  const auto found = object.find(key);
  Expect(found != object.end() && found->is_number_integer(), std::string(key) + " is no integer");
  const auto value = found->get<std::int64_t>();
  Expect(value >= 0 && value <= most, std::string(key) + " is " + found->dump());
  return value;
}

MixerTask::Owed ReadUnits(const json& task, const char* key, std::int64_t most) {
  const auto units = task.find(key);
  const bool good = units != task.end() && units->is_array() && units->size() == 2 &&
                    (*units)[0].is_number_integer() && (*units)[1].is_number_integer();
  Expect(good, std::string(key) + " is no pair of integers");
  const auto whole = (*units)[0].get<std::int64_t>();
  const auto part = (*units)[1].get<std::int64_t>();
  Expect(whole > -most && whole < most && part >= 0 && part < kWholeShare,
         std::string(key) + " is " + units->dump());
  return (static_cast<MixerTask::Owed>(whole) << 32) + part;
}

MixerTask ReadTask(const json& saved, std::int64_t version) {
  Expect(saved.is_object() && saved.contains("name") && saved["name"].is_string(), "a task has no name");
  MixerTask task;
  task.name = saved["name"].get<std::string>();
  task.share = Count(saved, "share", kWholeShare);
  task.cards = Count(saved, "cards", kLargestUrn);
  task.owed = ReadUnits(saved, "owed", std::int64_t{1} << 48);
  task.charged = Count(saved, "charged");
  task.from = version == kWithoutRamps ? task.share : Count(saved, "from", kWholeShare);
  task.to = version == kWithoutRamps ? task.share : Count(saved, "to", kWholeShare);
  if (version != kWithoutRamps) task.asked = ReadUnits(saved, "asked", kMostCounts);
  task.rows = Count(saved, "rows");
  task.draws = Count(saved, "draws");
  return task;
}

void CheckSums(const std::vector<MixerTask>& tasks, bool urn) {
  std::int64_t shares = 0, whole = 0, cards = 0;
  MixerTask::Owed owed = 0, charged = 0;
  for (const MixerTask& task : tasks) {
    Expect(task.share > 0 || task.owed == 0, "the paused task " + task.name + " is owed something");
    shares += task.share;
    whole += task.to;
    cards += task.cards;
    owed += task.owed;
    charged += task.charged;
  }
  Expect(shares == kWholeShare && whole == kWholeShare, "the shares do not add up to 2^32");
  Expect(charged <= kMostCounts, "what tasks were charged adds up to more than a run can count");
  Expect(owed == 0, "what tasks are owed does not add up to 0");
  Expect(urn == (cards > 0), "the cards do not fit the order");
}

// What was asked since these weights hold.
void AskAsNow(std::vector<MixerTask>& tasks) {
  std::int64_t total = 0;
  for (const MixerTask& task : tasks) total += task.charged;
  for (MixerTask& task : tasks) task.asked = static_cast<MixerTask::Owed>(task.share) * total;
}

void ReadRamp(const json& saved, MixerState& state) {
  Expect(saved.contains("ramp") && saved["ramp"].is_object(), "ramp is no object");
  state.ramp.draws = Count(saved["ramp"], "draws");
  state.ramp.shape =
      static_cast<RampShape>(Count(saved["ramp"], "shape", static_cast<int>(RampShape::kCosine)));
  state.ramped = Count(saved, "ramped", state.ramp.draws);
}

bool SameMixture(const std::vector<MixerTask>& a, const std::vector<MixerTask>& b) {
  const auto active = [](const std::vector<MixerTask>& tasks) {
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> all;
    for (const MixerTask& task : tasks) {
      if (task.to > 0) all.emplace_back(task.name, task.to, task.cards);
    }
    return all;
  };
  return active(a) == active(b);
}

}  // namespace

json Mixer::Save() const {
  json tasks = json::array();
  for (const MixerTask& task : state_.tasks) {
    tasks.push_back({{"name", task.name},
                     {"share", task.share},
                     {"from", task.from},
                     {"to", task.to},
                     {"cards", task.cards},
                     {"owed", Split(task.owed)},
                     {"asked", Split(task.asked)},
                     {"charged", task.charged},
                     {"rows", task.rows},
                     {"draws", task.draws}});
  }
  return {{"version", kVersion},
          {"unit", static_cast<int>(mixture_.unit)},
          {"order", static_cast<int>(mixture_.order)},
          {"seed", state_.seed},
          {"ramp", {{"draws", state_.ramp.draws}, {"shape", static_cast<int>(state_.ramp.shape)}}},
          {"ramped", state_.ramped},
          {"urn_epoch", state_.urn_epoch},
          {"urn_drawn", state_.urn_drawn},
          {"tasks", std::move(tasks)}};
}

std::string Mixer::Load(const json& saved) {
  Expect(saved.is_object(), "it is no object");
  RefuseNewer(saved, "version", kVersion, "the saved state of the mixer", kEarlierCheckpoint);
  const std::int64_t version = Count(saved, "version");
  Expect(version == kVersion || version == kWithoutRamps,
         "it has version " + std::to_string(version) + ", this medley reads 1 and 2");
  const auto unit = static_cast<ShareUnit>(Count(saved, "unit", static_cast<int>(ShareUnit::kPasses)));
  const auto order = static_cast<DrawOrder>(Count(saved, "order", static_cast<int>(DrawOrder::kUrn)));
  Expect(saved.contains("seed") && saved["seed"].is_number_unsigned(), "seed is no integer");
  Expect(saved.contains("tasks") && saved["tasks"].is_array(), "tasks is no list");
  MixerState state;
  state.seed = saved["seed"].get<std::uint64_t>();
  state.urn_epoch = Count(saved, "urn_epoch");
  state.urn_drawn = Count(saved, "urn_drawn");
  for (const json& task : saved["tasks"]) state.tasks.push_back(ReadTask(task, version));
  if (version == kWithoutRamps) AskAsNow(state.tasks);
  if (version != kWithoutRamps) ReadRamp(saved, state);
  CheckSums(state.tasks, order == DrawOrder::kUrn);

  // An urn draws the same whatever the unit; older medleys let it have any, and counted in it.
  const bool is_urn = order == DrawOrder::kUrn && mixture_.order == DrawOrder::kUrn;
  std::string anew;
  if (is_urn && unit != mixture_.unit) {
    for (MixerTask& task : state.tasks) task.charged = 0, task.asked = 0;
    anew = "the shares delivered count from here on, in " + EnumName(mixture_.unit) +
           ": until now this run's urn counted them in " + EnumName(unit) + "; what is drawn does not change";
  }
  const bool same =
      (unit == mixture_.unit || is_urn) && order == mixture_.order && SameMixture(state.tasks, state_.tasks);
  if (same) {
    state_ = std::move(state);
    RefreshBatches();
    return anew;
  }
  // Judge by the weights that were saved, then bring in the ones that this mixer was made with.
  Mixer before = *this;
  before.mixture_.unit = unit;
  before.mixture_.order = order;
  before.state_ = std::move(state);
  before.SetMixture(mixture_);
  *this = std::move(before);
  return anew;
}

}  // namespace medley
