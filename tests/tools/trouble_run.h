#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include "tests/environment.h"
#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley::test {

// A small run of a shipped task and of tests/bad_plugins/trouble.cc, as KEY=VALUEs for quickstart.json and as
// command lines.
class TroubleRun {
 public:
  TroubleRun() { WriteText(weights_, R"({"unit": "rows", "weights": {"control": 1, "trouble": 1}})"); }
  // "medley VERB quickstart.json ..." without --out; `more`: further overrides.
  std::string Command(const std::string& verb, const std::string& more) const {
    return Medley() + verb + " " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --plugin-path " +
           Plugin().string() + " " + Overrides() + " " + more;
  }
  std::string Overrides() const {
    return "threads=1 hours=0 tensorboard=false eval.every=0 checkpoint.every=0 tasks.control.rows=2 "
           "tasks.trouble.rows=2 weights=" +
           weights_.string();
  }
  std::string Train(const std::string& more) const {
    return Command("train", "--out " + run().string() + " plan=false " + more) + " 2>&1";
  }
  std::filesystem::path run() const { return scratch_ / "run"; }
  std::filesystem::path operator/(const std::string& name) const { return scratch_ / name; }
  static std::filesystem::path Plugin() {
    return std::filesystem::path(MEDLEY_PLUGIN_FIXTURES) / "trouble" / "trouble.so";
  }
  nlohmann::ordered_json Json(const std::string& file) const {
    return nlohmann::ordered_json::parse(ReadText(run() / file));
  }

 private:
  ScratchDirectory scratch_;
  std::filesystem::path weights_ = scratch_ / "weights.json";
};

// While one lives the task sleeps nowhere, whatever its options say, which a run that was trained cannot
// change: what was slow enough to be interrupted in good time ends quickly.
struct AwakeTrouble : Environment {
  AwakeTrouble() : Environment("TROUBLE_IS_AWAKE", "1") {}
};

// Seconds from an interrupt to the end. What is said to be saved shows that a step or an evaluation is given
// up. Of planning only the time does, all of which takes twelve seconds where a pass takes 1.5 s.
inline constexpr double kSoon = 30.0, kBeforeAllIsPlanned = 8.0;

}  // namespace medley::test
