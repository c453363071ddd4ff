#include <medley/session/draws.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/base/printable.h>
#include <medley/base/random.h>
#include <medley/base/suggest.h>
#include <medley/config/run_config.h>
#include <medley/plan/plan.h>
#include <medley/run/config_change.h>
#include <medley/run/run.h>
#include <medley/run/validate.h>
#include <medley/session/own_settings.h>
#include <medley/step/execution.h>
#include <medley/step/sample_rows.h>

namespace medley {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// What draws: all that changes is here, and is changed as a whole.
struct DrawingMixture {
  std::string text;  // of the weights
  Curriculum curriculum;
  std::size_t stage = 0;
  Mixer mixer;
};

struct DrawsParts {
  DrawsRequest request;
  std::optional<Plan> plan;
  OwnSettings settings;
  std::unique_ptr<Run> run;
  std::optional<DrawingMixture> now;

  const Form& FormOf(const DrawingMixture& mixture, const std::string& task) const {
    return run->forms.Of(mixture.curriculum.stages[mixture.stage], task);
  }
  std::int64_t RowsOf(const Form& form) const;
  DrawingMixture Make(std::string text, Curriculum curriculum);
  void RequireRows(const DrawingMixture& mixture) const;
  DrawingMixture WithWeights(const std::string& text);
};

namespace {

constexpr int kStateVersion = 1;
constexpr std::int64_t kLargestPlan = 64 << 20;

void CheckPlace(const DrawsRequest& request) {
  if (request.world >= 1 && request.rank >= 0 && request.rank < request.world) return;
  throw InputError("rank " + std::to_string(request.rank) + " of " + std::to_string(request.world) +
                   " processes: expected a rank from 0 to one less than their number");
}

std::optional<Plan> ReadPlanOf(const fs::path& file) {
  if (file.empty()) return std::nullopt;
  return PlanFromJson(ReadJson(ReadSmallFile(file, kLargestPlan), file.string()), file.string());
}

std::size_t StageNamed(const Curriculum& curriculum, const std::string& name) {
  if (name.empty()) return 0;
  std::vector<std::string> names;
  for (const Stage& stage : curriculum.stages) names.push_back(stage.name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw InputError("the weights have no stage '" + Printable(name) + "'; their stages are " +
                     Listed(names));
  return static_cast<std::size_t>(found - names.begin());
}

// Of a task, what decides its rows.
ordered_json RowsDecided(const DrawsParts& parts, const DrawingMixture& mixture, const std::string& task) {
  const ordered_json settings = ToJson(parts.FormOf(mixture, task).settings);
  ordered_json decided = ordered_json::object();
  for (const char* key : {"variant", "options"}) {
    if (settings.contains(key)) decided[key] = settings.at(key);
  }
  return decided;
}

void CheckState(const json& state) {
  const auto require = [&](const char* key, const auto& is_good) {
    if (state.is_object() && state.contains(key) && is_good(state.at(key))) return;
    throw Error(std::string("the state cannot be used: its ") + key +
                " is not what a mixture saves. Take a state as it was saved, or begin anew");
  };
  require("version", [](const json& value) { return value.is_number_integer(); });
  RefuseNewer(state, "version", kStateVersion, "the state", "begin anew");
  if (const json& version = state.at("version"); version != kStateVersion)
    throw Error("the state has version " + version.dump() + ", this medley reads " +
                std::to_string(kStateVersion) + ". Take a state as it was saved, or begin anew");
  require("seed", [](const json& value) { return value.is_number_integer(); });
  require("weights", [](const json& value) { return value.is_string(); });
  require("mixer", [](const json& value) { return value.is_object(); });
  require("tasks", [](const json& value) {
    return value.is_object() &&
           std::all_of(value.begin(), value.end(), [](const json& task) { return task.is_object(); });
  });
}

}  // namespace

std::int64_t DrawsParts::RowsOf(const Form& form) const {
  if (form.settings.rows > 0) return form.settings.rows;
  const PlannedTask* planned = plan ? plan->Find(form.id) : nullptr;
  return planned == nullptr ? 0 : planned->rows;
}

void DrawsParts::RequireRows(const DrawingMixture& mixture) const {
  std::string open, few;
  for (const std::string& task : mixture.curriculum.stages[mixture.stage].Active()) {
    const Form& form = FormOf(mixture, task);
    const std::int64_t rows = RowsOf(form);
    const std::string key = form.KeyPrefix() + "rows";
    if (rows == 0) open += (open.empty() ? "" : ", ") + key;
    if (rows > 0 && rows < request.world)
      few += (few.empty() ? "" : ", ") + key + " is " + std::to_string(rows);
  }
  if (!open.empty())
    throw InputError(open +
                     ": a plan decides it, and who trains elsewhere has none. Give a number of rows, or " +
                     (plan ? "a plan that has these tasks" : "the plan.json of a run or of medley plan"));
  if (!few.empty())
    throw InputError(few + ", for " + std::to_string(request.world) +
                     " processes: each needs a row of every draw. Give as many rows at least");
}

// A mixer that begins.
DrawingMixture DrawsParts::Make(std::string text, Curriculum curriculum) {
  const std::size_t stage = StageNamed(curriculum, request.stage);
  run->forms.Add(curriculum);
  std::map<std::string, TaskSize> sizes;
  for (const std::string& task : curriculum.stages[stage].Active()) {
    const Form& form = run->forms.Of(curriculum.stages[stage], task);
    sizes[task] = SizeOf(run->host->Variant(form), RowsOf(form));
  }
  Mixer mixer(curriculum.MixtureOf(stage), std::move(sizes), static_cast<std::uint64_t>(run->config.seed));
  DrawingMixture made{std::move(text), std::move(curriculum), stage, std::move(mixer)};
  RequireRows(made);
  return made;
}

// What draws now, with other weights.
DrawingMixture DrawsParts::WithWeights(const std::string& text) {
  DrawingMixture next = Make(text, CheckEdit({"the weights", text}, run->config, run->model_file->info,
                                             *run->registry, WeightsOf::kUser, {}));
  const json state = now->mixer.Save();
  next.mixer.Load(state);
  return next;
}

Draws::Draws(const DrawsRequest& request) : parts_(std::make_unique<DrawsParts>()) {
  CheckPlace(request);
  parts_->request = request;
  const OwnSettings::Turn turn(parts_->settings);
  parts_->plan = ReadPlanOf(request.plan);
  RunInputs inputs = CheckInputs(request.config, request.overrides, request.plugins);
  parts_->run = BuildRun(std::move(inputs), Purpose::kSample);
  parts_->now.emplace(parts_->Make(parts_->run->weights_text, parts_->run->curriculum));
}

Draws::Draws(Draws&& other) noexcept = default;
Draws::~Draws() = default;

DrawnRows Draws::Next() {
  const OwnSettings::Turn turn(parts_->settings);
  const Run& run = *parts_->run;
  DrawingMixture& now = *parts_->now;
  const Draw draw = now.mixer.Peek(1).front();
  const Form& form = parts_->FormOf(now, draw.task);
  LoadedTask& task = run.host->Get(form);
  const auto [rank, world] = std::pair(parts_->request.rank, parts_->request.world);
  const std::int64_t from = draw.rows * rank / world, to = draw.rows * (rank + 1) / world;
  const RowRange whole{TaskSeed(seed(), draw.task), draw.begin, draw.rows};
  Batch rows = SampleAlone(task, whole.Part(from, to - from));
  CheckItems(task, rows);
  CheckTokens(task, rows, vocabulary());
  now.mixer.Commit({draw});
  std::map<std::string, double> weights;
  const Execution execution = ExecutionOf(form.settings, task.variant());
  for (const TermInfo& term : task.variant().terms) weights[term.name] = TermWeight(execution, term);
  return {.draw = draw, .task = &task, .rows = std::move(rows), .term_weights = std::move(weights)};
}

void Draws::SetWeights(const std::string& text) {
  const OwnSettings::Turn turn(parts_->settings);
  parts_->now.emplace(parts_->WithWeights(text));
}

const std::string& Draws::weights() const { return parts_->now->text; }

json Draws::Save() const {
  const DrawingMixture& now = *parts_->now;
  json tasks = json::object();
  for (const std::string& task : now.curriculum.stages[now.stage].Active()) {
    json& saved = tasks[task] = RowsDecided(*parts_, now, task);
    saved["rows"] = parts_->RowsOf(parts_->FormOf(now, task));
    if (const auto origin = parts_->run->host->OriginOf(task)) saved["version"] = origin->version;
  }
  return {{"version", kStateVersion},
          {"seed", seed()},
          {"weights", now.text},
          {"tasks", std::move(tasks)},
          {"mixer", now.mixer.Save()}};
}

std::vector<std::string> Draws::Load(const json& state) {
  CheckState(state);
  const OwnSettings::Turn turn(parts_->settings);
  DrawingMixture next = state.at("weights").get_ref<const std::string&>() == parts_->now->text
                            ? parts_->Make(parts_->now->text, parts_->now->curriculum)
                            : parts_->WithWeights(state.at("weights").get<std::string>());
  std::string refused;
  if (state.at("seed") != json(seed()))
    refused = "seed: " + state.at("seed").dump() + " -> " + std::to_string(seed());
  const std::vector<std::string> active = next.curriculum.stages[next.stage].Active();
  std::vector<std::string> words;
  for (const auto& [task, saved] : state.at("tasks").items()) {
    if (std::ranges::find(active, task) == active.end()) continue;
    const json decided = RowsDecided(*parts_, next, task);
    for (const auto& [key, value] : decided.items()) {
      if (saved.value(key, json()) == value) continue;
      refused += (refused.empty() ? "tasks." : ", tasks.") + task + "." + key + ": " +
                 saved.value(key, json()).dump() + " -> " + value.dump();
    }
    const auto origin = parts_->run->host->OriginOf(task);
    if (origin && saved.value("version", json(origin->version)) != json(origin->version))
      words.push_back("task '" + task + "' had version " + saved.at("version").dump() + ", has \"" +
                      origin->version + "\"");
    const std::int64_t rows = parts_->RowsOf(parts_->FormOf(next, task));
    if (saved.value("rows", json(rows)) != json(rows))
      words.push_back("tasks." + task + ".rows: " + saved.at("rows").dump() + " -> " + std::to_string(rows));
  }
  if (!refused.empty())
    throw InputError("the state is of other rows: " + refused +
                     ". Put that back, or begin anew without the state");
  if (std::string more = next.mixer.Load(state.at("mixer")); !more.empty()) words.push_back(std::move(more));
  parts_->now.emplace(std::move(next));
  return words;
}

std::map<std::string, Mixer::Share> Draws::Shares() const { return parts_->now->mixer.Shares(); }
const ModelInfo& Draws::model() const { return parts_->run->model_file->info; }
std::int64_t Draws::vocabulary() const { return parts_->run->tokenizer ? parts_->run->tokenizer->size() : 0; }
std::uint64_t Draws::seed() const { return static_cast<std::uint64_t>(parts_->run->config.seed); }

}  // namespace medley
