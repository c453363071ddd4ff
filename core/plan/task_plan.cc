#include <medley/plan/task_plan.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace medley {
namespace {

bool Within(const Choice& choice, std::int64_t room) { return choice.taken() <= room; }

}  // namespace

double Choice::Milliseconds() const { return static_cast<double>(pieces()) * mode->Milliseconds(micro_rows); }

double Choice::Operations() const {
  const std::int64_t before = pieces() - 1;
  return static_cast<double>(before) * mode->Operations(micro_rows) +
         mode->Operations(rows - before * micro_rows);
}

TaskPlanner::TaskPlanner(const TaskProfile& profile, const TaskRequest& request, const PlanSetting& setting,
                         std::int64_t other_gradients)
    : profile_(profile), request_(request), setting_(setting), other_gradients_(other_gradients) {}

TaskPlanner TaskPlanner::For(const TaskRequest& request) const {
  return {profile_, request, setting_, other_gradients_};
}

bool TaskPlanner::Admits(const ModeProfile& mode) const {
  return mode.measured() && (!request_.mode || *request_.mode == mode.way.mode) &&
         (!request_.recomputed || *request_.recomputed == mode.way.recomputed);
}

Choice TaskPlanner::Cost(const ModeProfile& mode, std::int64_t rows, std::int64_t micro_rows) const {
  const PeakLines whole(mode.whole), pieces(mode.pieces);
  std::int64_t bytes = 0;
  if (setting_.draws_per_step > 1) {  // an earlier draw may have left gradients
    bytes = std::max(whole.At(micro_rows), pieces.At(micro_rows)) + other_gradients_;
  } else {
    bytes = (micro_rows < rows ? pieces : whole).At(micro_rows);
  }
  if (setting_.drops_tables) bytes = std::max(bytes, Rebuilding());
  return {.mode = &mode,
          .rows = rows,
          .micro_rows = micro_rows,
          .bytes = bytes,
          .margin = Margin(mode, micro_rows, bytes)};
}

// When its tables are built a draw may find the gradients of earlier ones.
std::int64_t TaskPlanner::Rebuilding() const {
  const bool finds_gradients = setting_.draws_per_step > 1;
  return profile_.rebuilding + (finds_gradients ? profile_.gradients + other_gradients_ : 0);
}

std::int64_t TaskPlanner::Transient(const ModeProfile& mode, std::int64_t rows, std::int64_t bytes) const {
  return std::max<std::int64_t>(0, bytes - other_gradients_ - profile_.gradients - mode.saved_per_row * rows);
}

// What the allocator rounds up and libraries take grows with what comes and goes, not with what is kept.
std::int64_t TaskPlanner::Margin(const ModeProfile& mode, std::int64_t rows, std::int64_t bytes) const {
  if (setting_.counts_exactly) return 0;
  constexpr std::int64_t kLeast = std::int64_t{64} << 20;
  const std::int64_t asked = std::max({kLeast, Transient(mode, rows, bytes) / 5, setting_.budget / 100});
  return std::min(asked, setting_.budget / 20);
}

// The most rows that one forward may have, and with them the fewest micro-batches; all of the same size, but
// for a last one that may be a little smaller.
std::optional<Choice> TaskPlanner::In(const ModeProfile& mode, std::int64_t room) const {
  const auto fits = [&](std::int64_t rows, std::int64_t micro_rows) {
    return Within(Cost(mode, rows, micro_rows), room);
  };
  if (request_.rows == 0) {
    const std::int64_t rows =
        LargestThat(kMostDrawRows, [&](std::int64_t n) { return n == 0 || fits(n, n); });
    return rows > 0 ? std::optional(Cost(mode, rows, rows)) : std::nullopt;
  }
  if (request_.micro_rows > 0) {
    const std::int64_t micro_rows = std::min(request_.micro_rows, request_.rows);
    return fits(request_.rows, micro_rows) ? std::optional(Cost(mode, request_.rows, micro_rows))
                                           : std::nullopt;
  }
  if (fits(request_.rows, request_.rows)) return Cost(mode, request_.rows, request_.rows);
  const std::int64_t most =
      LargestThat(request_.rows - 1, [&](std::int64_t n) { return n == 0 || fits(request_.rows, n); });
  if (most == 0) return std::nullopt;
  const std::int64_t pieces = (request_.rows + most - 1) / most;
  return Cost(mode, request_.rows, (request_.rows + pieces - 1) / pieces);
}

// Forwards for each that a joint step makes. Counted: what a stopwatch says differs from run to run, and with
// it would the plan and the bits of the result.
double TaskPlanner::Forwards(const ModeProfile& mode) const {
  const double passes = static_cast<double>(std::max<std::int64_t>(1, request_.passes));
  return static_cast<double>(mode.forwards) / passes + mode.way.recomputed.share();
}

bool TaskPlanner::IsPreferred(const ModeProfile& a, const ModeProfile& b) const {
  const auto rank = [&](const ModeProfile& mode) {
    return std::tuple(mode.way.mode != request_.preferred, mode.way);
  };
  return rank(a) < rank(b);
}

// Less is better; equal ones may differ in their work.
std::partial_ordering TaskPlanner::Compare(const Choice& a, const Choice& b) const {
  const double forwards_a = Forwards(*a.mode), forwards_b = Forwards(*b.mode);
  if (forwards_a != forwards_b) return forwards_a <=> forwards_b;
  if (request_.rows == 0 && a.rows != b.rows) return b.rows <=> a.rows;
  return a.pieces() <=> b.pieces();
}

bool TaskPlanner::AllAreCounted() const {
  return std::ranges::all_of(profile_.modes,
                             [&](const ModeProfile& mode) { return !Admits(mode) || !mode.work.empty(); });
}

// Less is less work. Where not all were counted no count is compared: the order of the modes would decide.
std::partial_ordering TaskPlanner::CompareWork(const Choice& a, const Choice& b) const {
  if (AllAreCounted()) return a.Operations() <=> b.Operations();
  return b.mode->makes_once <=> a.mode->makes_once;
}

bool TaskPlanner::IsBetter(const Choice& a, const Choice& b) const {
  if (const auto order = Compare(a, b); order != 0) return order < 0;
  if (const auto work = CompareWork(a, b); work != 0) return work < 0;
  return IsPreferred(*a.mode, *b.mode);
}

// Parts of the layers that nobody pinned are for Reach alone: a profile has them of other plans too.
bool TaskPlanner::IsBetween(const ModeProfile& mode) const {
  const RecomputedLayers& layers = mode.way.recomputed;
  return !request_.recomputed && layers != RecomputedLayers(0) && layers != RecomputedLayers(1);
}

std::optional<Choice> TaskPlanner::Choose(std::int64_t room) const {
  std::optional<Choice> best;
  for (const ModeProfile& mode : profile_.modes) {
    if (!Admits(mode) || IsBetween(mode)) continue;
    const std::optional<Choice> choice = In(mode, room);
    if (choice && (!best || IsBetter(*choice, *best))) best = choice;
  }
  return best;
}

std::optional<Choice> TaskPlanner::Reach(std::int64_t rows, std::int64_t room) const {
  TaskRequest asked = request_;
  asked.rows = rows;
  const TaskPlanner fixed = For(asked);
  std::optional<Choice> best;
  for (const ModeProfile& mode : profile_.modes) {
    if (!Admits(mode)) continue;
    const Choice whole = Cost(mode, rows, rows);
    if (!Within(whole, room)) continue;
    if (!best || fixed.IsLessWork(whole, *best)) best = whole;
  }
  return best ? best : fixed.Choose(room);
}

std::vector<Way> TaskPlanner::Finer(const Choice& reached, std::int64_t room) const {
  std::vector<Way> ways;
  if (profile_.layers == 0 || request_.recomputed) return ways;
  for (const ModeTraits& traits : kModes) {
    const auto [wide, narrow] = Nearest(traits.mode, reached.rows, room);
    if (!wide || !narrow || !IsLessWork(*wide, reached)) continue;
    const int few = LayersOf(*wide), many = LayersOf(*narrow);
    if (many - few < 2) continue;
    const auto above = static_cast<double>(wide->taken() - room);
    const auto saved = static_cast<double>(wide->taken() - narrow->taken());
    const int layers = few + static_cast<int>(std::ceil(above / saved * (many - few)));
    ways.push_back({traits.mode, {std::clamp(layers, few + 1, many - 1), profile_.layers}});
  }
  return ways;
}

// In that mode, of the ways that do not bring one forward to so many rows the one with the most layers
// computed again, and of those that do the one with the fewest.
std::pair<std::optional<Choice>, std::optional<Choice>> TaskPlanner::Nearest(Mode mode, std::int64_t rows,
                                                                             std::int64_t room) const {
  std::optional<Choice> wide, narrow;
  for (const ModeProfile& one : profile_.modes) {
    if (one.way.mode != mode || !Admits(one)) continue;
    const Choice choice = Cost(one, rows, rows);
    if (Within(choice, room)) {
      if (!narrow || one.way.recomputed < narrow->mode->way.recomputed) narrow = choice;
    } else if (!wide || one.way.recomputed > wide->mode->way.recomputed) {
      wide = choice;
    }
  }
  return {wide, narrow};
}

int TaskPlanner::LayersOf(const Choice& choice) const {
  return static_cast<int>(std::lround(choice.mode->way.recomputed.share() * profile_.layers));
}

// By all operations, where they were counted: a mode that makes things once may recompute more of its layers.
bool TaskPlanner::IsLessWork(const Choice& a, const Choice& b) const {
  if (AllAreCounted() && a.Operations() != b.Operations()) return a.Operations() < b.Operations();
  return IsBetter(a, b);
}

std::string TaskPlanner::WhyReached(const Choice& choice, const Choice& own) const {
  const std::string rows = std::to_string(own.rows) + " to " + std::to_string(choice.rows) + " rows";
  if (choice.mode == own.mode) return choice.mode->way.Words() + ": in micro-batches, " + rows;
  // A forward is a third of the work of a step, with the backward.
  const double more = AllAreCounted() ? choice.Operations() / static_cast<double>(choice.rows) /
                                                (own.Operations() / static_cast<double>(own.rows)) -
                                            1
                                      : (Forwards(*choice.mode) - Forwards(*own.mode)) / 3;
  const std::string pieces = choice.pieces() > 1 ? "in micro-batches, " : "";
  return choice.mode->way.Words() + ": " + pieces + std::to_string(std::lround(100 * more)) +
         " % more work, " + rows;
}

std::string TaskPlanner::Why(const Choice& choice, std::int64_t room) const {
  std::optional<Choice> other;
  for (const ModeProfile& mode : profile_.modes) {
    if (!Admits(mode) || !IsPreferred(mode, other ? *other->mode : *choice.mode)) continue;
    const std::optional<Choice> one = In(mode, room);
    if (one && Compare(*one, choice) == 0 && CompareWork(choice, *one) < 0) other = one;
  }
  if (!other) return "";
  const std::string begin = choice.mode->way.Words() + ": ", end = " than " + other->mode->way.Words();
  if (!AllAreCounted()) return begin + "makes more of a picture only once" + end;
  const double percent = 100 * (1 - choice.Operations() / other->Operations());
  const std::string much = percent < 1 ? "less than 1" : std::to_string(std::lround(percent));
  return begin + much + " % less work" + end;
}

std::optional<std::int64_t> TaskPlanner::SmallestRoom() const {
  std::optional<std::int64_t> smallest;
  for (const ModeProfile& mode : profile_.modes) {
    if (!Admits(mode)) continue;
    const std::int64_t rows = std::max<std::int64_t>(1, request_.rows);
    const std::int64_t micro_rows = request_.micro_rows > 0 ? std::min(request_.micro_rows, rows) : 1;
    const Choice least = Cost(mode, rows, micro_rows);
    smallest = std::min(smallest.value_or(least.bytes + least.margin), least.bytes + least.margin);
  }
  return smallest;
}

std::int64_t TaskPlanner::LargestMicroRows(std::int64_t room) const {
  std::int64_t largest = 0;
  for (const ModeProfile& mode : profile_.modes) {
    if (!Admits(mode)) continue;
    const auto fits = [&](std::int64_t n) { return n == 0 || Within(Cost(mode, request_.rows, n), room); };
    largest = std::max(largest, LargestThat(request_.rows, fits));
  }
  return largest;
}

PeakLedger TaskPlanner::Ledger(const Choice& choice) const {
  const ModeProfile& mode = *choice.mode;
  const bool earlier_ones = choice.pieces() > 1 || setting_.draws_per_step > 1;
  const std::int64_t at_peak =
      other_gradients_ + (earlier_ones ? mode.gradients_pieces : mode.gradients_whole);
  // What a forward saves is there when it ends, whatever the peak's moment is.
  const std::int64_t saved = std::min(choice.bytes, mode.saved_per_row * choice.micro_rows);
  const std::int64_t gradients = std::min(choice.bytes - saved, at_peak);
  return {.gradients = gradients,
          .saved = saved,
          .transient = choice.bytes - gradients - saved,
          .margin = choice.margin};
}

}  // namespace medley
