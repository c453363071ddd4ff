#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <medley/config/field.h>
#include <medley/config/mode.h>
#include <medley/config/option_value.h>

namespace medley {

struct TaskConfig {
  std::string kind{};      // the task whose code runs under this name; "": that of the name itself
  std::int64_t rows = 16;  // effective rows of a draw; 0: "auto", as many as fill the budget
  // Not given: the planner's choice. Without a plan: all rows; sequential, joint where something is carried;
  // none.
  std::int64_t micro_rows = 0;  // rows of one forward; 0: not given
  std::string mode;             // a ModeName; "": not given
  // Activation checkpointing, by one of the two.
  std::string recompute_layers;       // a fraction of every stack's layers, "24/28"; "": not given
  std::int64_t recompute_every = -1;  // 0 none, k every k-th layer; < 0: not given
  std::string variant = "default";
  OptionValues options;                              // paths are absolute once the spec was asked (CheckTask)
  std::map<std::string, double, std::less<>> terms;  // weights of loss terms

  friend bool operator==(const TaskConfig&, const TaskConfig&) = default;
};
// What the config pins of the layers that are computed again; nothing: it is open.
std::optional<RecomputedLayers> PinnedLayers(const TaskConfig& config);
// Of a run's tasks that run under further names, each one's kind by its name.
using TaskKinds = std::map<std::string, std::string, std::less<>>;
TaskKinds KindsIn(const std::map<std::string, TaskConfig>& tasks);
// An override with which all layers are, beside what the config names: "recompute_every=1".
std::string RecomputeAll(const TaskConfig& config);

// What a stage changes of a task's settings; what it does not name stays.
struct TaskChange {
  std::optional<std::int64_t> rows, micro_rows;
  std::optional<std::string> mode;
  std::optional<std::string> recompute_layers;
  std::optional<std::int64_t> recompute_every;
  OptionValues options;
  std::map<std::string, double, std::less<>> terms;
};
// Written with dotted keys, "tasks.NAME.rows".
struct TaskChanges {
  std::map<std::string, TaskChange> tasks;
};

// The fields that a TaskConfig and a TaskChange share.
template <typename Visitor, typename Settings>
void FieldsOfExecution(Visitor& visit, Settings& c) {
  visit(c.rows, {.name = "rows",
                 .help = "Rows of a draw of this task; \"auto\": as many as fill the budget",
                 .low = 1,
                 .high = 1 << 20,
                 .zero = "auto",
                 .fixed = true});
  visit(c.micro_rows,
        {.name = "micro_rows",
         .help = "Rows of one forward; the gradients add up to the same step. As many as \"rows\": all at "
                 "once. Not given or 0: the planner chooses, without a plan all at once",
         .low = 0,
         .high = 1 << 20});
  visit(c.mode, {.name = "mode",
                 .help = "How a draw is executed. Not given: the planner chooses, without a plan sequential, "
                         "or joint where something is carried",
                 .omit_default = true,
                 .allowed = ModeNames()});
  visit(c.recompute_layers,
        {.name = "recompute_layers",
         .help = "The part of the layers whose insides are computed again instead of kept for the backward, "
                 "evenly spread, of every stack of the model the same share: \"24/28\" is 24 of 28, \"0/1\" "
                 "none. Not given: the planner chooses, without a plan none",
         .omit_default = true,
         .is_share = true});
  visit(
      c.recompute_every,
      {.name = "recompute_every",
       .help = "The same by a number: every layer (1), every k-th (k), none (0). Only one of the two may be "
               "given",
       .omit_default = true,
       .low = 0,
       .high = 1 << 10});
}

template <typename Visitor, typename Settings>
void FieldsOfItself(Visitor& visit, Settings& c) {
  visit(c.options,
        {.name = "options", .help = "Values of the task's options; see medley tasks", .fixed = true});
  visit(c.terms, {.name = "terms", .help = "Weights of the task's loss terms", .low = 0, .high = 1e6});
}

template <typename Visitor>
void Fields(Visitor& visit, TaskConfig& c) {
  visit(c.kind, {.name = "kind",
                 .help = "The task whose code runs under this name, with a seed, counters and options of its "
                         "own. Not given: the task of this name",
                 .omit_default = true,
                 .fixed = true});
  FieldsOfExecution(visit, c);
  visit(c.variant, {.name = "variant", .help = "One of the task's variants", .fixed = true});
  FieldsOfItself(visit, c);
}

template <typename Visitor>
void Fields(Visitor& visit, TaskChange& c) {
  FieldsOfExecution(visit, c);
  FieldsOfItself(visit, c);
}

template <typename Visitor>
void Fields(Visitor& visit, TaskChanges& c) {
  visit.Dotted(c.tasks, {.name = "tasks"});
}

}  // namespace medley
