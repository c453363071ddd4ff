#include <medley/page/planned_end.h>

#include <cstdint>

#include <medley/config/run_config.h>
#include <medley/curriculum/weight_log.h>
#include <medley/report/log_lines.h>
#include <medley/step/schedule.h>

namespace medley {

using nlohmann::json;

json PlannedEnd(const std::filesystem::path& run, const json& config) {
  json end = At(config, "steps");
  OptimizerConfig optimizer;
  optimizer.decay_fraction = NumberAt(At(config, "optimizer"), "decay_fraction");
  if (!(optimizer.decay_fraction > 0 && optimizer.decay_fraction < 1)) return end;
  ForEachLine(run / kWeightLog, DamagedLine::kRefused, [&](const json& line) {
    const json& cause = At(line, "cause");
    if (cause != "early decay" && cause != "decay refit") return;
    const json &ends = At(line, "ends"), &of_steps = At(line, "of_steps");
    if (ends.is_null())  // of an older medley
      end = DecayFrom(optimizer, line["step"].get<std::int64_t>()).end();
    else if (of_steps == At(config, "steps"))
      end = ends;
  });
  return end;
}

}  // namespace medley
