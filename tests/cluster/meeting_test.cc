#include <medley/cluster/meeting.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <medley/base/interrupt.h>
#include <medley/base/machine.h>
#include <medley/cluster/backend_group.h>
#include <medley/cluster/store_group.h>
#include <medley/cluster/store_search.h>

#include "tests/words.h"

namespace medley {
namespace {

using std::chrono::milliseconds;
using test::Has;

constexpr milliseconds kLong{60000};
const Facts kRun = {{"directory", "/runs/a"}, {"settings", "seed=1"}};

// As processes that somebody starts by hand, by threads.
class Looking {
 public:
  Looking(std::int64_t size, std::int64_t port) {
    place.size = size;
    place.host = "127.0.0.1";
    place.port = port;
    place.generation = "none/0";
    place.starter = "torchrun";
    terms.limit = kLong;
    terms.answer = kLong;
    terms.first_words = terms.later_words = milliseconds(10);
    terms.run = kRun;
    terms.say = [this](const std::string& words) {
      const std::lock_guard lock(mutex_);
      said_ += words + "\n";
    };
  }

  // Ends with the meeting, or with words.
  struct End {
    std::optional<Meeting> meeting;
    std::string words;
    ExitCode code = ExitCode::kDone;
  };
  End Meet(std::int64_t rank) const { return Meet(rank, terms); }
  End Meet(std::int64_t rank, const MeetingTerms& by) const {
    RankPlace own = place;
    own.rank = rank;
    End end;
    try {
      end.meeting = medley::Meet(own, by);
    } catch (const Error& error) {
      end.words = error.what();
      end.code = error.code();
    }
    return end;
  }
  std::vector<End> MeetAll(const std::vector<std::int64_t>& ranks) const {
    std::vector<End> ends(ranks.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        threads.emplace_back([&, i] { ends[i] = Meet(ranks[i]); });
    }
    return ends;
  }
  std::string said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  RankPlace place;
  MeetingTerms terms;

 private:
  mutable std::mutex mutex_;
  std::string said_;
};

std::int64_t AFreePort() { return PortOf(Listen(0)); }

class MeetingOfRanks : public ::testing::Test {
 protected:
  // c10d records what its groups do in one map of the process, which is made for one thread.
  MeetingOfRanks() { ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1); }

  void WaitUntilSaid(const std::string& words) const { WaitUntilSaid(looking_, words); }
  static void WaitUntilSaid(const Looking& by, const std::string& words) {
    for (int look = 0; look < 3000 && !Has(by.said(), words); ++look)
      std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(Has(by.said(), words)) << by.said();
  }

  const std::int64_t port_ = AFreePort();
  Looking looking_{2, port_};
};

TEST_F(MeetingOfRanks, ConnectsAllWhoeverIsFirst) {
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{0, 1, 2}, {2, 1, 0}}) {
    looking_.place.size = 3;
    const auto ends = looking_.MeetAll(order);
    std::vector<std::jthread> threads;
    for (const auto& end : ends) {
      ASSERT_TRUE(end.meeting) << end.words;
      EXPECT_EQ(end.meeting->peers->all().size(), 3U);
      threads.emplace_back([&group = *end.meeting->group] {
        EXPECT_EQ(Gather(group, std::to_string(group.rank())), (std::vector<std::string>{"0", "1", "2"}));
      });
    }
  }
}

TEST_F(MeetingOfRanks, WhoWaitsSaysWhoIsHereAndWhoIsNot) {
  looking_.place.size = 3;
  std::vector<Looking::End> ends(3);
  {
    std::vector<std::jthread> threads;
    const auto start = [&](std::size_t rank) {
      threads.emplace_back([&, rank] { ends[rank] = looking_.Meet(static_cast<std::int64_t>(rank)); });
    };
    const std::string where = "127.0.0.1:" + std::to_string(port_);
    start(2);
    WaitUntilSaid("rank 2: waits for rank 0 at " + where + " (Connection refused) (start_timeout: 60 s)\n");
    start(0);
    const std::string host = HostName();
    for (const std::string of : {"\n", "rank 2: "})
      WaitUntilSaid(of + "2 of 3 processes are here (rank 0 on " + host + ", rank 2 on " + host +
                    "); waits for rank 1 at " + where + " (start_timeout: 60 s)\n");
    start(1);
  }
  for (const auto& end : ends) EXPECT_TRUE(end.meeting) << end.words;
}

TEST_F(MeetingOfRanks, EndsWithinItsTimeWithWhatToDo) {
  for (const std::int64_t rank : {0, 1}) {
    Looking::End end;
    looking_.terms.limit = milliseconds(200);
    while (end = looking_.Meet(rank), Has(end.words, "opens the store")) looking_.terms.limit *= 4;
    EXPECT_EQ(end.code, ExitCode::kPeerFailed) << end.words;
    EXPECT_TRUE(Has(end.words, "waits for rank " + std::to_string(1 - rank) + " at 127.0.0.1:")) << end.words;
    EXPECT_TRUE(Has(end.words, "all with WORLD_SIZE=2, MASTER_ADDR=127.0.0.1")) << end.words;
    EXPECT_TRUE(Has(end.words, "start_timeout=SECONDS")) << end.words;
  }
}

// Each is refused by name, while the run that was there first goes on to meet.
TEST_F(MeetingOfRanks, RefusesStrangersByNameAndGoesOn) {
  Looking::End first, second;
  {
    std::jthread keeps([&] { first = looking_.Meet(0); });
    WaitUntilSaid("1 of 2 processes are here");
    Looking larger(3, port_), elsewhere(2, port_), launched(2, port_);
    elsewhere.terms.run = {{"directory", "/runs/b"}, {"settings", "seed=1"}};
    launched.place.generation = "job/0";
    launched.place.generation_is_own = true;
    for (const auto& [stranger, why] : {std::pair{&larger, "it was started as one of 3 processes, not of 2"},
                                        {&elsewhere, "its directory: /runs/b, not /runs/a"},
                                        {&launched, "another launch ('job/0', not 'none/0')"}}) {
      const auto end = stranger->Meet(1);
      EXPECT_EQ(end.code, ExitCode::kBadInput) << end.words;
      for (const std::string& words : {std::string(why), std::string("rank 0 of 2 (directory /runs/a"),
                                       "process " + std::to_string(::getpid()), std::string("MASTER_PORT")})
        EXPECT_TRUE(Has(end.words, words)) << end.words;
    }
    const auto port = elsewhere.Meet(0);
    EXPECT_EQ(port.code, ExitCode::kBadInput);
    EXPECT_TRUE(Has(port.words, "is in use by rank 0 of 2 (directory /runs/a")) << port.words;
    second = looking_.Meet(1);
  }
  EXPECT_TRUE(first.meeting) << first.words;
  EXPECT_TRUE(second.meeting) << second.words;
  const auto late = looking_.Meet(1);
  EXPECT_EQ(late.code, ExitCode::kBadInput) << late.words;
  EXPECT_TRUE(Has(late.words, "rank 1 of 2 (directory /runs/a")) << late.words;
  EXPECT_TRUE(Has(late.words, "already")) << late.words;
}

// Where one launcher started them all, one that cannot take part ends the start.
TEST_F(MeetingOfRanks, OfOneLaunchASecondRankEndsAll) {
  looking_.place.size = 3;
  looking_.place.generation = "job/0";
  looking_.place.generation_is_own = true;
  for (const auto& end : looking_.MeetAll({0, 1, 1})) {
    EXPECT_EQ(end.code, ExitCode::kBadInput) << end.words;
    EXPECT_TRUE(Has(end.words, "rank 1 of 3 (") && Has(end.words, "already")) << end.words;
  }
}

TEST_F(MeetingOfRanks, WhyAllEndIsToldToOneThatHasOnlyCalled) {
  Looking other(2, port_);
  for (Looking* one : {&looking_, &other}) {
    one->place.generation = "job/0";
    one->place.generation_is_own = true;
  }
  looking_.place.size = 3;
  Looking::End first;
  NoteLine caller;
  Announcement zero;
  {
    std::jthread keeps([&] { first = looking_.Meet(0); });
    WaitUntilSaid("1 of 3 processes are here");
    zero = AnnouncementIn(RunIn(*OpenTcpStore(looking_.place, false, kLong))).value();
    caller.line = CallTo("127.0.0.1", zero.lifeline, kLong).line;
    EXPECT_EQ(other.Meet(1).code, ExitCode::kBadInput);
  }
  EXPECT_EQ(first.code, ExitCode::kBadInput) << first.words;
  std::vector<nlohmann::json> notes;
  EXPECT_FALSE(TakeNotes(caller, zero.key, notes)) << "it is gone";
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front().at("words"), first.words);
}

// What claims a rank and is gone then.
TEST_F(MeetingOfRanks, OneThatEndsBeforeAllAreThereEndsTheOthersAndIsNamed) {
  looking_.place.size = 3;
  std::vector<Looking::End> ends;
  {
    std::jthread others([&] { ends = looking_.MeetAll({0, 1}); });
    WaitUntilSaid("2 of 3 processes are here");
    const auto store = OpenTcpStore(looking_.place, false, kLong);
    Announcement one = AnnouncementIn(RunIn(*store)).value();
    auto lifeline = std::make_unique<Lifeline>();
    one.rank = 2;
    one.host = "far";
    one.pid = 77;
    one.lifeline = lifeline->port();
    const std::string said = nlohmann::json(ToJson(one)).dump(), prefix = "medley/" + one.key + "/";
    store->set(prefix + "rank/2", said);
    lifeline.reset();
    store->add(prefix + "here", 1);
  }
  for (const auto& end : ends) {
    EXPECT_EQ(end.code, ExitCode::kPeerFailed) << end.words;
    EXPECT_TRUE(Has(end.words, "rank 2 (host far, process 77) ended before")) << end.words;
  }
}

TEST_F(MeetingOfRanks, IsOverWhereAnInterruptIsAskedFor) {
  std::vector<Looking::End> ends;
  {
    std::jthread all([&] { ends = looking_.MeetAll({0}); });
    WaitUntilSaid("1 of 2 processes are here");
    RequestInterrupt();
  }
  EXPECT_EQ(ends.front().code, ExitCode::kInterrupted) << ends.front().words;
  EXPECT_EQ(looking_.Meet(1).code, ExitCode::kInterrupted) << "also where nobody is";
  ForgetInterrupt();
}

TEST_F(MeetingOfRanks, SaysWhatElseListensThere) {
  looking_.terms.answer = milliseconds(200);
  const Descriptor program = Listen(port_);
  const auto first = looking_.Meet(0), other = looking_.Meet(1);
  EXPECT_TRUE(Has(first.words, "is in use by another program. Give")) << first.words;
  EXPECT_TRUE(Has(other.words, "something listens that does not answer as rank 0")) << other.words;
  for (const auto* end : {&first, &other}) EXPECT_EQ(end->code, ExitCode::kBadInput);
}

TEST_F(MeetingOfRanks, ANameWithoutAnAddressIsSaidAtOnce) {
  for (const std::int64_t rank : {0, 1}) {
    Looking looking(2, port_);
    looking.place.host = "no-such-host.invalid";
    looking.terms.first_words = kLong;
    std::jthread looks([&] { EXPECT_EQ(looking.Meet(rank).code, ExitCode::kInterrupted); });
    WaitUntilSaid(looking, "'no-such-host.invalid' has no address: ");
    RequestInterrupt();
    looks.join();
    ForgetInterrupt();
  }
}

// As torchrun does after a failure: the store stays, and holds what they said who are gone.
TEST_F(MeetingOfRanks, StartedAgainTheyFindEachOtherInAStoreThatIsKept) {
  const auto kept = OpenTcpStore(looking_.place, true, kLong);
  looking_.place.store_is_kept = true;
  for (const char* generation : {"job/0", "job/1", "job/1"}) {
    looking_.place.generation = generation;
    for (const auto& end : looking_.MeetAll({0, 1})) EXPECT_TRUE(end.meeting) << end.words;
  }
}

}  // namespace
}  // namespace medley
