#include <medley/train/memory_advice.h>

#include <medley/base/bytes.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

// The largest of half, a quarter, ... of `from` with which it fits; 0 where none does.
template <typename Fits>
std::int64_t FirstHalfThat(std::int64_t from, const Fits& fits) {
  for (std::int64_t n = from / 2; n > 0; n /= 2) {
    if (fits(n)) return n;
  }
  return 0;
}

class Search {
 public:
  Search(const CrowdedDraw& draw, const TryDraw& fits)
      : draw_(draw),
        fits_(fits),
        key_(draw.form.KeyPrefix()),
        least_{.execution = draw.execution,
               .rows = draw.rows,
               .waiting = draw.draws_per_step + draw.draws_ahead} {}

  // Overrides, "" where none helps. Which rows are trained changes in the last two only.
  std::string Overrides() {
    for (const auto step : {&Search::FewerMicroRows, &Search::AnotherWay, &Search::FewerAhead,
                            &Search::FewerDraws, &Search::FewerRows}) {
      const std::string overrides = (this->*step)();
      if (!overrides.empty()) return overrides;
    }
    return "";
  }

 private:
  // Whatever comes next is tried with one row at a time, which recovery would come to.
  std::string FewerMicroRows() {
    const std::int64_t most = RowsAtOnce(draw_.execution.micro_rows, draw_.rows);
    const std::int64_t fitting = FirstHalfThat(most, [&](std::int64_t rows) {
      least_.execution.micro_rows = rows;
      return fits_(least_);
    });
    least_.execution.micro_rows = 1;
    return fitting > 0 ? key_ + "micro_rows=" + std::to_string(fitting) : "";
  }

  std::string AnotherWay() {
    Way& way = least_.execution.way;
    std::string overrides;
    const Mode smallest = SmallestMode(draw_.variant);
    if (way.mode != smallest) {
      way.mode = smallest;
      overrides = key_ + "mode=" + std::string(ModeName(smallest));
      if (fits_(least_)) return overrides;
    }
    if (way.recomputed != RecomputedLayers(1)) {
      way.recomputed = 1;
      overrides += (overrides.empty() ? "" : " ") + key_ + RecomputeAll(draw_.form.settings);
      if (fits_(least_)) return overrides;
    }
    way = draw_.execution.way;
    return "";
  }

  std::string FewerAhead() {
    least_.waiting = draw_.draws_per_step;
    return draw_.draws_ahead > 0 && fits_(least_) ? "data.threads=0" : "";
  }

  std::string FewerDraws() {
    const std::int64_t draws = FirstHalfThat(draw_.draws_per_step, [&](std::int64_t n) {
      least_.waiting = n + draw_.draws_ahead;
      return fits_(least_);
    });
    return draws > 0 ? "draws_per_step=" + std::to_string(draws) : "";
  }

  std::string FewerRows() {
    least_.waiting = draw_.draws_per_step + draw_.draws_ahead;
    const std::int64_t fewer = FirstHalfThat(draw_.rows, [&](std::int64_t n) {
      least_.rows = n;
      return fits_(least_);
    });
    return fewer > 0 ? key_ + "rows=" + std::to_string(fewer) : "";
  }

  const CrowdedDraw& draw_;
  const TryDraw& fits_;
  std::string key_;
  CutDraw least_;
};

std::string MoreMemory(const CrowdedDraw& draw) {
  if (draw.budget == 0) return "";
  if (draw.machine == 0) return ", or raise the budget (now " + FormatBytes(draw.budget) + ")";
  if (draw.budget >= draw.machine)
    return "; the budget is all of the " + FormatBytes(draw.machine) + " that this machine has";
  return ", or raise the budget (now " + FormatBytes(draw.budget) + " of the " + FormatBytes(draw.machine) +
         " that this machine has)";
}

}  // namespace

std::string MemoryAdvice(const CrowdedDraw& draw, const TryDraw& fits) {
  const std::string overrides = Search(draw, fits).Overrides();
  if (!overrides.empty()) return "It was tried: one fits with " + overrides;
  return "Already one row by itself is too much, in every mode: use fewer or smaller pictures" +
         MoreMemory(draw);
}

}  // namespace medley
