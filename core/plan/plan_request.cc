#include <medley/plan/plan_request.h>

#include <algorithm>

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
          .recomputed = PinnedLayers(settings)};
}

PlanSetting PlanSettingOf(const RunConfig& config, at::Device device, std::int64_t budget) {
  const std::int64_t ahead = config.data.threads > 0 ? config.data.ahead : 0;
  return {.budget = budget,
          .counts_exactly = device.is_cpu(),
          .draws_per_step = config.draws_per_step,
          // With a GPU they wait in the machine's memory.
          .waiting_draws = device.is_cpu() ? config.draws_per_step + ahead : 0,
          .draws_ahead = device.is_cpu() ? ahead : 0,
          .balance = config.balance};
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
                                     RecomputedMember(request.recomputed),
                                     {"key", TaskProfileKey(host, request.form)}};
  }
  nlohmann::ordered_json asked = {{"budget", budget},
                                  {"draws_per_step", setting.draws_per_step},
                                  {"waiting_draws", setting.waiting_draws},
                                  {"key", key},
                                  {"tasks", tasks}};
  if (setting.balance > 0) asked["balance"] = setting.balance;
  return asked;
}

std::vector<Way> AllWays(const TaskRequest& request, const VariantInfo& variant) {
  std::vector<RecomputedLayers> layers{0, 1};
  const RecomputedLayers pinned = request.recomputed.value_or(0);
  if (std::ranges::find(layers, pinned) == layers.end()) layers.push_back(pinned);
  std::vector<Way> ways;
  for (const RecomputedLayers& recomputed : layers) {
    for (const Mode mode : ModesOf(request, variant)) ways.push_back({mode, recomputed});
  }
  return ways;
}

std::vector<Way> CheapestWays(const TaskRequest& request, const VariantInfo& variant) {
  std::vector<Way> ways;
  for (const Mode mode : ModesOf(request, variant)) {
    const bool wanted = request.mode ? mode == *request.mode : !TraitsOf(mode).repeats_makers;
    if (wanted) ways.push_back({mode, request.recomputed.value_or(0)});
  }
  return ways;
}

}  // namespace medley
