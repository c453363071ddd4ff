// Tries to break what the mixer promises: from random runs with edits, pauses, ramps, drops and other batches
// it climbs towards those that put a task furthest behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "curriculum/watched_mixer.h"

#include "tests/sweep.h"

namespace medley::testing {
namespace {

struct Change {
  enum class Kind { kEdit, kSqueeze, kRamp, kDrop, kSize };

  Kind kind = Kind::kEdit;
  std::int64_t draws_before = 0;
  std::vector<double> weights;  // of an edit, and where a ramp leads
  Ramp ramp;
  std::size_t tasks = 1;  // a squeeze begins with; of the others the task
  TaskSize size;
};

struct SearchedRun {
  ShareUnit unit = ShareUnit::kRows;
  std::vector<double> weights;
  std::vector<TaskSize> sizes;
  std::vector<Change> changes;
  std::int64_t draws_after = 0;
};

// As code would have it, to be tried alone.
std::string Words(const SearchedRun& run) {
  const auto list = [](const std::vector<double>& weights) {
    std::string text;
    for (const double weight : weights) text += " " + std::to_string(weight);
    return text;
  };
  std::string text = "in " + EnumName(run.unit) + ", weights" + list(run.weights) + ", rows";
  for (const TaskSize& size : run.sizes) text += " " + std::to_string(size.rows);
  for (const Change& change : run.changes) {
    text += "; after " + std::to_string(change.draws_before) + " draws ";
    switch (change.kind) {
      case Change::Kind::kEdit:
        text += "weights" + list(change.weights);
        break;
      case Change::Kind::kSqueeze:
        text += "all to the " + std::to_string(change.tasks) + " furthest behind, one fewer a draw";
        break;
      case Change::Kind::kRamp:
        text += "over " + std::to_string(change.ramp.draws) + " draws weights" + list(change.weights);
        break;
      case Change::Kind::kDrop:
        text += "without " + Name(change.tasks);
        break;
      case Change::Kind::kSize:
        text += Name(change.tasks) + " has " + std::to_string(change.size.rows) + " rows";
        break;
    }
  }
  return text + "; then " + std::to_string(run.draws_after);
}

class Climb {
 public:
  // Odd seeds are of a few edits, even ones of many, so that one meets what the last has left.
  explicit Climb(std::uint64_t seed)
      : random_(CombineSeeds(seed, HashName("mixer search"))),
        n_(static_cast<std::size_t>(2 + random_.Below(seed % 4 < 2 ? 6 : 20))),
        many_(seed % 2 == 0),
        equal_(random_.Coin()) {}

  SearchedRun Random() {
    SearchedRun run;
    run.unit = static_cast<ShareUnit>(random_.Below(4));
    for (std::size_t i = 0; i < n_; ++i) run.sizes.push_back(RandomSize());
    run.weights = RandomWeights();
    for (std::int64_t left = 1 + random_.Below(many_ ? 20 : 2); left > 0; --left)
      run.changes.push_back(RandomChange());
    run.draws_after = 20 + random_.Below(80);
    return run;
  }

  SearchedRun Near(SearchedRun run) {
    for (std::int64_t left = 1 + random_.Below(3); left > 0; --left) {
      const std::size_t at = Below(run.changes.size());
      Change& change = run.changes[at];
      switch (random_.Below(9)) {
        case 0:
          MoveWeight(run.weights);
          break;
        case 1:
          run.sizes[Below(n_)] = equal_ ? run.sizes[0] : RandomSize();
          break;
        case 2:
        case 3:
          change.draws_before = std::max<std::int64_t>(0, change.draws_before + random_.Below(9) - 4);
          break;
        case 4:
          change = RandomChange();
          break;
        case 5:
          if (run.changes.size() < (many_ ? 40 : 3))
            run.changes.insert(run.changes.begin() + static_cast<std::ptrdiff_t>(at), RandomChange());
          break;
        case 6:
          if (run.changes.size() > 1)
            run.changes.erase(run.changes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          change.tasks = change.kind == Change::Kind::kSqueeze ? 1 + Below(n_) : change.tasks;
          MoveWeight(change.weights);
      }
    }
    return run;
  }

 private:
  std::size_t Below(std::size_t most) {
    return static_cast<std::size_t>(random_.Below(static_cast<std::int64_t>(most)));
  }

  TaskSize RandomSize() {
    if (equal_) return {.rows = 4, .passes = 2, .tokens_per_row = 16};
    return {.rows = random_.Coin() ? 16 : 1 + random_.Below(150),
            .passes = 1 + random_.Below(5),
            .tokens_per_row = 1 + random_.Below(64)};
  }

  double RandomWeight() {
    return random_.Coin() ? static_cast<double>(1 + random_.Below(10)) : std::pow(10, random_.Uniform(-3, 3));
  }
  std::vector<double> RandomWeights() {
    const bool some_rest = random_.Coin();
    std::vector<double> weights(n_);
    for (double& weight : weights) weight = some_rest && random_.Below(4) == 0 ? 0 : RandomWeight();
    if (std::accumulate(weights.begin(), weights.end(), 0.0) == 0) weights[Below(n_)] = 1;
    return weights;
  }
  void MoveWeight(std::vector<double>& weights) {
    double& weight = weights[Below(weights.size())];
    const double before = weight;
    if (random_.Below(4) == 0) weight = RandomWeight();
    if (weight > 0) weight = std::clamp(weight * random_.Uniform(0.5, 2), 1e-4, 1e4);
    if (random_.Below(8) == 0) weight = 0;
    if (std::accumulate(weights.begin(), weights.end(), 0.0) == 0) weight = before;
  }

  Change RandomChange() {
    Change change;
    const std::int64_t kind = random_.Below(12);
    change.kind = kind < 5   ? Change::Kind::kEdit
                  : kind < 8 ? Change::Kind::kSqueeze
                  : kind < 9 ? Change::Kind::kRamp
                             : (kind < 10 ? Change::Kind::kDrop : Change::Kind::kSize);
    change.draws_before = many_ && random_.Coin() ? random_.Below(3) : random_.Below(120);
    change.weights = RandomWeights();
    change.ramp = {1 + random_.Below(20), random_.Coin() ? RampShape::kLinear : RampShape::kCosine};
    change.tasks = change.kind == Change::Kind::kSqueeze ? 1 + Below(n_) : Below(n_);
    change.size = RandomSize();
    return change;
  }

  RowRandom random_;
  std::size_t n_;
  bool many_, equal_;  // equal batches
};

struct Outcome {
  std::string broken;
  double furthest = 0, promised = 0;  // behind, in largest batches
};

Outcome Try(const SearchedRun& run) {
  const std::size_t n = run.sizes.size();
  Sizes sizes;
  for (std::size_t i = 0; i < n; ++i) sizes[Name(i)] = run.sizes[i];
  Mixture mixture = MixtureOf(run.weights, run.unit);
  WatchedMixer mixer(mixture, sizes);
  for (const Change& change : run.changes) {
    mixer.Draw(change.draws_before);
    switch (change.kind) {
      case Change::Kind::kEdit:
        mixture = MixtureOf(change.weights, run.unit);
        mixer.SetMixture(mixture);
        break;
      case Change::Kind::kSqueeze:
        for (std::size_t tasks = change.tasks; tasks > 0; --tasks) {
          mixture = MixtureOf(mixer.ToThoseBehind(tasks), run.unit);
          mixer.SetMixture(mixture);
          mixer.Draw(1);
        }
        break;
      case Change::Kind::kRamp:
        mixture = MixtureOf(change.weights, run.unit);
        mixer.SetMixture(mixture, change.ramp);
        break;
      case Change::Kind::kDrop: {
        Mixture without = mixture;
        without.Pause(Name(change.tasks));
        if (without.Active().empty()) break;
        mixture = without;
        mixer.Drop(Name(change.tasks));
        break;
      }
      case Change::Kind::kSize:
        mixer.SetSize(Name(change.tasks), change.size);
        break;
    }
  }
  mixer.Draw(run.draws_after);
  return {mixer.broken(), mixer.furthest(), mixer.FurthestPromised()};
}

class MixerSearch : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MixerSearch, BreaksNoPromise) {
  constexpr int kTries = 700;
  Climb climb(GetParam());
  SearchedRun best = climb.Random();
  Outcome reached = Try(best);
  for (int i = 0; i < kTries && reached.broken.empty(); ++i) {
    SearchedRun run = i < kTries / 4 ? climb.Random() : climb.Near(best);
    Outcome outcome = Try(run);
    if (outcome.broken.empty() && outcome.furthest < reached.furthest) continue;
    best = std::move(run);
    reached = std::move(outcome);
  }
  EXPECT_EQ(reached.broken, "") << Words(best);
  std::printf("seed %d: %zu tasks, %.3f largest batches behind, of %.3f\n", static_cast<int>(GetParam()),
              best.sizes.size(), reached.furthest, reached.promised);
}

std::vector<std::uint64_t> Seeds() {
  std::vector<std::uint64_t> seeds(120);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
  return test::Slice("MixerSearch", std::move(seeds), 20);
}
// By seed, not by index: a slice has the names that all have.
INSTANTIATE_TEST_SUITE_P(Seeds, MixerSearch, ::testing::ValuesIn(Seeds()),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace medley::testing
