#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "curriculum/mixer_fixtures.h"

namespace medley::testing {

// A mixer in the order "deficit", beside a plain version of its rule that keeps accounts of its own. After
// every draw and every change it holds what the header of Mixer promises against them, in integers. Its tasks
// are task0, task1, ..., and every mixture names all of them.
class WatchedMixer {
 public:
  WatchedMixer(const Mixture& mixture, Sizes sizes)
      : unit_(mixture.unit), sizes_(std::move(sizes)), mixer_(mixture, sizes_, 0), tasks_(sizes_.size()) {
    Compare();
  }

  void SetMixture(const Mixture& mixture, const Ramp& ramp = {}) {
    mixer_.SetMixture(mixture, ramp);
    Compare();
  }
  void Drop(const std::string& task) {
    mixer_.Drop(task);
    Compare();
  }
  void SetSize(const std::string& task, const TaskSize& size) {
    mixer_.SetSize(task, size);
    sizes_[task] = size;
    Compare();
  }
  // Nothing more once something is broken.
  void Draw(std::int64_t draws) {
    while (draws > 0 && broken_.empty()) {
      const std::int64_t next =
          mixer_.RampLeft() > 0 ? 1 : draws;  // on a ramp every draw has shares of its own
      const std::vector<medley::Draw> drawn = mixer_.Peek(next);
      mixer_.Commit(drawn);
      for (const medley::Draw& draw : drawn) Take(draw);
      Compare();
      draws -= next;
    }
  }

  // The first promise that was not kept, in words; "": none.
  const std::string& broken() const { return broken_; }
  // In largest batches so far: the furthest that a task was behind, and the furthest that it may be.
  double furthest() const { return furthest_; }
  double FurthestPromised() const {
    double sum = 1;
    for (std::size_t k = 1; k < (most_ + 1) / 2; ++k) sum += 1.0 / static_cast<double>(k);
    return sum;
  }
  // Weights that give nearly all to so many of those that are furthest behind, while the others wait.
  std::vector<double> ToThoseBehind(std::size_t tasks) const {
    std::vector<std::size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tasks_[a].owed > tasks_[b].owed; });
    std::vector<double> weights(tasks_.size(), 1e-7);
    for (std::size_t i = 0; i < tasks; ++i) weights[order[i]] = 1;
    return weights;
  }

 private:
  using Owed = __int128;

  struct Task {
    Owed owed = 0;           // in 2^-32 units
    Owed most_ahead = 0;     // that it may be since its last draw
    Owed at_change = 0;      // what it was owed then
    std::int64_t share = 0;  // of 2^32
    std::int64_t charge = 0;
  };

  static constexpr std::int64_t kWhole = std::int64_t{1} << 32;
  static Owed Size(Owed value) { return value < 0 ? -value : value; }

  void Break(const std::string& what) {
    if (broken_.empty()) broken_ = "draw " + std::to_string(drawn_) + ": " + what;
  }

  std::int64_t ChargeOf(std::size_t i) const {
    const TaskSize& size = sizes_.at(Name(i));
    return unit_ == ShareUnit::kSteps    ? 1
           : unit_ == ShareUnit::kTokens ? size.rows * size.tokens_per_row
           : unit_ == ShareUnit::kPasses ? size.rows * size.passes
                                         : size.rows;
  }

  std::int64_t Largest() const {
    std::int64_t largest = 0;
    for (const Task& task : tasks_) largest = std::max(largest, task.share > 0 ? task.charge : 0);
    return largest;
  }

  // Takes shares from the mixer, and what it says that tasks are owed, once that is held against what they
  // were owed before: only tasks without a share may have given theirs away, and nobody's may have grown.
  void Compare() {
    const std::vector<Task> before = tasks_;
    const std::int64_t largest = Largest();
    const nlohmann::json state = mixer_.Save();
    Owed sum = 0, given = 0, taken = 0;
    for (const auto& saved : state["tasks"]) {
      const std::size_t i = std::stoul(saved["name"].get<std::string>().substr(4));
      Task& task = tasks_[i];
      task.share = saved["share"].get<std::int64_t>();
      task.charge = ChargeOf(i);
      task.owed = static_cast<Owed>(saved["owed"][0].get<std::int64_t>()) * kWhole +
                  saved["owed"][1].get<std::int64_t>();
      sum += task.owed;
      (task.share == 0 ? given : taken) +=
          task.share == 0 ? before[i].owed : Size(task.owed - before[i].owed);
      const bool grew =
          Size(task.owed) > Size(before[i].owed) || task.owed * (before[i].owed < 0 ? -1 : 1) < 0;
      if (grew) Break(Name(i) + " is owed more at a change, or as much the other way");
      if (task.share == 0 && task.owed != 0) Break(Name(i) + " is owed something without a share");
    }
    if (sum != 0) Break("what tasks are owed does not add up to 0");
    if (taken != Size(given)) Break("a change moved what tasks are owed");
    const auto same = [](const Task& a, const Task& b) { return a.share == b.share; };
    if (largest != Largest() || !std::equal(before.begin(), before.end(), tasks_.begin(), same)) {
      since_change_ = 0;
      for (Task& task : tasks_) task.at_change = task.owed;
    }
    Check();
  }

  // The first of those that are a largest batch behind and furthest so, else of those that are soonest.
  std::size_t Next() const {
    const Owed limit = static_cast<Owed>(Largest()) * kWhole;
    std::size_t best = tasks_.size();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].share == 0 || tasks_[i].owed < 0) continue;
      if (best == tasks_.size() || Precedes(tasks_[i], tasks_[best], limit)) best = i;
    }
    return best;
  }
  static bool Precedes(const Task& a, const Task& b, Owed limit) {
    const bool late_a = a.owed >= limit, late_b = b.owed >= limit;
    if (late_a != late_b) return late_a;
    if (late_a) return a.owed > b.owed;
    // Units until then, whole ones and the rest.
    const Owed whole_a = (limit - a.owed) / a.share, whole_b = (limit - b.owed) / b.share;
    if (whole_a != whole_b) return whole_a < whole_b;
    return (limit - a.owed) % a.share * b.share < (limit - b.owed) % b.share * a.share;
  }

  void Take(const medley::Draw& draw) {
    if (!broken_.empty()) return;
    const std::size_t next = Next();
    if (next == tasks_.size() || draw.task != Name(next))
      return Break("it draws " + draw.task + ", by the rule it is the turn of " +
                   (next == tasks_.size() ? "nobody" : Name(next)));
    ++drawn_;
    Task& drawn = tasks_[next];
    for (Task& task : tasks_) task.owed += static_cast<Owed>(task.share) * drawn.charge;
    drawn.owed -= static_cast<Owed>(kWhole) * drawn.charge;
    drawn.most_ahead = static_cast<Owed>(kWhole - drawn.share) * drawn.charge;
    since_change_ += drawn.charge;
    Check();
  }

  void Check() {
    const std::int64_t largest = Largest();
    largest_so_far_ = std::max(largest_so_far_, largest);
    most_ =
        std::max(most_, static_cast<std::size_t>(std::count_if(
                            tasks_.begin(), tasks_.end(), [](const Task& task) { return task.share > 0; })));
    Owed furthest = 0, behind = 0, leads = 0;
    for (const Task& task : tasks_) {
      furthest = std::max(furthest, task.owed);
      behind += std::max<Owed>(0, task.owed);
      if (task.at_change < 0)
        leads += std::max<Owed>(0, -task.at_change - static_cast<Owed>(task.share) * since_change_);
      if (-task.owed > task.most_ahead) Break("a task is further ahead than its own batch");
    }
    const Owed limit = static_cast<Owed>(largest) * kWhole;
    if (furthest >= limit && behind > leads)
      Break("a task is a largest batch behind, with no lead left to wait for");
    furthest_ =
        std::max(furthest_, static_cast<double>(furthest) * 0x1p-32 / static_cast<double>(largest_so_far_));
    if (furthest_ > FurthestPromised()) Break("a task is further behind than any change may put it");
  }

  ShareUnit unit_;
  Sizes sizes_;
  Mixer mixer_;
  std::vector<Task> tasks_;
  std::int64_t drawn_ = 0, since_change_ = 0, largest_so_far_ = 0;
  std::size_t most_ = 0;
  double furthest_ = 0;
  std::string broken_;
};

}  // namespace medley::testing
