#include <medley/plan/plan_request.h>

#include <medley/plan/profile_key.h>

namespace medley {
namespace {

std::vector<Mode> ModesOf(const TaskRequest& request, const VariantInfo& variant) {
  std::vector<Mode> modes{request.preferred};
  for (const Mode mode : LegalModes(variant)) {
    const bool same = variant.passes.size() == 1 && TraitsOf(mode).keeps == KeepsGraphs::kOfAllPasses &&
                      request.mode != mode;
    if (mode != request.preferred && !same) modes.push_back(mode);
  }
  return modes;
}

}  // namespace

TaskRequest RequestOf(const Form& form, const VariantInfo& variant) {
  const TaskConfig& settings = form.settings;
  return {.form = form,
          .variant = variant.name,
          .passes = static_cast<std::int64_t>(variant.passes.size()),
          .preferred = DefaultMode(variant),
          .rows = settings.rows,
          .micro_rows = settings.micro_rows,
          .mode = ParseMode(settings.mode),
          .recompute_every = settings.recompute_every < 0
                                 ? std::nullopt
                                 : std::optional(static_cast<int>(settings.recompute_every))};
}

PlanSetting PlanSettingOf(const RunConfig& config, at::Device device, std::int64_t budget) {
  const std::int64_t ahead = config.data.threads > 0 ? config.data.ahead : 0;
  return {.budget = budget,
          .counts_exactly = device.is_cpu(),
          .draws_per_step = config.draws_per_step,
          // With a GPU they wait in the machine's memory.
          .waiting_draws = device.is_cpu() ? config.draws_per_step + ahead : 0,
          .draws_ahead = device.is_cpu() ? ahead : 0};
}

nlohmann::ordered_json AskedJson(const RunConfig& config, const TaskHost& host, at::Device device,
                                 const std::vector<TaskRequest>& requests, const std::string& budget,
                                 const nlohmann::ordered_json& key) {
  const PlanSetting setting = PlanSettingOf(config, device, 0);
  nlohmann::ordered_json tasks = nlohmann::ordered_json::object();
  for (const TaskRequest& request : requests) {
    tasks[request.form.id.text()] = {{"rows", request.rows},
                                     {"micro_rows", request.micro_rows},
                                     {"mode", request.mode ? ModeName(*request.mode) : ""},
                                     {"recompute_every", request.recompute_every.value_or(-1)},
                                     {"key", TaskProfileKey(host, request.form)}};
  }
  return {{"budget", budget},
          {"draws_per_step", setting.draws_per_step},
          {"waiting_draws", setting.waiting_draws},
          {"key", key},
          {"tasks", tasks}};
}

std::vector<Way> AllWays(const TaskRequest& request, const VariantInfo& variant) {
  std::vector<int> every{0, 1};
  if (request.recompute_every.value_or(0) > 1) every.push_back(*request.recompute_every);
  std::vector<Way> ways;
  for (const int k : every) {
    for (const Mode mode : ModesOf(request, variant)) ways.push_back({mode, k});
  }
  return ways;
}

std::vector<Way> CheapestWays(const TaskRequest& request, const VariantInfo& variant) {
  std::vector<Way> ways;
  for (const Mode mode : ModesOf(request, variant)) {
    const bool wanted = request.mode ? mode == *request.mode : !TraitsOf(mode).repeats_makers;
    if (wanted) ways.push_back({mode, request.recompute_every.value_or(0)});
  }
  return ways;
}

}  // namespace medley
