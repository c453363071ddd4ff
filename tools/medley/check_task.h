#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/plugin/task_info.h>
#include <medley/run/run.h>
#include <medley/testing/checks.h>

namespace medley {

// Tells the parent of a check, one JSON object a line, what this process is about to do and what came of it.
class CheckReport {
 public:
  explicit CheckReport(int fd) : fd_(fd) {}
  void Phase(const std::string& phase) const { Send({{"phase", phase}}); }
  void End(const std::string& state, const std::string& message) const {
    Send({{"state", state}, {"message", message}});
  }
  void Model(const std::string& kind) const { Send({{"model", kind}}); }
  void NotJudged(const std::string& what) const { Send({{"not_judged", what}}); }
  // Of a step of one row.
  void Measured(const std::string& form, const std::string& way, std::int64_t bytes) const {
    Send({{"measured", {{"form", form}, {"way", way}, {"bytes", bytes}}}});
  }

 private:
  void Send(const nlohmann::ordered_json& json) const;

  int fd_;
};

// An Error with all of them.
void RefuseFindings(const check::Findings& findings);

// Runs the task in every variant of its spec and every form of the run's stages: contract, a step in each
// way, gradients as a plugin's test checks them (testing/checks.h) over few rows, an update, an evaluation.
// Throws what the first of them throws, after its phase was said. The model is trained by it.
void CheckForms(const Run& run, const TaskInfo& task, const CheckReport& report);

}  // namespace medley
