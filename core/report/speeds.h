#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/report/records.h>

namespace medley {

// Floating-point operations, as the plan counted them, and the seconds of forward and backward that they
// took; on a GPU those of the whole step, with its update, as the host knows no others.
struct Speed {
  double operations = 0, seconds = 0;
  double per_second() const { return seconds > 0 ? operations / seconds : 0; }
};
// By form of a task, of the draws of which both are known.
using Speeds = std::map<std::string, Speed>;

Speeds SpeedsOf(const StepRecord& record);

// Those of a whole run, by its timing.jsonl; none where the log is missing. Lines that cannot be read are
// passed over.
Speeds ReadSpeeds(const std::filesystem::path& timing);
// A table for people; "" where there is nothing.
std::string SpeedsTable(const Speeds& speeds);
nlohmann::ordered_json ToJson(const Speeds& speeds);

}  // namespace medley
