#include <medley/train/phases/loss_watch.h>

#include <algorithm>
#include <cmath>

#include <medley/base/json_count.h>
#include <medley/report/table.h>

namespace medley {

using nlohmann::json;

// Until there are enough of them all count alike.
void LossWatch::Add(const Losses& losses) {
  for (const auto& [task, loss] : losses) {
    if (!std::isfinite(loss)) continue;
    Watched& watched = tasks_[task];
    const double fresh = std::max(1 - kDecay, 1.0 / static_cast<double>(++watched.draws));
    const double off = loss - watched.mean;
    watched.mean += fresh * off;
    watched.variance = (1 - fresh) * (watched.variance + fresh * off * off);
  }
}

std::string LossWatch::Beyond(const Losses& losses) const {
  for (const auto& [task, loss] : losses) {
    if (!std::isfinite(loss)) return "the loss of " + task + " is not finite";
    const auto found = tasks_.find(task);
    if (found == tasks_.end() || found->second.draws < kLeastDraws) continue;
    const Watched& watched = found->second;
    const double deviation = std::sqrt(watched.variance);
    if (loss - watched.mean <= kDeviations * deviation) continue;
    return "the loss of " + task + " is " + FormatNumber(loss) + ", more than " + FormatNumber(kDeviations) +
           " deviations of " + FormatNumber(deviation) + " above its mean of " + FormatNumber(watched.mean);
  }
  return "";
}

void LossWatch::Mark() {
  for (auto& [task, watched] : tasks_) {
    watched.marked = watched.mean;
    watched.is_marked = true;
  }
}

double LossWatch::FallSinceMark(const std::map<std::string, double>& shares) const {
  double fall = 0, share_of_all = 0;
  for (const auto& [task, share] : shares) {
    const auto found = tasks_.find(task);
    if (found == tasks_.end() || !found->second.is_marked) continue;
    fall += share * (found->second.marked - found->second.mean);
    share_of_all += share;
  }
  return share_of_all > 0 ? fall / share_of_all : 0;
}

json LossWatch::Save() const {
  json state = json::object();
  for (const auto& [task, watched] : tasks_)
    state[task] = {{"draws", watched.draws},
                   {"mean", watched.mean},
                   {"variance", watched.variance},
                   {"marked", watched.marked},
                   {"is_marked", watched.is_marked}};
  return state;
}

void LossWatch::Load(const json& state) {
  tasks_.clear();
  for (const auto& [task, saved] : state.items())
    tasks_[task] = {.draws = CountOf(saved, "draws", 0, INT64_MAX),
                    .mean = saved.at("mean").get<double>(),
                    .variance = saved.at("variance").get<double>(),
                    .marked = saved.at("marked").get<double>(),
                    .is_marked = saved.at("is_marked").get<bool>()};
}

}  // namespace medley
