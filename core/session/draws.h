#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/model/model_info.h>
#include <medley/plugin/confirmed_paths.h>
#include <medley/plugin/loaded_task.h>
#include <medley/task/batch.h>

namespace medley {

struct DrawsParts;

// Which rows, and which of them are this process's.
struct DrawsRequest {
  std::filesystem::path config;             // a run config
  std::vector<std::string> overrides = {};  // of it: "tasks.zoom.rows=8"
  NamedPlugins plugins = {};
  // plan.json of a run or of medley plan: what tasks get whose rows the config leaves to a plan.
  std::filesystem::path plan = {};
  std::string stage = {};  // of the weights; "": the first
  // Each draw is divided among so many processes, each of which asks for its own part.
  std::int64_t rank = 0, world = 1;
};

// A draw and this process's part of its rows.
struct DrawnRows {
  Draw draw;         // of all processes
  LoadedTask* task;  // the mixture's
  Batch rows;        // on the CPU
  std::map<std::string, double> term_weights;
};

// The rows of a run config for who trains elsewhere: the draws that `medley train` makes of it, one by one,
// in the exact mixture of its weights. There is no model, no stage ends, and nothing is saved: whoever asks
// keeps the state. To be used on one thread at a time. What a program has set in libtorch is neither heeded
// nor changed; a session may be open beside it, between its steps.
class Draws {
 public:
  // An InputError for files that do not fit each other, a task that has no number of rows, or fewer than
  // there are processes.
  explicit Draws(const DrawsRequest& request);
  Draws(Draws&& other) noexcept;
  ~Draws();

  // Where sampling throws nothing is consumed: the same draw comes again. Throws what the task throws.
  DrawnRows Next();
  // The text of a weights file, whose mixture (of the same stage) holds from the next draw on; what tasks are
  // owed goes on. Where it throws, what was in force stays.
  void SetWeights(const std::string& text);
  const std::string& weights() const;  // that text

  // A few integers: where the draws are, and the weights. The parts of all processes have one state, so
  // another number of them may go on with it.
  nlohmann::json Save() const;
  // Goes on there, with the weights of then. Returns words about what is other than then: a task of another
  // version, other rows a draw. An Error for what is no such state, and an InputError for one of other rows
  // (the seed, a task's variant or options); then nothing has changed.
  std::vector<std::string> Load(const nlohmann::json& state);

  std::map<std::string, Mixer::Share> Shares() const;
  const ModelInfo& model() const;   // what the tasks were checked against
  std::int64_t vocabulary() const;  // tokens of the tokenizer; 0 without one
  std::uint64_t seed() const;

 private:
  std::unique_ptr<DrawsParts> parts_;
};

}  // namespace medley
