#include <medley/curriculum/forecast.h>

#include <algorithm>

namespace medley {
namespace {

constexpr std::int64_t kStepsAtOnce = 256;

class Forecaster {
 public:
  Forecaster(const Curriculum& curriculum, const ForecastSetting& setting)
      : curriculum_(curriculum),
        setting_(setting),
        mixer_(curriculum.MixtureOf(0), setting.sizes, setting.seed) {}

  Forecast Run() {
    for (std::size_t number = 0; number < curriculum_.stages.size() && forecast_.steps < setting_.steps;
         ++number)
      RunStage(number);
    return std::move(forecast_);
  }

 private:
  void RunStage(std::size_t number) {
    const Stage& stage = curriculum_.stages[number];
    SetSizes(stage);
    if (number > 0) mixer_.SetMixture(curriculum_.MixtureOf(number), stage.ramp, Mixer::Accounts::kOpenAnew);
    const std::map<std::string, Mixer::Share> before = mixer_.Shares();
    const std::int64_t first = forecast_.steps;
    StageForecast& made = forecast_.stages.emplace_back();
    made.ends = Draw(stage);
    made.steps = forecast_.steps - first;
    made.shares = mixer_.Shares();
    for (auto& [task, share] : made.shares) {
      share.rows -= before.at(task).rows;
      share.draws -= before.at(task).draws;
    }
  }

  void SetSizes(const Stage& stage) {
    for (auto [task, size] : setting_.sizes) {
      const auto change = stage.set.tasks.find(task);
      if (change != stage.set.tasks.end())
        size.rows = std::max<std::int64_t>(1, change->second.rows.value_or(size.rows));
      mixer_.SetSize(task, size);
    }
  }

  // Until the stage or the run ends; true for the stage.
  bool Draw(const Stage& stage) {
    StageCounts counts;
    std::int64_t cooled = -1;
    while (forecast_.steps < setting_.steps) {
      const std::int64_t steps = std::min(kStepsAtOnce, setting_.steps - forecast_.steps);
      const std::vector<medley::Draw> draws = mixer_.Peek(steps * setting_.draws_per_step);
      auto next = draws.begin();
      bool ends = false;
      for (std::int64_t i = 0; i < steps && !ends; ++i) {
        const auto end = next + setting_.draws_per_step;
        ends = AddStep(stage, {next, end}, counts, cooled);
        next = end;
      }
      mixer_.Commit({draws.begin(), next});
      if (ends) return true;
    }
    return false;
  }

  // True where it was the stage's last.
  bool AddStep(const Stage& stage, const std::vector<medley::Draw>& draws, StageCounts& counts,
               std::int64_t& cooled) {
    ++forecast_.steps;
    std::map<std::string, std::int64_t> rows;
    std::map<std::string, double> losses;
    for (const medley::Draw& draw : draws) rows[draw.task] += draw.rows, losses[draw.task] = 0;
    counts.AddStep(rows, losses);
    if (!stage.until) return false;
    if (cooled >= 0) {
      ++cooled;
    } else {
      const std::int64_t every = stage.eval_every > 0 ? stage.eval_every : setting_.eval_every;
      const std::int64_t at = stage.eval_every > 0 ? counts.steps() : forecast_.steps;
      if (every > 0 && at % every == 0) {
        for (const std::string& task : stage.Scored()) counts.AddScore(task, 0);
      }
      if (Judge(*stage.until, counts, {}, setting_.measured) == Verdict::kHolds) cooled = 0;
    }
    return cooled >= stage.cooldown_steps;
  }

  const Curriculum& curriculum_;
  const ForecastSetting& setting_;
  Mixer mixer_;
  Forecast forecast_;
};

Forecast With(const Curriculum& curriculum, ForecastSetting setting, Measured measured) {
  setting.measured = measured;
  return ForecastRun(curriculum, setting);
}

ForecastSetting Cut(ForecastSetting setting) {
  const std::int64_t most = std::max<std::int64_t>(1, kLargestForecast / setting.draws_per_step);
  setting.steps = std::min(setting.steps, most);
  return setting;
}

}  // namespace

Forecast ForecastRun(const Curriculum& curriculum, const ForecastSetting& setting) {
  return Forecaster(curriculum, setting).Run();
}

CurriculumDrawing::CurriculumDrawing(const Curriculum& curriculum, ForecastSetting setting)
    : curriculum_(curriculum), run_steps_(setting.steps), is_cut_(Cut(setting).steps < setting.steps) {
  setting = Cut(std::move(setting));
  longest_ = With(curriculum, setting, Measured::kNeverGood);
  shortest_ = has_stages() ? With(curriculum, setting, Measured::kAlwaysGood) : longest_;
  if (!has_stages()) scale_ = static_cast<double>(run_steps_) / static_cast<double>(longest_.steps);
}

bool CurriculumDrawing::has_stages() const { return !curriculum_.stages.front().name.empty(); }

std::string CurriculumDrawing::HeadOf(std::size_t number) const {
  const Stage& stage = curriculum_.stages[number];
  std::string words = std::to_string(number + 1) + " " + stage.name + ": ";
  if (stage.ramp.draws > 0) words += "reached over " + std::to_string(stage.ramp.draws) + " draws, ";
  words += stage.until ? "until " + InWords(*stage.until) : "to the end of the run";
  if (stage.cooldown_steps > 0) words += ", then " + std::to_string(stage.cooldown_steps) + " to cool";
  if (!stage.until && is_cut_) return words;
  const std::int64_t low = number < shortest_.stages.size() ? shortest_.stages[number].steps : 0;
  if (number >= longest_.stages.size())
    return words + "; " + (low > 0 ? Range(0, low, true) + " or more" : "not begun within the run's steps");
  // Who begins it sooner has more of it, where it ends with the run.
  const auto [least, most] = std::minmax(low, longest_.stages[number].steps);
  return words + "; " + Range(least, most, longest_.stages[number].ends);
}

std::string CurriculumDrawing::LengthOfRun() const {
  const std::size_t stages = curriculum_.stages.size();
  const bool comes_to_the_last = shortest_.stages.size() == stages && longest_.stages.size() == stages;
  if (comes_to_the_last && !curriculum_.stages.back().until) {
    if (run_steps_ < static_cast<std::int64_t>(kLargestInteger))
      return "the run takes " + std::to_string(run_steps_) + " steps";
    const std::int64_t low = shortest_.steps - shortest_.stages.back().steps;
    const std::int64_t high = longest_.steps - longest_.stages.back().steps;
    return "the stages before the last take " + Range(low, high, true);
  }
  return "the run takes " + Range(shortest_.steps, longest_.steps, longest_.stages.back().ends || !is_cut_);
}

std::string CurriculumDrawing::Range(std::int64_t low, std::int64_t high, bool ends) const {
  if (!ends && is_cut_) return std::to_string(low) + " steps or more";
  return (low == high ? "" : std::to_string(low) + " to ") + std::to_string(high) + " steps";
}

}  // namespace medley
