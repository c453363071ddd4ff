#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <medley/curriculum/form_id.h>
#include <medley/curriculum/mixer.h>
#include <medley/report/guard_finding.h>
#include <medley/report/memory_ledger.h>
#include <medley/report/picture.h>
#include <medley/report/score.h>
#include <medley/report/term_loss.h>

// What a step, an evaluation and a change of the plan leave behind, for whoever wants to write it down: see
// RecordSink.
namespace medley {

// A draw as it was planned and as it went. Bytes in all, floor included.
struct DrawReceipt {
  FormId form;       // of its task
  std::string mode;  // in words: "sequential", "joint + recompute 1"
  std::int64_t micro_rows = 0;
  bool cut = false;            // after an overflow, to fewer micro-rows than planned
  std::int64_t predicted = 0;  // peak; 0: nothing was
  std::int64_t margin = 0;     // that was kept free beside it
  std::int64_t measured = 0;   // peak
  // What really ran:
  std::int64_t rows = 0;
  std::int64_t tokens_run = 0;  // handed to the model, pads and repeated forwards among them
  std::int64_t forwards = 0;    // of micro-batches
  std::int64_t operations = 0;  // floating-point, as the plan counted for its rows; 0: nobody did
  double seconds = 0;           // of forward and backward; 0: not known
};

// What the bytes of a step's peak were for.
struct PeakMemory {
  MemoryLedger ledger;
  std::map<std::string, std::int64_t> constants;  // by task, those that have any
};

// Memory ran out. With a task: in a draw of it, which runs again in fewer rows at once; without: between
// draws, and the step runs again as it is.
struct Overflow {
  std::string task;
  bool in_backward = false;
  std::int64_t from = 0, to = 0;  // rows at once
  std::int64_t left_bytes = 0;    // that stayed when everything was let go
};

// What an evaluation found.
struct EvaluationRecord {
  std::map<std::string, ScoreRecord> tasks;
  std::map<std::string, Picture> sheets;  // of the tasks that have pictures to show
};

// The stage that a step was of, and what its tasks asked for and got in it so far, in shares of the mixture's
// unit.
struct StageRecord {
  struct Share {
    double asked = 0, delivered = 0;
    std::int64_t charged = 0;  // in the unit
  };
  std::int64_t number = 0;  // from 0
  std::string name;         // "" of a run without stages
  std::string unit;  // that the weights are shares of; its tokens and passes are those that tasks declare
  std::map<std::string, Share> shares;
};

// A stage begins: the first step that it has is the next one.
struct StageStart {
  std::int64_t step = 0;  // steps done before it
  std::string name;
};

// A checkpoint is there, whole.
struct SaveRecord {
  std::int64_t step = 0;
  std::filesystem::path checkpoint;
};

// All that is known of one step. What is above the line is the same in every run of the same seed.
struct StepRecord {
  std::int64_t step = 0;  // counted from 1
  std::vector<Draw> draws;
  std::optional<std::vector<Draw>> own{};   // of them, what this process computed, where others had a part
  std::map<std::string, double> delivered;  // by task, in the mixture's unit: see Mixer::Share
  StageRecord stage;
  StepLosses losses;
  double gradient_norm = 0;
  double learning_rate = 0;
  double loss_scale = 0;                       // of a run in fp16; else 0
  std::int64_t loss_repeats = 0;               // how often it was run again, with losses scaled by less
  std::string phase{};                         // "" of a run without phases
  std::optional<EvaluationRecord> evaluation;  // where one was due
  // ---
  double seconds = 0;
  double data_wait_ms = 0;                             // of these, waiting for rows, or sampling them
  std::map<std::string, double> data_waits;            // the same by task, ms
  double peer_wait_ms = 0;                             // of the seconds, in exchanges with other processes
  std::vector<double> rank_work_ms{};                  // by rank, until it waited for others; none: one alone
  std::int64_t memory_now = 0;                         // bytes
  std::int64_t memory_peak = 0;                        // bytes, within the step
  std::map<std::string, std::int64_t> constant_bytes;  // by task, of those that were drawn
  std::map<std::string, std::int64_t> items{};         // for training, of drawn tasks whose data is finite
  std::vector<DrawReceipt> receipts;                   // of what was computed here, in its order
  std::optional<PeakMemory> memory;
  std::vector<GuardFinding> guard;
  std::vector<Overflow> overflows;

  const std::vector<Draw>& Computed() const { return own ? *own : draws; }
  std::int64_t rows() const;
};

// A task's rows at once are others from the next draw on, or a draw of it ran out of memory.
struct PlanRecord {
  std::int64_t step = 0;  // that was under way, or the last one
  std::string task;
  std::int64_t from = 0, to = 0;  // rows at once; equal where they could not be fewer
  // The draw that ran out of memory, as it was planned; nothing where the task grew back. measured: what was
  // in use then, a lower bound of its peak.
  std::optional<DrawReceipt> overflowed{};
  std::int64_t left_bytes = 0;  // see Overflow
};

// A prediction of weights between two steps: what it was, and what became of it.
struct JumpRecord {
  struct Change {
    double from = 0, to = 0;  // mean loss of the probe rows: of what it was compared with, and of the jump

    auto Fields() { return std::tie(from, to); }
  };
  std::string direction;
  double steps = 0;  // how far: what it moves in so many steps
  std::map<std::string, Change> tasks;
  double gain = 0, standard_error = 0;  // in loss, of all tasks by their shares
  std::int64_t forwards = 0;            // row-forwards that it cost, with those of a step that was undone
  bool taken = false;
  std::string why;  // it was not taken; "" where it was
};

// Bytes at a change of phase: in use before and after it, at most meanwhile, and held from the system; whole
// copies of the model's weights beside the model.
struct PhaseMemory {
  std::int64_t before = 0, after = 0, peak = 0, held = 0, copies = 0;
};

// A run's next step is of another phase than the last one, or weights were predicted between them.
struct PhaseRecord {
  std::int64_t step = 0;  // the last one before it
  std::string from, to;   // "full", "predict"
  std::string why;
  std::optional<JumpRecord> jump{};  // of a prediction
  // ---
  PhaseMemory memory{};
  double seconds = 0;  // of a prediction
};

}  // namespace medley
