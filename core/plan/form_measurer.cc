#include <medley/plan/form_measurer.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include <medley/memory/meter.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plan/peak_lines.h>
#include <medley/plan/plan_request.h>
#include <medley/plan/profile_key.h>
#include <medley/run/run.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kFarAbove = 16;  // times the largest probe
constexpr double kStepsOfAWay = 8;      // that are measured, where rows are of one kind

Execution ExecutionIn(const Way& way, const Form& form) {
  return {.way = way, .micro_rows = 0, .term_weights = form.settings.terms};
}

}  // namespace

// Tells of one form of several, step by step, from when it is made to its end. How many steps there will be
// nobody knows: after as many as there mostly are it stays just short of the next form.
class FormMeasurer::Told {
 public:
  struct Part {
    std::size_t index = 0, all = 0;  // of the forms
    double steps = 1;                // about
  };
  Told(FormMeasurer& measurer, WorkProgress& progress, std::string words, const Part& part)
      : measurer_(measurer) {
    measurer.progress_ = &progress;
    measurer.prober_.BeforeSteps([&progress, words = std::move(words), part, steps = 0.0]() mutable {
      constexpr double kNearlyAll = 0.95;
      const double share = std::min(kNearlyAll, steps++ / part.steps);
      progress.Say(words, static_cast<double>(part.index) + share, static_cast<double>(part.all));
    });
  }
  ~Told() {
    measurer_.prober_.BeforeSteps({});
    measurer_.progress_ = nullptr;
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  FormMeasurer& measurer_;
};

FormMeasurer::Parts FormMeasurer::PartsOf(const Run& run) {
  return {.config = run.config,
          .device = run.device,
          .model = *run.model,
          .optimizer = *run.optimizer,
          .references = run.references.get(),
          .host = *run.host,
          .forms = run.forms,
          .contract = *run.contract,
          .executor = *run.executor,
          .key = RunProfileKey(run.config, *run.model, run.ModelBuild(), run.tokenizer.get(), run.device)};
}

FormMeasurer::FormMeasurer(Parts parts, std::int64_t probe_bytes, std::int64_t probe_limit, bool all_ways,
                           Console& console)
    : parts_(std::move(parts)),
      all_ways_(all_ways),
      console_(console),
      prober_(parts_.model, parts_.executor, parts_.device, static_cast<std::uint64_t>(parts_.config.seed),
              probe_bytes, probe_limit) {
  profile_.key = parts_.key;
}

// A task may keep tensors of its own, which a plan made before it is loaded must know.
LoadedTask& FormMeasurer::Loaded(const Form& form, TaskProfile& profile) {
  if (LoadedTask* loaded = parts_.host.Find(form.id)) return *loaded;
  const std::int64_t before = ReadMemory(parts_.device).now;
  LoadedTask& loaded = parts_.host.Get(form);
  profile.held = ReadMemory(parts_.device).now - before;
  return loaded;
}

// Where it throws it is known whose fault that is, and nothing of the form's profile is kept.
template <typename Measure>
auto FormMeasurer::Blaming(const FormId& form, const Measure& measure) {
  try {
    return measure();
  } catch (...) {
    failed_ = form;
    profile_.tasks.erase(form);
    throw;
  }
}

void FormMeasurer::CheckContract(LoadedTask& task, TaskProfile* profile) {
  if (prober_.CheckContract(parts_.contract, task, profile)) return;
  if (progress_ != nullptr) progress_->Hide();
  console_.Warn(
      "task " + task.info().name +
      " is not held against its spec: that runs all its passes at once, for which there is no room on " +
      parts_.device.str() + ". A larger budget checks it");
}

// Measures the ways that the profile lacks. False where it has them all.
bool FormMeasurer::MeasureTask(const TaskRequest& request, const std::vector<Way>& ways) {
  return Blaming(request.form.id, [&] { return MeasureLacking(request, ways); });
}

bool FormMeasurer::MeasureLacking(const TaskRequest& request, const std::vector<Way>& ways) {
  TaskProfile& profile = profile_.tasks[request.form.id];
  ordered_json key = TaskProfileKey(parts_.host, request.form);
  if (profile.key != key) profile = {};
  const std::size_t before = profile.modes.size();
  for (const Way& way : ways) {
    if (profile.Find(way) != nullptr) continue;
    if (measured_.empty())
      console_.Say("measuring what the tasks take: a few steps of each, whose gradients are dropped");
    measured_.insert(request.form.id);
    LoadedTask& task = Loaded(request.form, profile);
    profile.cache = parts_.device.is_cpu() ? task.CacheBytes() : 0;
    if (profile.modes.empty()) CheckContract(task, &profile);
    // Where a step has several draws, also all rows together may find gradients.
    const std::int64_t most_rows = parts_.config.draws_per_step > 1 ? 0 : request.rows;
    prober_.Measure(task, ExecutionIn(way, request.form), profile, most_rows);
  }
  profile.key = std::move(key);
  return profile.modes.size() > before;
}

std::vector<Way> FormMeasurer::FirstWays(const TaskRequest& request) const {
  const VariantInfo& variant = parts_.host.Variant(request.form);
  return all_ways_ ? AllWays(request, variant) : CheapestWays(request, variant);
}

void FormMeasurer::MeasureFirst(const Requests& requests) {
  WorkProgress progress;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::vector<Way> ways = FirstWays(requests[i]);
    const Told told(*this, progress, "measuring " + requests[i].form.id.text(),
                    {i, requests.size(), kStepsOfAWay * static_cast<double>(ways.size())});
    MeasureTask(requests[i], ways);
  }
}

void FormMeasurer::MeasureFloor() {
  MemoryLedger& floor = profile_.floor;
  std::int64_t constants = 0;
  CountedTables counted;
  for (const auto& [form, profile] : profile_.tasks) {
    if (const LoadedTask* task = parts_.host.Find(form))
      constants += task->ConstantBytes(parts_.device, &counted) + profile.held;
  }
  floor.weights = ParameterBytes(parts_.model.parameters(), parts_.device);
  floor.optimizer = parts_.optimizer.StateBytes();
  floor.references = parts_.references == nullptr ? 0 : parts_.references->Bytes();
  const std::int64_t known = constants + floor.weights + floor.optimizer + floor.references;
  floor.workspace = std::max<std::int64_t>(0, ReadMemory(parts_.device).now - known);
  profile_.gradients = TrainedBytes(parts_.model.parameters());
}

bool FormMeasurer::MeasureRefused(const DoesNotFit& refusal, const Requests& requests) {
  bool measured = false;
  WorkProgress progress;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const TaskRequest& request = requests[i];
    for (const Refusal& refused : refusal.refusals()) {
      if (refused.form && *refused.form != request.form.id) continue;
      const std::vector<Way> ways = AllWays(request, parts_.host.Variant(request.form));
      const Told told(*this, progress, "measuring other ways to run " + request.form.id.text(),
                      {i, requests.size(), kStepsOfAWay * static_cast<double>(ways.size())});
      measured = MeasureTask(request, ways) || measured;
    }
  }
  return measured;
}

// Without those that its pins exclude.
std::vector<Way> FormMeasurer::WaysBelow(const PlannedTask& entry, const TaskRequest& request) const {
  std::vector<Way> ways = AllWays(request, parts_.host.Variant(request.form));
  ways.insert(ways.end(), entry.finer.begin(), entry.finer.end());
  std::erase_if(ways, [&](const Way& way) {
    return (request.mode && way.mode != *request.mode) ||
           (request.recomputed && way.recomputed != *request.recomputed);
  });
  return ways;
}

bool FormMeasurer::MeasureBelow(const Plan& plan, const Requests& requests) {
  bool measured = false;
  WorkProgress progress;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const TaskRequest& request = requests[i];
    const PlannedTask* entry = plan.Find(request.form.id);
    if (entry == nullptr || entry->own_rows == 0) continue;
    const std::vector<Way> ways = WaysBelow(*entry, request);
    const Told told(*this, progress, "measuring ways to more rows of " + request.form.id.text(),
                    {i, requests.size(), kStepsOfAWay * static_cast<double>(ways.size())});
    measured = MeasureTask(request, ways) || measured;
  }
  return measured;
}

std::int64_t FormMeasurer::LargestProbe(const PlannedTask& entry) const {
  const ModeProfile& mode = *profile_.tasks.at(entry.form).Find(entry.way);
  return PeakLines(entry.micro_rows < entry.rows ? mode.pieces : mode.whole).largest_probe();
}

bool FormMeasurer::Confirm(const Plan& plan) {
  bool ran = false;
  WorkProgress progress;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const PlannedTask& entry = plan.entries[i];
    // A task of a stored profile is confirmed by training itself, unless it was measured for far fewer rows.
    const bool stored = measured_.count(entry.form) == 0;
    if (entry.confirmed || (stored && entry.micro_rows <= kFarAbove * LargestProbe(entry))) continue;
    const auto [confirmed, is_first] = confirmed_.emplace(entry.form, entry.way);
    if (!is_first) continue;
    const Form& form = parts_.forms.At(entry.form);
    Execution execution = ExecutionIn(entry.way, form);
    execution.micro_rows = entry.micro_rows < entry.rows ? entry.micro_rows : 0;
    const Told told(*this, progress, "measuring " + form.id.text() + " as it is planned",
                    {i, plan.entries.size()});
    Blaming(form.id, [&] {
      if (!prober_.Confirm(parts_.host.Get(form), execution, entry.micro_rows, profile_.tasks.at(form.id)))
        confirmed_.erase(confirmed);
    });
    ran = true;
  }
  return ran;
}

void FormMeasurer::CheckTight(const Plan& plan, const Requests& requests, std::int64_t budget) {
  const std::int64_t room = budget - plan.floor_bytes() - plan.data_bytes;
  for (const TaskRequest& request : requests) {
    LoadedTask* loaded = parts_.host.Find(request.form.id);
    if (plan.drops_tables && loaded != nullptr) loaded->DropConstants(parts_.device);
  }
  WorkProgress progress;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const TaskRequest& request = requests[i];
    const FormId& form = request.form.id;
    const PlannedTask* entry = plan.Find(form);
    const auto measured = profile_.tasks.find(form);
    if (entry == nullptr || measured == profile_.tasks.end()) continue;
    if (measured->second.contract <= room - entry->tables) continue;
    const Told told(*this, progress, "holding " + form.text() + " against its spec", {i, requests.size()});
    Blaming(form, [&] {
      LoadedTask& task = parts_.host.Get(request.form);
      if (!parts_.contract.Knows(task)) CheckContract(task, nullptr);
    });
  }
}

}  // namespace medley
