#include <medley/train/rounds.h>

#include <algorithm>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>

namespace medley {

bool Rounds::Any(bool own) {
  bool any = false;
  Exchanging([&] {
    for (const auto& [said] : GatherMessages(cluster_.group(), std::tuple(own))) any = any || said;
  });
  return any;
}

std::vector<std::string> Rounds::Everyones(const std::string& own) {
  std::vector<std::string> all;
  Exchanging([&] { all = Gather(cluster_.group(), own); });
  return all;
}

void Rounds::AllOrNone(const std::function<void()>& work) {
  const double begin = SteadySeconds();
  std::exception_ptr error;
  std::optional<Failure> own, first;
  try {
    work();
  } catch (const PeerError&) {
    throw;
  } catch (const ExchangeError&) {
    throw;
  } catch (const std::exception& caught) {
    error = std::current_exception();
    own = Failure::Of(caught);
  }
  bool is_mine = false;
  Exchanging([&] {
    const auto all = GatherMessages(cluster_.group(), std::tuple(own.has_value(), SteadySeconds() - begin));
    seconds_together_ += std::get<double>(all.front());
    const auto failed = std::ranges::find_if(all, [](const auto& one) { return get<bool>(one); });
    if (failed == all.end()) return;
    is_mine = failed - all.begin() == cluster_.place().rank;
    first = FirstOf(own);
  });
  if (error && is_mine) std::rethrow_exception(error);
  if (!first) return;
  if (first->of_the_machine) throw FileError(first->reason, 0);
  throw Error(first->reason, first->code);
}

Failure Rounds::FirstOf(const std::optional<Failure>& own) {
  const auto all = GatherLists(cluster_.group(), own ? ToWire(*own) : std::vector<std::int64_t>());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    auto failure = FromWire<Failure>(all[rank]);
    failure.reason = "rank " + std::to_string(rank) + ": " + failure.reason;
    return failure;
  }
  throw Error("a process of the run failed and does not say why");
}

void Rounds::WaitForAll() {
  try {
    Barrier(cluster_.group());
  } catch (const PeerError&) {
    if (!cluster_.is_first()) throw;  // it saved
  }
}

}  // namespace medley
