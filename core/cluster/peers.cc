#include <medley/cluster/peers.h>

#include <algorithm>
#include <thread>
#include <utility>

#include <medley/base/suggest.h>

namespace medley {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeerCall{500}, kPeerSlice{20};
constexpr const char *kGone = "gone", *kWaits = "waits", *kStops = "stops";

}  // namespace

Peers::Peers(std::vector<Announcement> all, std::int64_t own, std::shared_ptr<Lifeline> lifeline)
    : all_(std::move(all)), own_(own), lifeline_(std::move(lifeline)) {}

bool Peers::AreOnOneMachine() const {
  return std::ranges::all_of(all_, [&](const auto& one) { return one.machine == own().machine; });
}

void Peers::CallAll() {
  for (const Announcement& other : all_) {
    if (other.rank == own_ || gone_.count(other.rank) > 0) continue;
    Descriptor& line = lines_[other.rank];
    if (line.ok() && IsOpen(line)) continue;
    Call call = CallTo(other, own(), kPeerCall);
    line = std::move(call.line);
    if (!line.ok()) gone_.insert(other.rank);
  }
}

void Peers::ReadNotes() {
  for (const json& note : lifeline_->TakeNotes(own().key)) {
    const json none = json::array();
    for (const json& rank : note.contains(kGone) ? note.at(kGone) : none) {
      if (rank.is_number_integer() && rank != own_) told_gone_.insert(rank.get<std::int64_t>());
    }
    are_to_stop_ = are_to_stop_ || note.contains(kStops);
    if (note.value(kWaits, json()).is_number_integer()) wait_.insert(note.at(kWaits).get<std::int64_t>());
  }
}

void Peers::TellAll(const json& note) const {
  for (const auto& [rank, line] : lines_) {
    if (line.ok()) LeaveNote(line, own().key, note);
  }
}

std::string Peers::Words(const std::set<std::int64_t>& ranks, const std::string& what) const {
  std::vector<std::string> names;
  for (const Announcement& one : all_) {
    if (ranks.count(one.rank) > 0) names.push_back(one.Words());
  }
  return names.empty() ? "" : JoinFew(names) + " " + what;
}

// Who learns of it late sees also those gone that learned it before: what they told holds. That is read
// last, for it was told before they went.
std::string Peers::WhoEnded(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  do {  // the end of a connection may be seen before that of its process
    CallAll();
    ReadNotes();
    if (!gone_.empty() || !told_gone_.empty()) break;
    std::this_thread::sleep_for(kPeerSlice);
  } while (Clock::now() < deadline);
  const std::set<std::int64_t>& ranks = told_gone_.empty() ? gone_ : told_gone_;
  if (!ranks.empty()) TellAll(json::object({{kGone, ranks}}));
  return Words(ranks, "ended");
}

void Peers::TellThatItStops() {
  CallAll();
  TellAll(json::object({{kStops, own_}}));
}

std::string Peers::WhoHangs(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  CallAll();
  TellAll(json::object({{kWaits, own_}}));
  std::set<std::int64_t> silent;
  do {
    ReadNotes();
    silent.clear();
    for (const Announcement& one : all_) {
      if (one.rank != own_ && wait_.count(one.rank) == 0) silent.insert(one.rank);
    }
    if (silent.empty()) return "";
    std::this_thread::sleep_for(kPeerSlice);
  } while (Clock::now() < deadline);
  return Words(silent, "did not answer");
}

}  // namespace medley
