#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/plan/receipt.h>

namespace medley {

// What a run's files tell just now: how far it is, its last scores, what its tasks asked for and got, and
// what they took, against what was planned.
class ReportOfRun {
 public:
  // An InputError where the folder holds no run, or one of its files is damaged.
  explicit ReportOfRun(const std::filesystem::path& run);

  // For people, as wide as the screen.
  std::string Words() const;
  // Its first line.
  std::string Progress() const;
  // By configs/schema/report-output.schema.json.
  nlohmann::ordered_json Json() const;

 private:
  std::filesystem::path run_;
  Receipt receipt_;
  std::map<std::int64_t, Receipt> others_;  // of its other processes, by rank
  nlohmann::ordered_json data_;
};

}  // namespace medley
