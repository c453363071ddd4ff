#include <medley/report/rank_work.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace medley {

void RankWork::Add(const std::vector<double>& work, double kept) {
  if (work.empty()) return;
  work_.resize(work.size());
  for (std::size_t rank = 0; rank < work.size(); ++rank) work_[rank] = kept * work_[rank] + work[rank];
  longest_ = kept * longest_ + *std::ranges::max_element(work);
}

double RankWork::Waited() const {
  if (!any()) return 0;
  return longest_ - std::accumulate(work_.begin(), work_.end(), 0.0) / static_cast<double>(work_.size());
}

std::size_t RankWork::Slowest() const {
  return static_cast<std::size_t>(std::ranges::max_element(work_) - work_.begin());
}

std::string RankWork::Words(double in_all) const {
  if (!any() || !(in_all > 0)) return "";
  const auto percent = static_cast<int>(std::lround(100 * std::min(1.0, Waited() / in_all)));
  return std::to_string(percent) + " % waiting for processes (rank " + std::to_string(Slowest()) + ")";
}

}  // namespace medley
