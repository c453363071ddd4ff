#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/plugin/confirmed_paths.h>

namespace medley {

struct PluginToCheck {
  std::filesystem::path file;
  std::string task{};  // "": all that the file gives
  std::string kind{};  // that runs under this name; "": the task of the name
};

struct PluginCheck {
  std::vector<PluginToCheck> plugins;
  std::filesystem::path config;  // gives model and options; "": what fits
  NamedPlugins named;
  std::chrono::milliseconds limit{60'000};  // of a task
};

// What became of a task, of a model, or of a file that is no plugin of this medley.
struct CheckResult {
  std::filesystem::path file;
  std::string subject;  // "task zoom_gold", "model spoter", ""
  std::string state;    // ok, failed, died, hangs, needs a config
  std::string phase;    // in which it ended
  std::string message;
  std::string model{};                                                // the kind that the task ran with
  nlohmann::ordered_json measured = nlohmann::ordered_json::array();  // {"form", "way", "bytes"} of a row
  std::vector<std::string> not_judged{};  // what of the losses could not be looked at

  std::string Words() const;
  nlohmann::ordered_json ToJson() const;
};

// Loads and runs every task of the plugins, each in a process of its own, and makes the models that none of
// these ran with. Hands out each result as it comes.
void CheckPlugins(const PluginCheck& check, const std::function<void(const CheckResult&)>& on_result);

}  // namespace medley
