#include <medley/cluster/meeting.h>

#include <dlfcn.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include <medley/base/interrupt.h>
#include <medley/base/suggest.h>
#include <medley/cluster/backend_group.h>
#include <medley/cluster/local_address.h>
#include <medley/cluster/patient_call.h>
#include <medley/cluster/store_group.h>
#include <medley/cluster/store_search.h>

namespace medley {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using StorePtr = c10::intrusive_ptr<c10d::Store>;
using std::chrono::milliseconds;

constexpr const char* kHereKey = "here";
// Of one try to reach a host; between two looks at the store, and later.
constexpr milliseconds kCall{2000}, kLook{20}, kLater{200};

std::string KeyOfRank(std::int64_t rank) { return "rank/" + std::to_string(rank); }

std::string NewKey() {
  std::random_device random;
  return std::to_string((std::uint64_t{random()} << 32) | random());
}

std::vector<std::uint8_t> StoreBytes(const std::string& text) { return {text.begin(), text.end()}; }

// While it lives, c10d writes none of its warnings, with stacks, of connections that fail: they are told in
// words. The number is libc10's, where that has its own log and not glog.
class QuietC10d {
 public:
  QuietC10d() {
    if (level_ != nullptr) before_ = std::atomic_ref<int>(*level_).exchange(kFatal);
  }
  ~QuietC10d() {
    if (level_ != nullptr) std::atomic_ref<int>(*level_).store(before_);
  }
  QuietC10d(const QuietC10d&) = delete;
  QuietC10d& operator=(const QuietC10d&) = delete;

 private:
  static constexpr int kFatal = 3;
  int* level_ = static_cast<int*>(::dlsym(RTLD_DEFAULT, "FLAGS_caffe2_log_level"));
  int before_ = 0;
};

class MeetingSearch {
 public:
  MeetingSearch(const RankPlace& place, const MeetingTerms& terms)
      : place_(place),
        terms_(terms),
        own_(Announce(place, terms.run)),
        begin_(Clock::now()),
        speaks_(begin_ + terms.first_words),
        lifeline_(std::make_shared<Lifeline>()) {
    own_.lifeline = lifeline_->port();
  }

  Meeting Run() {
    try {
      return Find();
    } catch (const Error& error) {
      if (!told_) Tell(own_.Words() + ": " + error.what(), error.code());
      throw;
    }
  }

 private:
  Meeting Find() {
    Heed();  // nobody has heard of one that was asked to stop while it started
    tcp_ = OpenStore();
    own_.address = AddressOrNone();
    place_.rank == 0 ? Begin() : Join();
    return Connect(All());
  }

  StorePtr OpenStore();
  std::string AddressOrNone() const;
  // What is asked of a store that others may keep.
  template <typename Question>
  auto Ask(Question question);
  Call CallOf(const Announcement& other) {
    return CallPatiently([other, own = own_] { return CallTo(other, own, kCall); }, [this] { Heed(); });
  }

  // Those in it.
  void Begin();
  void Join();
  void Claim();
  std::vector<Announcement> All();
  void LookWhoIsHere();
  Meeting Connect(std::vector<Announcement> all);
  [[noreturn]] void Refuse(const std::string& words);

  // While it waits.
  void Heed();
  void HeedCallers();
  void HeedLines();
  void Obey(const std::vector<json>& notes);
  void Wait(milliseconds time) {
    WaitPatiently(time, [this] { Heed(); });
  }
  void SpeakIfDue();
  std::string Words();
  std::string Limit() const { return std::to_string(terms_.limit / std::chrono::seconds(1)) + " s"; }
  std::string Advice() const;
  void Tell(const std::string& words, ExitCode code);

  const RankPlace place_;
  const MeetingTerms terms_;
  Announcement own_;
  Clock::time_point begin_, speaks_;
  StorePtr tcp_, store_;                       // all of it; this run's part
  std::string problem_;                        // why rank 0 is not reached
  std::map<std::int64_t, Announcement> here_;  // as far as this process knows
  std::map<std::int64_t, NoteLine> lines_;     // rank 0's to all others, theirs to it
  bool is_of_the_run_ = false, told_ = false;
  std::shared_ptr<Lifeline> lifeline_;  // closed first: nobody reaches one that has told already
};

template <typename Question>
auto MeetingSearch::Ask(Question question) {
  const StorePtr store = store_ ? store_ : tcp_;
  try {
    return CallPatiently([store, question] { return question(*store); }, [this] { Heed(); });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    Heed();  // it may be known who went
    throw PeerError("rank " + std::to_string(place_.rank) + " lost the store at " + place_.Where() + " (" +
                    C10dWords(error) + "): who kept it ended. Start all processes again");
  }
}

void MeetingSearch::Heed() {
  if (InterruptRequested()) {
    const std::string words = "before all processes were there: nothing was trained, and nothing is saved";
    Tell(own_.Words() + " was asked to stop " + words, ExitCode::kInterrupted);
    throw Error("interrupted " + words, ExitCode::kInterrupted);
  }
  HeedCallers();
  HeedLines();
  if (Clock::now() - begin_ >= terms_.limit) throw PeerError(Words() + ", but " + Advice());
  SpeakIfDue();
}

// What those leave who called rank 0, as all do.
void MeetingSearch::HeedCallers() {
  if (place_.rank == 0 && !own_.key.empty()) Obey(lifeline_->TakeNotes(own_.key));
}

// One of them ends, and says why all do.
void MeetingSearch::Obey(const std::vector<json>& notes) {
  for (const json& note : notes) {
    if (!note.contains("words")) continue;
    const std::string words = note.at("words").get<std::string>();
    const auto code = static_cast<ExitCode>(note.at("code").get<int>());
    Tell(words, code);
    throw Error(words, code);
  }
}

void MeetingSearch::HeedLines() {
  for (auto& [rank, line] : lines_) {
    std::vector<json> notes;
    const bool is_open = TakeNotes(line, own_.key, notes);
    Obey(notes);
    if (is_open) continue;
    constexpr milliseconds kLastNotes{200};  // what it told rank 0 before it went, on another line
    if (rank != 0) std::this_thread::sleep_for(kLastNotes);
    HeedCallers();
    const std::string words = here_.at(rank).Words() + " ended before all processes had found each other";
    Tell(words, ExitCode::kPeerFailed);
    throw PeerError(words + ". Its own words say why; start all again");
  }
}

void MeetingSearch::SpeakIfDue() {
  if (Clock::now() < speaks_) return;
  speaks_ += terms_.later_words;
  terms_.say(Words() + " (start_timeout: " + Limit() + ")");
}

std::string MeetingSearch::Words() {
  const std::string self = place_.rank == 0 ? "" : "rank " + std::to_string(place_.rank) + ": ";
  if (here_.empty() || !problem_.empty())
    return self +
           (place_.rank == 0 && !place_.store_is_kept
                ? (problem_.empty() ? "opens the store at " + place_.Where() : problem_)
                : "waits for rank 0 at " + place_.Where() + (problem_.empty() ? "" : " (" + problem_ + ")"));
  std::vector<std::string> here, missing;
  for (std::int64_t rank = 0; rank < place_.size; ++rank) {
    const auto found = here_.find(rank);
    if (found == here_.end()) {
      missing.push_back(std::to_string(rank));
    } else {
      here.push_back("rank " + std::to_string(rank) + " on " + found->second.host);
    }
  }
  std::string words = self + std::to_string(here.size()) + " of " + std::to_string(place_.size) +
                      " processes are here (" + JoinFew(here) + "); ";
  if (missing.empty()) return words + "they connect to each other";
  return words + "waits for rank " + JoinFew(missing) + " at " + place_.Where();
}

std::string MeetingSearch::Advice() const {
  if (std::ssize(here_) == place_.size)
    return "start_timeout, " + Limit() +
           ", is over: one of them hangs, or two do not reach each other (is a firewall between them?)";
  return "start_timeout, " + Limit() + ", is over. Start each with its RANK, from 0 to " +
         std::to_string(place_.size - 1) + ", all with WORLD_SIZE=" + std::to_string(place_.size) +
         ", MASTER_ADDR=" + place_.host +
         " (an address of rank 0's machine) and MASTER_PORT=" + std::to_string(place_.port) +
         ", as medley launch, torchrun and srun do; or give them longer: start_timeout=SECONDS";
}

void MeetingSearch::Tell(const std::string& words, ExitCode code) {
  if (told_ || !is_of_the_run_) return;
  told_ = true;
  const json note = {{"words", words}, {"code", static_cast<int>(code)}};
  if (place_.rank == 0) return lifeline_->LeaveNotes(own_.key, note);  // some it may not have a line to yet
  LeaveNote(lines_.at(0).line, own_.key, note);
}

void MeetingSearch::Refuse(const std::string& words) {
  is_of_the_run_ = own_.start_is_known && !here_.empty() && here_.begin()->second.start == own_.start;
  Tell(words, ExitCode::kBadInput);
  told_ = true;
  throw InputError(words);
}

StorePtr MeetingSearch::OpenStore() {
  const auto tell = [this](const std::string& problem, bool at_once) {
    if (at_once && problem_.empty()) speaks_ = Clock::now();
    problem_ = problem;
  };
  return StoreSearch({.place = place_, .answer = terms_.answer, .heed = [this] { Heed(); }, .tell = tell})
      .Open();
}

std::string MeetingSearch::AddressOrNone() const {
  try {
    return LocalAddress(place_.host, place_.port);
  } catch (const InputError&) {  // told where another machine has to reach this one
    return "";
  }
}

// Only one that is gone has its place taken: its launcher kept the store, and starts all of them anew.
void MeetingSearch::Begin() {
  own_.key = NewKey();
  const std::string text = ToJson(own_).dump();
  std::string expected;
  for (;;) {
    const std::string now = Ask([=](c10d::Store& store) {
      return StoreText(store.compareSet(kRunKey, StoreBytes(expected), StoreBytes(text)));
    });
    if (now == text) break;
    const auto other = AnnouncementIn(now);
    if (now != expected && other) {
      const Call call = CallOf(*other);
      if (call.ok())
        throw InputError(other->LongWords() + " is at " + place_.Where() +
                         " already, so this process cannot be rank 0 there too. Give each run a MASTER_PORT "
                         "of its own, and one process of each RANK=0");
    }
    expected = now;
  }
  store_ = c10::make_intrusive<c10d::PrefixStore>("medley/" + own_.key, tcp_);
  here_.emplace(0, own_);
  is_of_the_run_ = true;
}

void MeetingSearch::Join() {
  for (milliseconds pause = kLook;; pause = kLater) {
    const std::string text = Ask([](c10d::Store& store) { return RunIn(store); });
    if (const auto first = AnnouncementIn(text)) {
      Call call = CallOf(*first);
      problem_ = call.ok() ? "" : first->Words() + " was there, and is not reached: " + call.problem;
      if (call.ok()) {
        own_.key = first->key;
        here_.emplace(0, *first);
        lines_.emplace(0, NoteLine{.line = std::move(call.line)});
        break;
      }
    }
    Wait(pause);
  }
  Claim();
}

void MeetingSearch::Claim() {
  const Announcement& first = here_.at(0);
  if (const std::string why = WhyAStranger(first, own_); !why.empty())
    Refuse("this process, " + own_.LongWords() + ", found at " + place_.Where() +
           " a run that it does not belong to: " + first.LongWords() + "; " + why +
           ". Give each run a MASTER_PORT of its own; all processes of a run need the same");
  store_ = c10::make_intrusive<c10d::PrefixStore>("medley/" + own_.key, tcp_);
  const std::string key = KeyOfRank(own_.rank), text = ToJson(own_).dump();
  const std::string now =
      Ask([=](c10d::Store& store) { return StoreText(store.compareSet(key, {}, StoreBytes(text))); });
  if (now != text) {
    const auto other = AnnouncementIn(now);
    Refuse((other ? other->LongWords() : "rank " + std::to_string(own_.rank)) + " is at " + place_.Where() +
           " already, so this process (" + own_.host + ", " + std::to_string(own_.pid) +
           ") cannot be it too. Each process needs a RANK of its own, each run a MASTER_PORT of its own");
  }
  is_of_the_run_ = true;
  here_.emplace(own_.rank, own_);
  Ask([](c10d::Store& store) { return store.add(kHereKey, 1); });
}

void MeetingSearch::LookWhoIsHere() {
  const auto others = Ask([](c10d::Store& store) { return store.add(kHereKey, 0); });
  if (others + 1 == std::ssize(here_)) return;
  std::vector<std::string> texts = Ask([size = own_.size, known = here_](c10d::Store& store) {
    std::vector<std::string> found;
    for (std::int64_t rank = 1; rank < size; ++rank) {
      if (known.count(rank) == 0 && store.check({KeyOfRank(rank)}))
        found.push_back(StoreText(store.get(KeyOfRank(rank))));
    }
    return found;
  });
  for (const std::string& text : texts) {
    const auto other = AnnouncementIn(text);
    if (!other) continue;
    here_.emplace(other->rank, *other);
    if (own_.rank != 0) continue;
    Call call = CallOf(*other);
    if (!call.ok() && !call.refused)
      throw PeerError("rank 0 (" + own_.host + ") does not reach " + other->Words() + " at " +
                      other->address + ", port " + std::to_string(other->lifeline) + " (" + call.problem +
                      "). Processes of a run have to reach each other at any port; is a firewall between "
                      "these machines?");
    lines_.emplace(other->rank, NoteLine{.line = std::move(call.line)});  // where it is closed, it is gone
  }
}

std::vector<Announcement> MeetingSearch::All() {
  for (milliseconds pause = kLook;;
       pause = Clock::now() - begin_ < std::chrono::seconds(2) ? kLook : kLater) {
    LookWhoIsHere();
    if (std::ssize(here_) == own_.size) break;
    Wait(pause);
  }
  std::vector<Announcement> all;
  for (const auto& [rank, one] : here_) all.push_back(one);
  return all;
}

Meeting MeetingSearch::Connect(std::vector<Announcement> all) {
  begin_ = Clock::now();
  auto peers = std::make_shared<Peers>(std::move(all), own_.rank, lifeline_);
  const std::string address = peers->AreOnOneMachine() ? "127.0.0.1" : LocalAddress(place_.host, place_.port);
  store_->setTimeout(terms_.limit);
  const StorePtr store = store_;
  const RankPlace place = place_;
  const milliseconds limit = terms_.limit;
  std::unique_ptr<ProcessGroup> group = CallPatiently(
      [=] {
        std::unique_ptr<ProcessGroup> made = JoinGloo(store, place.rank, place.size, address, limit, peers);
        Barrier(*made);
        return made;
      },
      [this] { Heed(); });
  return {.store = store_, .group = std::move(group), .peers = std::move(peers)};
}

}  // namespace

Meeting Meet(const RankPlace& place, const MeetingTerms& terms) {
  const QuietC10d quiet;
  return MeetingSearch(place, terms).Run();
}

}  // namespace medley
