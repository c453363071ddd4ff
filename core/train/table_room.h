#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/plan/plan_in_force.h>
#include <medley/plugin/task_host.h>

namespace medley {

// The tables of tasks on the run's device, where the plan has no room for all of them at once: those of tasks
// that were not used for the longest time make room for a draw. Elsewhere it drops nothing. On the trainer's
// thread; before a draw MakeRoom, then Restore.
class TableRoom {
 public:
  // Keeps references.
  TableRoom(at::Device device, TaskHost& host, const PlanInForce& plan)
      : device_(device), host_(host), plan_(plan) {}

  // Makes room for a draw of the task: others' tables go as far as it needs. Returns the bytes of those that
  // stay, 0 where nothing ever goes.
  std::int64_t MakeRoom(const std::string& task);
  // Builds the task's own anew where they were dropped, and those that it shares in any case.
  void Restore(const std::string& task);
  // Drops all others' tables for the task's evaluation, of which no plan says how much it needs.
  void MakeAllRoom(const std::string& task);

 private:
  std::int64_t BytesOf(const FormId& form, CountedTables* counted = nullptr) const;
  // Of those that were used before, without what they share with the form.
  std::int64_t BytesBeside(const FormId& form) const;
  std::int64_t Drop(const std::string& task, std::int64_t room);

  at::Device device_;
  TaskHost& host_;
  const PlanInForce& plan_;
  std::vector<FormId> used_;  // the least recently used first
};

}  // namespace medley
