#include <medley/plan/run_planner.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/memory/meter.h>
#include <medley/plan/plan_request.h>
#include <medley/plan/plan_stages.h>
#include <medley/report/table.h>
#include <medley/run/run.h>
#include <medley/run/validate.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::int64_t RoomForProbes(const RunPlanner::Setting& setting, at::Device device) {
  if (setting.probe_bytes > 0) return setting.probe_bytes;
  return std::max<std::int64_t>(0, setting.budget - ReadMemory(device).now);
}

// Whether all but the tasks is the same.
bool IsInOneSetting(const ordered_json& planned, const ordered_json& asked) {
  if (!planned.is_object() || !planned.contains("tasks")) return false;
  if (planned.contains("balance") != asked.contains("balance")) return false;
  for (const auto& [key, value] : asked.items()) {
    if (key != "tasks" && planned.value(key, ordered_json()) != value) return false;
  }
  return true;
}

// Whether a plan that was made for `planned` is one for `asked` too: it may have more tasks, which the
// weights named once.
bool Covers(const ordered_json& planned, const ordered_json& asked) {
  if (!IsInOneSetting(planned, asked)) return false;
  for (const auto& [task, request] : asked.at("tasks").items()) {
    if (planned.at("tasks").value(task, ordered_json()) != request) return false;
  }
  return true;
}

}  // namespace

RunPlanner::RunPlanner(const FormMeasurer::Parts& parts, const Curriculum& curriculum, Setting setting,
                       Console& console)
    : curriculum_(curriculum),
      setting_(std::move(setting)),
      console_(console),
      measurer_(parts, RoomForProbes(setting_, parts.device), setting_.probe_limit, setting_.all_ways,
                console) {}

RunPlanner::Setting RunPlanner::SettingOf(const Run& run) {
  const Budget& budget = run.budget;
  Setting setting{.budget = budget.bytes,
                  .budget_words = run.config.budget,
                  .machine = budget.total,
                  .processes = run.cluster->place().size};
  if (!run.device.is_cpu()) return setting;
  setting.probe_limit =
      std::max(budget.bytes, (budget.free - budget.kept_back) / run.cluster->place().local_size);
  setting.probe_bytes = std::max<std::int64_t>(1, setting.probe_limit - ReadMemory(run.device).now);
  return setting;
}

ordered_json RunPlanner::Asked() const {
  return AskedJson(parts().config, parts().host, parts().device, now_.requests, setting_.budget_words,
                   profile().key);
}

void RunPlanner::UseProfile(const fs::path& file) {
  Profile measured = ReadProfile(file);
  const std::string different = KeyDifferences(measured.key, profile().key);
  if (!different.empty()) {
    throw InputError(DisplayPath(file) + " was measured for another run: " + different +
                     ". Leave --profile out, and this run is measured anew");
  }
  measurer_.Use(std::move(measured));
}

void RunPlanner::TakeUp(const fs::path& directory, fs::path file) {
  if (file.empty()) file = directory / kPlanFile;
  try {
    if (fs::exists(directory / kProfileFile)) {
      Profile measured = ReadProfile(directory / kProfileFile);
      const std::string different = KeyDifferences(measured.key, profile().key);
      if (different.empty()) {
        measurer_.Use(std::move(measured));
      } else {
        console_.Say("the run's profile no longer holds (" + different + "); its tasks are measured anew");
      }
    }
    if (!fs::exists(file)) return;
    const ordered_json json = ReadJson(ReadFile(file), DisplayPath(file));
    now_.plan = PlanFromJson(json, DisplayPath(file));
    now_.planned_for = json.value("asked", ordered_json());
    now_.planning = json.value("planning", ordered_json());
  } catch (const InputError& error) {
    console_.Warn(std::string(error.what()) + ". The run is planned anew");
  }
}

// Of those that are planned.
TablesTogether RunPlanner::TablesOfThePlanned() const {
  TablesTogether tables;
  for (const PlannedTask& entry : now_.plan.entries) {
    const auto known = profile().tasks.find(entry.form);
    if (known != profile().tasks.end()) tables.Add(known->second);
  }
  return tables;
}

// As if the tables of the planned tasks were the model's.
Profile RunPlanner::BesideThePlanned(const Requests& requests) const {
  Profile beside = profile();
  beside.floor.workspace += now_.plan.floor.constants;
  TablesTogether tables = TablesOfThePlanned();
  for (const TaskRequest& request : requests) {
    TaskProfile& task = beside.tasks.at(request.form.id);
    if (task.shared.empty() || now_.plan.drops_tables) continue;
    task.constants = tables.Add(task);
    task.shared.clear();
  }
  return beside;
}

PlanSetting RunPlanner::SettingForPlan() const {
  PlanSetting setting = PlanSettingOf(parts().config, parts().device, setting_.budget);
  setting.machine = setting_.machine;
  return setting;
}

Plan RunPlanner::Solve(const Requests& requests, bool beside_others) {
  PlanSetting setting = SettingForPlan();
  setting.drops_tables = beside_others && now_.plan.drops_tables;
  // The usual rows are the run's, from its beginning on.
  if (beside_others || IsInOneSetting(now_.planned_for, Asked())) setting.usual_rows = now_.plan.usual_rows;
  if (beside_others) {
    if (setting.usual_rows == 0) setting.balance = 0;
    setting.data_bytes = now_.plan.data_bytes;
    setting.cache_bytes = now_.plan.cache_bytes;
  }
  while (true) {
    measurer_.MeasureFloor();
    try {
      Plan plan = MakePlan(beside_others ? BesideThePlanned(requests) : profile(), requests, setting);
      if (!measurer_.MeasureBelow(plan, requests)) return plan;
    } catch (const DoesNotFit& refusal) {
      if (measurer_.MeasureRefused(refusal, requests)) continue;
      if (setting.drops_tables || requests.size() < 2) throw;
      setting.drops_tables = true;  // which costs time in every draw, so only where nothing else fits
    }
  }
}

Plan RunPlanner::PlanMeasured(const Requests& requests, bool beside_others) {
  Plan plan = Solve(requests, beside_others);
  while (measurer_.Confirm(plan)) plan = Solve(requests, beside_others);
  measurer_.ForgetRows();
  return plan;
}

// The task that failed in it and that the run may go on without.
template <typename Work>
std::optional<RunPlanner::FailedForm> RunPlanner::FailsIn(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::AcceleratorError&) {
    throw;  // no task's fault
  } catch (const std::exception& error) {
    const std::optional<FormId> failed = measurer_.TakeFailed();
    if (!failed || parts().config.on_task_error != "drop") throw;
    return FailedForm{*failed, error.what()};
  }
}

// Tasks may fail at any time while they are measured: without them it begins again, with what is known by
// then.
Plan RunPlanner::PlanWhatCanBeMeasured(Requests requests) {
  while (true) {
    Plan plan;
    const std::optional<FailedForm> failed = FailsIn([&] {
      measurer_.MeasureFirst(requests);
      plan = PlanMeasured(requests, /*beside_others=*/false);
      measurer_.CheckTight(plan, requests, setting_.budget);
    });
    if (!failed) return plan;
    console_.Warn("the task " + failed->form.text() + " has no plan: " + failed->words);
    std::erase_if(requests, [&](const TaskRequest& request) { return request.form.id == failed->form; });
  }
}

// Free memory changes from start to start: a plan for what was free holds while it fits.
bool RunPlanner::StillHolds() const {
  if (now_.plan.ranks != setting_.processes || !Covers(now_.planned_for, Asked())) return false;
  for (const PlannedTask& entry : now_.plan.entries) {
    if (now_.plan.Taken(entry) > setting_.budget) return false;
  }
  return true;
}

const Plan& RunPlanner::PlanRun(const std::vector<Form>& forms) {
  const auto start = std::chrono::steady_clock::now();
  now_.requests.clear();
  for (const Form& form : forms) now_.requests.push_back(RequestFor(form));
  if (StillHolds() && !FailsIn([&] { measurer_.CheckTight(now_.plan, now_.requests, setting_.budget); }))
    return now_.plan;
  const Requests asked = WithKeptRows();
  now_.plan = OfWholeDraws(PlanWhatCanBeMeasured(PartsOf(asked)), asked, setting_.processes);
  now_.planned_for = Asked();
  now_.planning = {
      {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()},
      {"steps", measurer_.prober().steps()},
      {"overflows", measurer_.prober().overflows()}};
  now_.taken_up = false;
  return now_.plan;
}

// What is asked for; where another number of processes planned the run, with the rows that it chose: they are
// the run's, as its learning rate is.
RunPlanner::Requests RunPlanner::WithKeptRows() const {
  Requests asked = now_.requests;
  if (now_.plan.ranks == setting_.processes || !Covers(now_.planned_for, Asked())) return asked;
  for (TaskRequest& request : asked) {
    if (const PlannedTask* planned = now_.plan.Find(request.form.id)) request.rows = planned->rows;
  }
  return asked;
}

RunPlanner::Requests RunPlanner::PartsOf(const Requests& asked) const {
  return medley::PartsOf(asked, setting_.processes, parts().config.draws_per_step);
}

TaskRequest RunPlanner::RequestFor(const Form& form) const {
  return RequestOf(form, parts().host.Variant(form));
}

// A form that is planned, with what it keeps between steps.
void RunPlanner::Leave(const FormId& form) {
  if (now_.plan.Find(form) == nullptr) return;
  std::erase_if(now_.plan.entries, [&](const PlannedTask& entry) { return entry.form == form; });
  const auto known = profile().tasks.find(form);
  if (known == profile().tasks.end()) return;
  const std::int64_t tables = now_.plan.drops_tables ? 0 : TablesOfThePlanned().Add(known->second);
  const std::int64_t kept = known->second.held + tables;
  now_.plan.floor.constants -= kept;
  now_.plan.data_bytes -= known->second.cache;
  now_.plan.cache_bytes -= known->second.cache;
  for (PlannedTask& other : now_.plan.entries) other.predicted_peak -= kept;
}

const Plan& RunPlanner::PlanForm(const Form& form) {
  const TaskRequest request = RequestFor(form);
  const std::string& name = form.id.text();
  if (now_.plan.Find(form.id) != nullptr) {
    const ordered_json asked = AskedJson(parts().config, parts().host, parts().device, {request},
                                         setting_.budget_words, profile().key);
    if (now_.planned_for.is_object() &&
        now_.planned_for.at("tasks").value(name, ordered_json()) == asked.at("tasks").at(name))
      return now_.plan;
  }
  Requests requests = now_.requests;
  std::erase_if(requests, [&](const TaskRequest& earlier) { return earlier.form.id == form.id; });
  requests.push_back(request);
  const Plan before = now_.plan;
  try {
    Leave(form.id);
    const TaskRequest part = PartsOf({request}).front();
    measurer_.MeasureFirst({part});
    Plan alone = PlanMeasured({part}, /*beside_others=*/true);
    if (request.rows == 0 && alone.waiting_bytes() > now_.plan.waiting_bytes())
      alone = PlanMeasured({WithRowsThatMayWait(part)}, /*beside_others=*/true);
    Join(OfWholeDraws(std::move(alone), {request}, setting_.processes));
    measurer_.CheckTight(now_.plan, requests, setting_.budget);
  } catch (...) {
    now_.plan = before;
    measurer_.ForgetRows();
    throw;
  }
  now_.requests = std::move(requests);
  ordered_json asked = Asked();
  const ordered_json earlier =
      now_.planned_for.is_object() ? now_.planned_for.at("tasks") : ordered_json::object();
  for (const auto& [other, was] : earlier.items()) {
    if (!asked["tasks"].contains(other)) asked["tasks"][other] = was;
  }
  now_.planned_for = std::move(asked);
  return now_.plan;
}

// As many as have room where the others' rows wait: those fill the rest of the budget.
TaskRequest RunPlanner::WithRowsThatMayWait(TaskRequest request) const {
  const PlanSetting setting = SettingForPlan();
  const std::int64_t row =
      setting.waiting_draws * request.whole * profile().tasks.at(request.form.id).batch_per_row;
  request.rows = std::max<std::int64_t>(1, now_.plan.waiting_bytes() / std::max<std::int64_t>(1, row));
  return request;
}

// The others' rows stay; what lives between steps is more by the tables of the added task, and by its cache,
// with which its plan counts theirs.
void RunPlanner::Join(const Plan& added) {
  Plan joined = now_.plan;
  joined.floor.constants += added.floor.constants;
  joined.cache_bytes = added.cache_bytes;
  joined.data_bytes = added.cache_bytes + std::max(now_.plan.waiting_bytes(), added.waiting_bytes());
  std::vector<Refusal> refusals;
  for (PlannedTask& other : joined.entries) {
    other.predicted_peak += added.floor.constants;
    const std::int64_t missing = joined.Taken(other) - setting_.budget;
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
  now_.plan = std::move(joined);
}

void RunPlanner::Apply(PlanInForce& in_force, Mixer& mixer) {
  PlanSetting setting = SettingForPlan();
  setting.drops_tables = now_.plan.drops_tables;
  in_force.Adopt(now_.plan, profile(), setting);
  for (const PlannedTask& entry : now_.plan.entries) {
    if (!in_force.Knows(entry.form)) continue;
    const Form& form = parts().forms.At(entry.form);
    if (in_force.IdOf(form.task) == form.id)
      mixer.SetSize(form.task, SizeOf(parts().host.Variant(form), entry.rows));
    if (LoadedTask* loaded = parts().host.Find(form.id); now_.plan.drops_tables && loaded != nullptr)
      loaded->DropConstants(parts().device);
  }
}

std::string RunPlanner::Line() const {
  std::set<std::string> tasks;
  for (const PlannedTask& entry : now_.plan.entries) tasks.insert(parts().forms.At(entry.form).task);
  return (now_.taken_up ? "plan (of an earlier start, which still holds): " : "plan: ") +
         PlanInALine(now_.plan, tasks.size());
}

std::string RunPlanner::Tables(std::size_t columns) const {
  return StagesOfPlan(parts().forms, curriculum_, now_.plan, columns) + PlanTable(now_.plan, columns);
}

std::string RunPlanner::Cost() const {
  if (now_.taken_up) return "";
  return "planned in " + FormatNumber(now_.planning.at("seconds").get<double>()) + " s, with " +
         std::to_string(measurer_.prober().steps()) + " measured steps";
}

ordered_json RunPlanner::PlanJson() const {
  ordered_json plan = ToJson(now_.plan);
  plan["asked"] = now_.planned_for;
  if (!now_.planning.is_null()) plan["planning"] = now_.planning;
  return plan;
}

std::string RunPlanner::PlanText() const { return JsonText(PlanJson(), 2) + "\n"; }

std::map<std::string, std::string> RunPlanner::Files() const {
  return {{kProfileFile, JsonText(ToJson(profile()), 2) + "\n"},
          {kPlanTables, Tables(std::numeric_limits<std::size_t>::max())},
          {kPlanFile, PlanText()}};
}

void RunPlanner::Save(const fs::path& directory) const {
  const std::map<std::string, std::string> files = Files();
  for (const char* name : {kProfileFile, kPlanTables, kPlanFile})
    ReplaceFile(directory / name, files.at(name));
}

}  // namespace medley
