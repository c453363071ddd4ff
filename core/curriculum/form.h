#pragma once

#include <string>
#include <utility>

#include <medley/config/run_config.h>
#include <medley/curriculum/form_id.h>

namespace medley {

// A task as one set of settings makes it: the config's own, or what a stage makes of them. Forms of one task
// with the same settings are one.
struct Form {
  std::string task;
  TaskConfig settings;
  FormId id;

  bool IsOwn() const { return id.text() == task; }  // the config's
  // What its settings' keys begin with: "tasks.zoom.", or "stage set tasks.zoom." where a stage changes them.
  std::string KeyPrefix() const { return (IsOwn() ? "tasks." : "stage set tasks.") + task + "."; }
};

inline Form OwnForm(const std::string& task, TaskConfig settings = {}) {
  return {.task = task, .settings = std::move(settings), .id = FormId(task)};
}

}  // namespace medley
