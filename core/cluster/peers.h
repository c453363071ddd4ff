#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <medley/cluster/announcement.h>
#include <medley/cluster/lifeline.h>

namespace medley {

// The processes of a run that have found each other, as one of them knows them: it says who is lost.
class Peers {
 public:
  // By rank, all of them.
  Peers(std::vector<Announcement> all, std::int64_t own, std::shared_ptr<Lifeline> lifeline);

  const std::vector<Announcement>& all() const { return all_; }
  // None is on another machine.
  bool AreOnOneMachine() const;

  // An exchange failed: who is gone, as a sentence, "" where that is not to be found out. Tells the others,
  // so that they name the same one, though this process is gone when they look. Takes up to `limit`.
  std::string WhoEnded(std::chrono::milliseconds limit = std::chrono::seconds(2));
  // The others were waited for in vain: who does not wait as this one does. Takes `limit` where all do.
  std::string WhoHangs(std::chrono::milliseconds limit = std::chrono::seconds(1));
  // Lets the others stop too, when they see that this process is gone.
  void TellThatItStops();
  bool AreToStop() const { return are_to_stop_; }

 private:
  const Announcement& own() const { return all_[static_cast<std::size_t>(own_)]; }
  void CallAll();
  void ReadNotes();
  void TellAll(const nlohmann::json& note) const;
  std::string Words(const std::set<std::int64_t>& ranks, const std::string& what) const;

  std::vector<Announcement> all_;
  std::int64_t own_;
  std::shared_ptr<Lifeline> lifeline_;
  std::map<std::int64_t, Descriptor> lines_;        // to those that live
  std::set<std::int64_t> gone_, told_gone_, wait_;  // as seen; as told; that told that they wait
  bool are_to_stop_ = false;                        // one told that it was asked to
};

}  // namespace medley
