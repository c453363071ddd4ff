#include <medley/plan/run_planner.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/memory/meter.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plan/peak_prediction.h>
#include <medley/plan/profile_key.h>
#include <medley/report/table.h>
#include <medley/run/validate.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kFarAbove = 16;  // times the largest probe

std::int64_t RoomForProbes(const RunPlanner::Setting& setting, at::Device device) {
  if (setting.probe_bytes > 0) return setting.probe_bytes;
  return std::max<std::int64_t>(0, setting.budget - ReadMemory(device).now);
}

// Whether a plan that was made for `planned` is one for `asked` too: it may have more tasks, which the
// weights named once.
bool Covers(const ordered_json& planned, const ordered_json& asked) {
  if (!planned.is_object() || !planned.contains("tasks")) return false;
  for (const auto& [key, value] : asked.items()) {
    if (key != "tasks" && planned.value(key, ordered_json()) != value) return false;
  }
  for (const auto& [task, request] : asked.at("tasks").items()) {
    if (planned.at("tasks").value(task, ordered_json()) != request) return false;
  }
  return true;
}

}  // namespace

RunPlanner::RunPlanner(const Subject& subject, Setting setting, Console& console)
    : subject_(subject),
      setting_(std::move(setting)),
      console_(console),
      prober_(subject.model, subject.executor, subject.device,
              static_cast<std::uint64_t>(subject.config.seed), RoomForProbes(setting_, subject.device),
              setting_.probe_limit) {
  profile_.key =
      RunProfileKey(subject.config, subject.model, subject.model_build, subject.tokenizer, subject.device);
}

RunPlanner::Setting RunPlanner::SettingOf(const RunConfig& config, const Budget& budget, at::Device device) {
  Setting setting{.budget = budget.bytes, .budget_words = config.budget, .machine = budget.total};
  if (!device.is_cpu()) return setting;
  setting.probe_limit = budget.free;
  setting.probe_bytes = std::max<std::int64_t>(1, budget.free - ReadMemory(device).now);
  return setting;
}

ordered_json RunPlanner::Asked() const {
  return AskedJson(subject_.config, subject_.host, subject_.device, requests_, setting_.budget_words,
                   profile_.key);
}

void RunPlanner::UseProfile(const fs::path& file) {
  Profile profile = ReadProfile(file);
  const std::string different = KeyDifferences(profile.key, profile_.key);
  if (!different.empty()) {
    throw InputError(DisplayPath(file) + " was measured for another run: " + different +
                     ". Leave --profile out, and this run is measured anew");
  }
  profile_ = std::move(profile);
}

void RunPlanner::TakeUp(const fs::path& directory, fs::path file) {
  if (file.empty()) file = directory / kPlanFile;
  try {
    if (fs::exists(directory / kProfileFile)) {
      Profile profile = ReadProfile(directory / kProfileFile);
      const std::string different = KeyDifferences(profile.key, profile_.key);
      if (different.empty()) {
        profile_ = std::move(profile);
      } else {
        console_.Say("the run's profile no longer holds (" + different + "); its tasks are measured anew");
      }
    }
    if (!fs::exists(file)) return;
    const ordered_json json = ReadJson(ReadFile(file), DisplayPath(file));
    plan_ = PlanFromJson(json, DisplayPath(file));
    planned_for_ = json.value("asked", ordered_json());
    planning_ = json.value("planning", ordered_json());
  } catch (const InputError& error) {
    console_.Warn(std::string(error.what()) + ". The run is planned anew");
  }
}

// A task may keep tensors of its own, which a plan made before it is loaded must know.
LoadedTask& RunPlanner::Loaded(const Form& form, TaskProfile& profile) {
  if (LoadedTask* loaded = subject_.host.Find(form.id)) return *loaded;
  const std::int64_t before = ReadMemory(subject_.device).now;
  LoadedTask& loaded = subject_.host.Get(form);
  profile.held = ReadMemory(subject_.device).now - before;
  return loaded;
}

// Where it throws it is known whose fault that is, and nothing of the form's profile is kept.
template <typename Measure>
auto RunPlanner::Blaming(const FormId& form, const Measure& measure) {
  try {
    return measure();
  } catch (...) {
    failed_ = form;
    profile_.tasks.erase(form);
    throw;
  }
}

void RunPlanner::CheckContract(LoadedTask& task, TaskProfile* profile) {
  if (prober_.CheckContract(task, profile)) return;
  console_.Warn(
      "task " + task.info().name +
      " is not held against its spec: that runs all its passes at once, for which there is no room on " +
      subject_.device.str() + ". A larger budget checks it");
}

// Measures the ways that the profile lacks. False where it has them all.
bool RunPlanner::MeasureTask(const TaskRequest& request, const std::vector<Way>& ways) {
  return Blaming(request.form.id, [&] { return MeasureLacking(request, ways); });
}

bool RunPlanner::MeasureLacking(const TaskRequest& request, const std::vector<Way>& ways) {
  TaskProfile& profile = profile_.tasks[request.form.id];
  ordered_json key = TaskProfileKey(subject_.host, request.form);
  if (profile.key != key) profile = {};
  const std::size_t before = profile.modes.size();
  for (const Way& way : ways) {
    if (profile.Find(way) != nullptr) continue;
    if (measured_.empty())
      console_.Say("measuring what the tasks take: a few steps of each, whose gradients are dropped");
    measured_.insert(request.form.id);
    LoadedTask& task = Loaded(request.form, profile);
    if (profile.modes.empty()) CheckContract(task, &profile);
    // Where a step has several draws, also all rows together may find gradients.
    const std::int64_t most_rows = subject_.config.draws_per_step > 1 ? 0 : request.rows;
    prober_.Measure(task, ExecutionIn(way, request.form), profile, most_rows);
  }
  profile.key = std::move(key);
  return profile.modes.size() > before;
}

void RunPlanner::MeasureFirst(const TaskRequest& request) {
  const VariantInfo& variant = subject_.host.Variant(request.form);
  MeasureTask(request, setting_.all_ways ? AllWays(request, variant) : FirstWays(request, variant));
}

void RunPlanner::MeasureFloor() {
  MemoryLedger& floor = profile_.floor;
  std::int64_t constants = 0;
  for (const auto& [form, profile] : profile_.tasks) {
    if (const LoadedTask* task = subject_.host.Find(form))
      constants += task->ConstantBytes(subject_.device) + profile.held;
  }
  floor.weights = ParameterBytes(subject_.model.parameters(), subject_.device);
  floor.optimizer = subject_.optimizer.StateBytes();
  floor.workspace = std::max<std::int64_t>(
      0, ReadMemory(subject_.device).now - constants - floor.weights - floor.optimizer);
  profile_.gradients = TrainedBytes(subject_.model.parameters());
}

// Ways that nobody asked for may be what fits, or what a refusal should name. Where not even the floor fits,
// it names no task, and the budget to name is one for all of them.
bool RunPlanner::MeasureRefused(const DoesNotFit& refusal, const Requests& requests) {
  bool measured = false;
  for (const TaskRequest& request : requests) {
    for (const Refusal& refused : refusal.refusals()) {
      if (refused.form && *refused.form != request.form.id) continue;
      measured = MeasureTask(request, AllWays(request, subject_.host.Variant(request.form))) || measured;
    }
  }
  return measured;
}

// Where rows are cut, another way with as little work may need fewer pieces.
bool RunPlanner::MeasurePieces(const Plan& plan, const Requests& requests) {
  bool measured = false;
  for (const TaskRequest& request : requests) {
    const PlannedTask& entry = *plan.Find(request.form.id);
    if (entry.micro_rows == entry.rows || request.micro_rows > 0) continue;
    measured = MeasureTask(request, CheapestWays(request, subject_.host.Variant(request.form))) || measured;
  }
  return measured;
}

// As if the tables of the planned tasks were the model's.
Profile RunPlanner::BesideThePlanned() const {
  Profile profile = profile_;
  profile.floor.workspace += plan_.floor.constants;
  return profile;
}

PlanSetting RunPlanner::SettingForPlan() const {
  PlanSetting setting = PlanSettingOf(subject_.config, subject_.device, setting_.budget);
  setting.machine = setting_.machine;
  return setting;
}

Plan RunPlanner::Solve(const Requests& requests, bool beside_others) {
  PlanSetting setting = SettingForPlan();
  setting.drops_tables = beside_others && plan_.drops_tables;
  while (true) {
    MeasureFloor();
    try {
      Plan plan = MakePlan(beside_others ? BesideThePlanned() : profile_, requests, setting);
      if (!MeasurePieces(plan, requests)) return plan;
    } catch (const DoesNotFit& refusal) {
      if (MeasureRefused(refusal, requests)) continue;
      if (setting.drops_tables || requests.size() < 2) throw;
      setting.drops_tables = true;  // which costs time in every draw, so only where nothing else fits
    }
  }
}

std::int64_t RunPlanner::LargestProbe(const PlannedTask& entry) const {
  const ModeProfile& mode = *profile_.tasks.at(entry.form).Find(entry.way);
  return PeakLines(entry.micro_rows < entry.rows ? mode.pieces : mode.whole).largest_probe();
}

// Runs a step of the planned size where that was not measured. False where nothing was to be done.
//
// Once a task and mode: what such a step takes above its line becomes a probe, and the rows that fit then lie
// below it, where the chord is safe.
bool RunPlanner::Confirm(const Plan& plan) {
  bool ran = false;
  for (const PlannedTask& entry : plan.entries) {
    // A task of a stored profile is confirmed by training itself, unless it was measured for far fewer rows.
    const bool stored = measured_.count(entry.form) == 0;
    if (entry.confirmed || (stored && entry.micro_rows <= kFarAbove * LargestProbe(entry))) continue;
    if (!confirmed_.emplace(entry.form, entry.way).second) continue;
    const Form& form = subject_.forms.At(entry.form);
    Execution execution = ExecutionIn(entry.way, form);
    execution.micro_rows = entry.micro_rows < entry.rows ? entry.micro_rows : 0;
    Blaming(form.id, [&] {
      prober_.Confirm(subject_.host.Get(form), execution, entry.micro_rows, profile_.tasks.at(form.id));
    });
    ran = true;
  }
  return ran;
}

Execution RunPlanner::ExecutionIn(const Way& way, const Form& form) {
  return {.way = way, .micro_rows = 0, .term_weights = form.settings.terms};
}

Plan RunPlanner::PlanMeasured(const Requests& requests, bool beside_others) {
  Plan plan = Solve(requests, beside_others);
  while (Confirm(plan)) plan = Solve(requests, beside_others);
  prober_.ForgetRows();
  return plan;
}

// Tasks may fail at any time while they are measured: without them it begins again, with what is known by
// then.
Plan RunPlanner::PlanWhatCanBeMeasured(Requests requests) {
  while (true) {
    failed_.reset();
    try {
      for (const TaskRequest& request : requests) MeasureFirst(request);
      return PlanMeasured(requests, /*beside_others=*/false);
    } catch (const Interrupted&) {
      throw;
    } catch (const c10::AcceleratorError&) {
      throw;  // no task's fault
    } catch (const std::exception& error) {
      if (!failed_ || subject_.config.on_task_error != "drop") throw;
      console_.Warn("the task " + failed_->text() + " has no plan: " + error.what());
      std::erase_if(requests, [&](const TaskRequest& request) { return request.form.id == *failed_; });
    }
  }
}

// Free memory changes from start to start: a plan for what was free holds while it fits.
bool RunPlanner::StillHolds() const {
  if (!Covers(planned_for_, Asked())) return false;
  for (const PlannedTask& entry : plan_.entries) {
    if (entry.predicted_peak + plan_.data_bytes + entry.ledger.margin > setting_.budget) return false;
  }
  return true;
}

const Plan& RunPlanner::PlanRun(const std::vector<Form>& forms) {
  const auto start = std::chrono::steady_clock::now();
  requests_.clear();
  for (const Form& form : forms) requests_.push_back(RequestFor(form));
  if (StillHolds()) return plan_;
  plan_ = PlanWhatCanBeMeasured(requests_);
  planned_for_ = Asked();
  planning_ = {{"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()},
               {"steps", prober_.steps()},
               {"overflows", prober_.overflows()}};
  taken_up_ = false;
  return plan_;
}

TaskRequest RunPlanner::RequestFor(const Form& form) const {
  return RequestOf(form, subject_.host.Variant(form));
}

const Plan& RunPlanner::PlanForm(const Form& form) {
  const TaskRequest request = RequestFor(form);
  const std::string& name = form.id.text();
  if (plan_.Find(form.id) != nullptr) {
    const ordered_json asked = AskedJson(subject_.config, subject_.host, subject_.device, {request},
                                         setting_.budget_words, profile_.key);
    if (planned_for_.is_object() &&
        planned_for_.at("tasks").value(name, ordered_json()) == asked.at("tasks").at(name))
      return plan_;
    std::erase_if(plan_.entries, [&](const PlannedTask& entry) { return entry.form == form.id; });
  }
  try {
    MeasureFirst(request);
    Plan alone = PlanMeasured({request}, /*beside_others=*/true);
    if (request.rows == 0 && alone.data_bytes > plan_.data_bytes)
      alone = PlanMeasured({WithRowsThatMayWait(request)}, /*beside_others=*/true);
    Join(alone);
  } catch (...) {
    prober_.ForgetRows();
    throw;
  }
  requests_.push_back(request);
  ordered_json asked = Asked();
  const ordered_json before = planned_for_.is_object() ? planned_for_.at("tasks") : ordered_json::object();
  for (const auto& [other, was] : before.items()) {
    if (!asked["tasks"].contains(other)) asked["tasks"][other] = was;
  }
  planned_for_ = std::move(asked);
  return plan_;
}

// As many as have room where the others' rows wait: those fill the rest of the budget.
TaskRequest RunPlanner::WithRowsThatMayWait(TaskRequest request) const {
  const PlanSetting setting = SettingForPlan();
  const std::int64_t row = setting.waiting_draws * profile_.tasks.at(request.form.id).batch_per_row;
  request.rows = std::max<std::int64_t>(1, plan_.data_bytes / std::max<std::int64_t>(1, row));
  return request;
}

// The others' rows stay; what lives between steps is more by the tables of the added task.
void RunPlanner::Join(const Plan& added) {
  Plan joined = plan_;
  joined.floor.constants += added.floor.constants;
  joined.data_bytes = std::max(plan_.data_bytes, added.data_bytes);
  std::vector<Refusal> refusals;
  for (PlannedTask& other : joined.entries) {
    other.predicted_peak += added.floor.constants;
    const std::int64_t taken = other.predicted_peak + joined.data_bytes + other.ledger.margin;
    other.share_of_budget = static_cast<double>(taken) / static_cast<double>(setting_.budget);
    const std::int64_t missing = taken - setting_.budget;
    if (missing <= 0) continue;
    refusals.push_back({.form = other.form,
                        .missing = missing,
                        .change = "budget=" + std::to_string(setting_.budget + missing),
                        .words = "task " + other.form.text() +
                                 ", as it is planned, would no longer fit beside " +
                                 added.entries.front().form.text() + ": " + FormatBytes(missing) + " (" +
                                 std::to_string(missing) + " bytes) are missing"});
  }
  if (!refusals.empty()) throw DoesNotFit(refusals.front().words, refusals);
  joined.entries.insert(joined.entries.end(), added.entries.begin(), added.entries.end());
  plan_ = std::move(joined);
}

void RunPlanner::Apply(PlanInForce& in_force, Mixer& mixer) {
  const std::int64_t room = setting_.budget - plan_.floor_bytes() - plan_.data_bytes;
  PlanSetting setting = SettingForPlan();
  setting.drops_tables = plan_.drops_tables;
  in_force.Adopt(plan_, profile_, setting);
  for (const PlannedTask& entry : plan_.entries) {
    if (!in_force.Knows(entry.form)) continue;
    const Form& form = subject_.forms.At(entry.form);
    if (in_force.IdOf(form.task) == form.id)
      mixer.SetSize(form.task, SizeOf(subject_.host.Variant(form), entry.rows));
    if (LoadedTask* loaded = subject_.host.Find(form.id); plan_.drops_tables && loaded != nullptr)
      loaded->DropConstants(subject_.device);
    const auto profile = profile_.tasks.find(form.id);
    // The check of a first draw runs all passes at once, and would not fit.
    if (profile == profile_.tasks.end() || profile->second.contract <= room - entry.tables) continue;
    LoadedTask& loaded = subject_.host.Get(form);
    if (!subject_.executor.contract().Knows(loaded)) CheckContract(loaded, nullptr);
  }
}

std::string RunPlanner::Words() const {
  if (taken_up_) return PlanTable(plan_) + "the plan of an earlier start, which still holds";
  return PlanTable(plan_) + "planned in " + FormatNumber(planning_.at("seconds").get<double>()) +
         " s, with " + std::to_string(prober_.steps()) + " measured steps";
}

std::string RunPlanner::PlanText() const {
  ordered_json plan = ToJson(plan_);
  plan["asked"] = planned_for_;
  if (!planning_.is_null()) plan["planning"] = planning_;
  return JsonText(plan, 2) + "\n";
}

void RunPlanner::Save(const fs::path& directory) const {
  ReplaceFile(directory / kProfileFile, JsonText(ToJson(profile_), 2) + "\n");
  ReplaceFile(directory / kPlanFile, PlanText());
}

}  // namespace medley
