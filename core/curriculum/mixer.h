#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <medley/curriculum/mixer_state.h>
#include <medley/curriculum/mixture.h>

namespace medley {

// What the mixer must know of a task beside its weight.
struct TaskSize {
  std::int64_t rows = 1;            // of its next draw
  std::int64_t passes = 1;          // per row
  std::int64_t tokens_per_row = 1;  // declared
};

// Rows [begin, begin + rows) of a task.
struct Draw {
  std::string task;
  std::int64_t begin = 0;
  std::int64_t rows = 0;
};

// Hands out draws so that the shares of what was trained follow the weights, whatever the batch sizes.
// Deterministic; its state is integers. A copy goes its own way. Not for two threads at once: a run's is the
// trainer's.
//
// With the order "deficit", in any unit, this holds after every draw; DECISIONS.md has the proof. B is the
// largest batch of a task with a share. A change is one of shares or of B: each draw of a ramp is one.
//
// - No task is further ahead of its share than (1 - share) times its batch, as they were at its last draw.
// - Before the first change every task is less than B behind.
// - After a change that is still so, or all who are behind are together behind by no more than is left of the
//   leads that tasks had at the change: a lead falls by the task's share of all that is drawn.
// - Whatever the changes, no task is further behind than 1 + H(ceil(n / 2) - 1) times the largest B so far;
//   n is the most tasks that had a share at once, and H(k) = 1 + 1/2 + ... + 1/k.
//
// An urn promises only that every filling has its cards, in an order of chance; a change throws away what is
// left of one.
class Mixer {
 public:
  // Throws InputError for weights without a positive sum, or a task without a size.
  Mixer(Mixture mixture, std::map<std::string, TaskSize> sizes, std::uint64_t seed);

  // The next k draws. Changes nothing: asking again gives the same. Takes time by k and the number of tasks.
  std::vector<Draw> Peek(std::int64_t k) const;
  // These draws (the first ones of Peek) were trained; only now are they charged and their rows consumed. Any
  // other draw is an Error, and then none of them is charged. Without Commit, Peek gives the same draws
  // again.
  void Commit(const std::vector<Draw>& draws);

  enum class Accounts { kGoOn, kOpenAnew };  // of what Shares tells
  // New weights from the next draw on, or over a ramp that begins with it. What tasks were owed is carried
  // over, never judged anew; but with another unit, or an urn, nobody is owed anything. What a task that
  // loses its share was owed is settled with those that are furthest ahead, what it had too much with those
  // furthest behind. Throws InputError as the constructor does, and for a ramp with an urn, and then nothing
  // has changed.
  void SetMixture(Mixture mixture, const Ramp& ramp = {}, Accounts accounts = Accounts::kGoOn);
  // The task is paused from the next draw on, as if the mixture, and a ramp that goes on, had never had it.
  // Throws InputError where no other task is left, and then nothing has changed.
  void Drop(const std::string& task);
  // Draws until the mixture's own shares hold.
  std::int64_t RampLeft() const { return state_.ramp.draws - state_.ramped; }
  // From the next draw on. Draws that were peeked before may no longer be committed. InputError for a size
  // that cannot be, or a draw that counts nothing in the mixture's unit, and then nothing has changed.
  void SetSize(const std::string& task, TaskSize size);
  const Mixture& mixture() const { return mixture_; }

  struct Share {
    double asked = 0;                  // of the next draw
    double aim = 0;                    // the mixture's own, which a ramp leads to
    double asked_so_far = 0;           // since the accounts were opened
    double owed = 0;                   // due minus trained, in the mixture's unit
    double delivered = 0;              // of what was charged since the accounts were opened
    double error = 0;                  // delivered less what was asked since then
    std::int64_t rows = 0, draws = 0;  // since the run began
    std::int64_t charged = 0;          // in the mixture's unit, since the accounts were opened
  };
  // The share of every task that has a size or a counter, paused ones with asked = 0.
  std::map<std::string, Share> Shares() const;
  // The largest |error| of a task.
  double ShareError() const;

  nlohmann::json Save() const;
  // Goes on where Save was called. Where this mixer was made with other weights than those that were saved,
  // they take effect as if SetMixture had been called. Throws Error for a state that Save cannot have
  // written, and then nothing has changed. Returns what a user must know of it, in words; "": nothing.
  std::string Load(const nlohmann::json& state);

 private:
  void RefreshBatches();
  void BringIn(Mixture mixture, MixerState next);
  static void GoOnRamping(MixerState& state);
  Draw Advance(MixerState& state) const;

  Mixture mixture_;
  std::map<std::string, TaskSize> sizes_;
  MixerState state_;
};

}  // namespace medley
