#include <medley/memory/floor_watch.h>

#include <algorithm>

namespace medley {
namespace {

constexpr std::int64_t kWarmUp = 2;
constexpr std::size_t kWindow = 50;
constexpr int kLeastGrowing = 3;

}  // namespace

double FloorWatch::LeastSlope(std::int64_t budget) {
  return std::max(1024.0, 1e-5 * static_cast<double>(budget));
}

double FloorWatch::LeastAtOnce(std::int64_t budget) { return 0.005 * static_cast<double>(budget); }

// Of the sums over the steps, numbered from the middle of the window so that they add up to 0.
double FloorWatch::Slope() const {
  const double middle = 0.5 * static_cast<double>(sums_.size() - 1);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    products += x * static_cast<double>(sums_[i] - sums_.front());
    squares += x * x;
  }
  return products / squares;
}

std::optional<FloorWatch::Leak> FloorWatch::Add(std::int64_t kept) {
  if (++seen_ <= kWarmUp) return std::nullopt;
  sum_ += kept;
  sums_.push_back(sum_);
  if (sums_.size() > kWindow) sums_.pop_front();
  if (static_cast<double>(kept) > LeastAtOnce(budget_))
    return Leak{.bytes_per_step = static_cast<double>(kept), .kept = kept, .steps = 1};
  if (sums_.size() < kWindow || sums_.back() <= sums_.front()) return std::nullopt;
  const double slope = Slope();
  if (slope <= LeastSlope(budget_)) return std::nullopt;
  int growing = 0;
  for (std::size_t i = 1; i < sums_.size(); ++i) growing += sums_[i] > sums_[i - 1] ? 1 : 0;
  if (growing < kLeastGrowing) return std::nullopt;
  return Leak{.bytes_per_step = slope,
              .kept = sums_.back() - sums_.front(),
              .steps = static_cast<std::int64_t>(sums_.size()) - 1};
}

}  // namespace medley
