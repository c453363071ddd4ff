#include <medley/curriculum/mixer.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/curriculum/draw_rule.h>
#include <medley/curriculum/shares.h>

namespace medley {
namespace {

using Owed = MixerTask::Owed;

// Keeps every product of the rule far inside 128 bits: 2^40 * 2^32 * 2^32.
constexpr std::int64_t kLargestCharge = std::int64_t{1} << 40;

std::int64_t ChargeOf(const TaskSize& size, std::int64_t rows, ShareUnit unit) {
  if (unit == ShareUnit::kSteps) return 1;
  if (unit == ShareUnit::kRows) return rows;
  return rows * (unit == ShareUnit::kTokens ? size.tokens_per_row : size.passes);
}

void CheckSize(const std::string& task, const TaskSize& size) {
  const auto fail = [&](const char* what, std::int64_t found) {
    throw InputError("task " + task + ": expected " + what + ", found " + std::to_string(found));
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (size.rows < 1 || size.rows > kMost) fail("1 to 1048576 rows a draw", size.rows);
  if (size.passes < 1 || size.passes > kMost) fail("at least one pass", size.passes);
  if (size.tokens_per_row < 0 || size.tokens_per_row > kMost)
    fail("0 to 1048576 tokens a row", size.tokens_per_row);
}

void CheckMixture(const Mixture& mixture, const std::map<std::string, TaskSize>& sizes) {
  std::string message;
  for (const WeightProblem& problem : CheckWeights(mixture)) {
    if (!message.empty()) message += '\n';
    message += (problem.task.empty() ? "weights" : "weights." + problem.task) + ": " + problem.message;
  }
  if (!message.empty()) throw InputError(message);
  for (const auto& [task, weight] : mixture.weights) {
    if (weight == 0) continue;
    const auto size = sizes.find(task);
    if (size == sizes.end()) throw InputError("weights." + task + ": the mixer knows no size of this task");
    const std::int64_t charge = ChargeOf(size->second, size->second.rows, mixture.unit);
    if (charge > kLargestCharge) {
      throw InputError("weights." + task + ": a draw of this task counts " + std::to_string(charge) +
                       " units; expected at most 2^40. Give it fewer rows");
    }
    if (charge < 1) {
      throw InputError("weights." + task +
                       ": the task has no text, so its share cannot be counted in tokens; "
                       "use the unit \"rows\"");
    }
  }
}

// The new list of tasks: the mixture's first, with the counters that they had.
std::vector<MixerTask> Arrange(const Mixture& mixture, std::vector<MixerTask> old) {
  std::vector<double> weights;
  for (const auto& [task, weight] : mixture.weights) weights.push_back(weight);
  const std::vector<std::int64_t> shares = FixedShares(weights);
  std::vector<MixerTask> tasks;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string& name = mixture.weights[i].first;
    const auto known = std::ranges::find(old, name, &MixerTask::name);
    MixerTask task;
    if (known != old.end()) {
      task = std::move(*known);
      old.erase(known);
    }
    task.name = name;
    task.to = shares[i];
    task.cards = mixture.order == DrawOrder::kUrn ? static_cast<std::int64_t>(weights[i]) : 0;
    tasks.push_back(std::move(task));
  }
  for (MixerTask& task : old) {
    task.to = task.cards = 0;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void SetShares(MixerState& state, std::int64_t position) {
  std::vector<std::int64_t> from, to;
  for (const MixerTask& task : state.tasks) from.push_back(task.from), to.push_back(task.to);
  const std::vector<std::int64_t> shares = SharesBetween(from, to, position);
  for (std::size_t i = 0; i < shares.size(); ++i) state.tasks[i].share = shares[i];
}

// The task of the next card; a new filling of the urn is shuffled when the last one is empty.
std::size_t NextCard(MixerState& state) {
  std::vector<std::int64_t> cards;
  std::int64_t total = 0;
  for (const MixerTask& task : state.tasks) {
    cards.push_back(task.cards);
    total += task.cards;
  }
  const std::int64_t filling = state.urn_drawn / total;
  if (!state.urn || state.urn_filling != filling) {
    const std::uint64_t epoch =
        CombineSeeds(CombineSeeds(state.seed, HashName("urn")), static_cast<std::uint64_t>(state.urn_epoch));
    state.urn = std::make_shared<const std::vector<std::uint32_t>>(
        ShuffledCards(cards, CombineSeeds(epoch, static_cast<std::uint64_t>(filling))));
    state.urn_filling = filling;
  }
  return (*state.urn)[static_cast<std::size_t>(state.urn_drawn % total)];
}

}  // namespace

Mixer::Mixer(Mixture mixture, std::map<std::string, TaskSize> sizes, std::uint64_t seed)
    : mixture_(std::move(mixture)), sizes_(std::move(sizes)) {
  for (const auto& [task, size] : sizes_) CheckSize(task, size);
  CheckMixture(mixture_, sizes_);
  state_.seed = seed;
  state_.tasks = Arrange(mixture_, {});
  SetShares(state_, kWholeShare);
  RefreshBatches();
}

void Mixer::RefreshBatches() {
  for (MixerTask& task : state_.tasks) {
    const auto size = sizes_.find(task.name);
    task.batch_rows = size == sizes_.end() ? 0 : size->second.rows;
    task.batch_charge = size == sizes_.end() ? 0 : ChargeOf(size->second, size->second.rows, mixture_.unit);
  }
}

// The shares of the next draw.
void Mixer::GoOnRamping(MixerState& state) {
  if (state.ramped >= state.ramp.draws) return;
  ++state.ramped;
  if (state.ramped == state.ramp.draws) return;  // the draw that was just made had the mixture's own
  SetShares(state, RampPosition(state.ramp, state.ramped + 1));
  if (state.ramped + 1 == state.ramp.draws) Settle(state.tasks);
}

Draw Mixer::Advance(MixerState& state) const {
  const bool urn = mixture_.order == DrawOrder::kUrn;
  MixerTask& drawn = state.tasks[urn ? NextCard(state) : NextDue(state.tasks)];
  if (urn) {
    ++state.urn_drawn;
  } else {
    for (MixerTask& task : state.tasks) task.owed += static_cast<Owed>(task.share) * drawn.batch_charge;
    drawn.owed -= static_cast<Owed>(drawn.batch_charge) << 32;
  }
  for (MixerTask& task : state.tasks) task.asked += static_cast<Owed>(task.share) * drawn.batch_charge;
  const Draw draw{.task = drawn.name, .begin = drawn.rows, .rows = drawn.batch_rows};
  drawn.charged += drawn.batch_charge;
  drawn.rows += drawn.batch_rows;
  ++drawn.draws;
  GoOnRamping(state);
  return draw;
}

std::vector<Draw> Mixer::Peek(std::int64_t k) const {
  MixerState ahead = state_;
  std::vector<Draw> draws;
  for (std::int64_t i = 0; i < k; ++i) draws.push_back(Advance(ahead));
  return draws;
}

void Mixer::Commit(const std::vector<Draw>& draws) {
  MixerState after = state_;
  for (const Draw& draw : draws) {
    const Draw expected = Advance(after);
    if (draw.task != expected.task || draw.begin != expected.begin || draw.rows != expected.rows) {
      const auto words = [](const Draw& d) {
        return d.task + " rows " + std::to_string(d.begin) + ".." + std::to_string(d.begin + d.rows);
      };
      throw Error("the mixer was told that " + words(draw) + " were trained, but its next draw is " +
                  words(expected));
    }
  }
  state_ = std::move(after);
}

void Mixer::SetMixture(Mixture mixture, const Ramp& ramp, Accounts accounts) {
  CheckMixture(mixture, sizes_);
  if (ramp.draws > 0 && mixture.order == DrawOrder::kUrn) throw InputError(kNoRampOfUrns);
  MixerState next = state_;
  next.tasks = Arrange(mixture, std::move(next.tasks));
  const bool starts_afresh =
      mixture.order == DrawOrder::kUrn || mixture_.order == DrawOrder::kUrn || mixture.unit != mixture_.unit;
  const bool opens_anew = accounts == Accounts::kOpenAnew || mixture.unit != mixture_.unit;
  for (MixerTask& task : next.tasks) {
    task.from = task.share;
    if (opens_anew) task.charged = 0, task.asked = 0;
    if (starts_afresh) task.owed = 0;
  }
  next.ramp = ramp;
  next.ramped = 0;
  BringIn(std::move(mixture), std::move(next));
}

void Mixer::Drop(const std::string& task) {
  Mixture mixture = mixture_;
  mixture.Pause(task);
  CheckMixture(mixture, sizes_);
  MixerState next = state_;
  next.tasks = Arrange(mixture, std::move(next.tasks));
  std::vector<double> from;
  for (const MixerTask& other : next.tasks)
    from.push_back(other.name == task ? 0 : static_cast<double>(other.from));
  if (std::ranges::any_of(from, [](double share) { return share > 0; })) {
    const std::vector<std::int64_t> shares = FixedShares(from);
    for (std::size_t i = 0; i < shares.size(); ++i) next.tasks[i].from = shares[i];
  } else {
    for (MixerTask& other : next.tasks) other.from = other.to;
  }
  BringIn(std::move(mixture), std::move(next));
}

// With the tasks and the ramp that `next` has; an urn is filled anew.
void Mixer::BringIn(Mixture mixture, MixerState next) {
  SetShares(next, RampPosition(next.ramp, next.ramped + 1));
  Settle(next.tasks);
  ++next.urn_epoch;
  next.urn_drawn = 0;
  next.urn_filling = -1;
  state_ = std::move(next);
  mixture_ = std::move(mixture);
  RefreshBatches();
}

void Mixer::SetSize(const std::string& task, TaskSize size) {
  CheckSize(task, size);
  auto sizes = sizes_;
  sizes[task] = size;
  CheckMixture(mixture_, sizes);
  sizes_ = std::move(sizes);
  RefreshBatches();
}

std::map<std::string, Mixer::Share> Mixer::Shares() const {
  std::int64_t total = 0;
  for (const MixerTask& task : state_.tasks) total += task.charged;
  std::map<std::string, Share> shares;
  for (const auto& [name, size] : sizes_) shares[name] = {};
  for (const MixerTask& task : state_.tasks) {
    Share& share = shares[task.name];
    share.asked = static_cast<double>(task.share) / static_cast<double>(kWholeShare);
    share.aim = static_cast<double>(task.to) / static_cast<double>(kWholeShare);
    share.owed = static_cast<double>(task.owed) / static_cast<double>(kWholeShare);
    if (total > 0) {
      const Owed off = (static_cast<Owed>(task.charged) << 32) - task.asked;
      share.delivered = static_cast<double>(task.charged) / static_cast<double>(total);
      share.asked_so_far =
          static_cast<double>(task.asked) / static_cast<double>(kWholeShare) / static_cast<double>(total);
      share.error = static_cast<double>(off) / static_cast<double>(kWholeShare) / static_cast<double>(total);
    }
    share.rows = task.rows;
    share.draws = task.draws;
    share.charged = task.charged;
  }
  return shares;
}

double Mixer::ShareError() const {
  double worst = 0;
  for (const auto& [name, share] : Shares()) worst = std::max(worst, std::abs(share.error));
  return worst;
}

}  // namespace medley
