#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/curriculum/condition.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/mixer.h>

namespace medley {

// What a run of a curriculum would be.
struct ForecastSetting {
  std::map<std::string, TaskSize> sizes;  // of all tasks, where no stage sets another
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  // of the run, at most
  std::int64_t draws_per_step = 1;
  std::int64_t eval_every = 0;  // the run's
  // kAlwaysGood: losses and scores are good from the first time on, as in the shortest run; kNeverGood: the
  // longest.
  Measured measured = Measured::kNeverGood;
};

struct StageForecast {
  std::int64_t steps = 0;                      // with the cooldown
  bool ends = false;                           // by itself, rather than with the run
  std::map<std::string, Mixer::Share> shares;  // of the stage: rows, draws and all else
};

struct Forecast {
  std::vector<StageForecast> stages;  // those that are begun
  std::int64_t steps = 0;
};

// Draws as the run would. `steps` times `draws_per_step` is how long it takes. InputError as the mixer's: for
// weights or sizes that nothing can be drawn from.
Forecast ForecastRun(const Curriculum& curriculum, const ForecastSetting& setting);

// Draws beyond which shares no longer move, and stages are only said to be longer.
inline constexpr std::int64_t kLargestForecast = 100'000;

// The shortest and the longest run of a curriculum, in words for people.
class CurriculumDrawing {
 public:
  // Keeps the reference. The setting's `measured` does not count, and of long runs only the beginning is
  // drawn.
  CurriculumDrawing(const Curriculum& curriculum, ForecastSetting setting);

  bool has_stages() const;  // false of a weights file without any: the other words are of stages
  const Forecast& longest() const { return longest_; }
  // Times the counts of `longest` are those of the whole run: above 1 for a long run of one stage.
  double scale() const { return scale_; }
  // "2 direction: until gold_direction_qa at least 0.8 or 3000 steps, then 300 to cool; 400 to 3300 steps"
  std::string HeadOf(std::size_t stage) const;
  // "the run takes 19000 to 22000 steps"
  std::string LengthOfRun() const;

 private:
  std::string Range(std::int64_t low, std::int64_t high, bool ends) const;

  const Curriculum& curriculum_;
  std::int64_t run_steps_;
  bool is_cut_;
  Forecast shortest_, longest_;
  double scale_ = 1;
};

}  // namespace medley
