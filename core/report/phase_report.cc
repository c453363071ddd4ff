#include <medley/report/phase_report.h>

#include <algorithm>
#include <map>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::json;

// What was seen of one phase.
struct Seen {
  std::int64_t count = 0;            // steps, or predictions
  std::int64_t first = 0, last = 0;  // bytes in use after them
  std::int64_t grown = 0;            // of each over the line before it, in all
  std::int64_t peak = 0;
  double rows = 0, seconds = 0;
};

// 0 where there is none.
double AmountIn(const json& line, const char* key) { return std::max(0.0, NumberAt(line, key)); }

std::int64_t BytesIn(const json& line, const char* key) {
  return static_cast<std::int64_t>(std::min(1e18, AmountIn(line, key)));
}

class PhasesSeen {
 public:
  void Add(const json& line) {
    if (line.contains(kTransition)) {
      if (At(line, kTransition, "from") == "predict") Add("predict", line, BytesIn(line, "memory_after"));
      return;
    }
    const json& phase = At(line, "phase");
    if (!phase.is_string()) return;
    Seen& seen = Add(phase.get<std::string>(), line, BytesIn(line, "memory_now"));
    seen.rows += AmountIn(line, "rows_per_second") * AmountIn(line, "seconds");
  }

  PhaseAccounts Accounts() const {
    PhaseAccounts accounts;
    double rows = 0, in_steps = 0, in_all = 0;
    for (const char* phase : {"warmup", "full", "predict", "correct"}) {
      const auto found = seen_.find(phase);
      if (found == seen_.end()) continue;
      const Seen& seen = found->second;
      const bool is_steps = found->first != "predict";
      accounts.phases.push_back({.name = phase,
                                 .count = seen.count,
                                 .first = seen.first,
                                 .last = seen.last,
                                 .grown = seen.grown / seen.count,
                                 .peak = seen.peak,
                                 .rows_per_second = is_steps && seen.seconds > 0
                                                        ? std::optional(seen.rows / seen.seconds)
                                                        : std::nullopt});
      rows += seen.rows;
      in_steps += is_steps ? seen.seconds : 0;
      in_all += seen.seconds;
    }
    if (in_steps > 0)
      accounts.with_predictions = rows / in_all, accounts.without_predictions = rows / in_steps;
    return accounts;
  }

 private:
  Seen& Add(const std::string& phase, const json& line, std::int64_t now) {
    Seen& seen = seen_[phase];
    if (seen.count++ == 0) seen.first = now;
    if (before_ > 0) seen.grown += now - before_;
    seen.last = before_ = now;
    seen.peak = std::max(seen.peak, BytesIn(line, "memory_peak"));
    seen.seconds += AmountIn(line, "seconds");
    return seen;
  }

  std::map<std::string, Seen> seen_;
  std::int64_t before_ = 0;  // bytes after the line before
};

}  // namespace

PhaseAccounts ReadPhases(const std::filesystem::path& timing) {
  PhasesSeen seen;
  ForEachLine(timing, DamagedLine::kPassedOver, [&](const json& line) { seen.Add(line); });
  return seen.Accounts();
}

std::string PhasesTable(const PhaseAccounts& accounts) {
  if (accounts.phases.empty()) return "";
  Table table({"phase", "steps", "bytes at first", "at last", "grown a step", "peak", "rows/s"});
  table.Spares({"grown a step", "rows/s"});
  for (const PhaseAccount& phase : accounts.phases) {
    table.Add({phase.name, std::to_string(phase.count), FormatBytes(phase.first), FormatBytes(phase.last),
               FormatBytes(phase.grown), FormatBytes(phase.peak),
               phase.rows_per_second ? FormatNumber(*phase.rows_per_second) : "-"});
  }
  std::string text = table.ToText();
  if (accounts.with_predictions)
    text += FormatNumber(*accounts.with_predictions) + " rows/s with predictions, " +
            FormatNumber(*accounts.without_predictions) +
            " without: " + FormatNumber(*accounts.with_predictions / *accounts.without_predictions) + "\n";
  return text;
}

nlohmann::ordered_json ToJson(const PhaseAccounts& accounts) {
  const auto or_null = [](const std::optional<double>& number) {
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  for (const PhaseAccount& phase : accounts.phases) {
    phases.push_back({{"name", phase.name},
                      {"count", phase.count},
                      {"first_bytes", phase.first},
                      {"last_bytes", phase.last},
                      {"grown_bytes", phase.grown},
                      {"peak_bytes", phase.peak},
                      {"rows_per_second", or_null(phase.rows_per_second)}});
  }
  return {{"phases", std::move(phases)},
          {"with_predictions", or_null(accounts.with_predictions)},
          {"without_predictions", or_null(accounts.without_predictions)}};
}

}  // namespace medley
