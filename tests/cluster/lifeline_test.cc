#include <medley/cluster/lifeline.h>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <medley/cluster/peers.h>

#include "tests/words.h"

namespace medley {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kSoon{2000};
constexpr const char* kKey = "of this run";

// What was left is there at the latest a moment after the call.
std::vector<json> Notes(Lifeline& lifeline, std::size_t count) {
  std::vector<json> notes;
  for (int look = 0; look < 500 && notes.size() < count; ++look) {
    for (json& note : lifeline.TakeNotes(kKey)) notes.push_back(std::move(note));
    if (notes.size() < count) std::this_thread::sleep_for(milliseconds(2));
  }
  return notes;
}

TEST(Lifeline, SaysWhetherItsProcessLives) {
  auto lifeline = std::make_unique<Lifeline>();
  const std::int64_t port = lifeline->port();
  const Call call = CallTo("127.0.0.1", port, kSoon);
  ASSERT_TRUE(call.ok()) << call.problem;
  EXPECT_TRUE(IsOpen(call.line));
  lifeline.reset();
  EXPECT_FALSE(IsOpen(call.line));
  EXPECT_TRUE(CallTo("127.0.0.1", port, kSoon).refused);
  EXPECT_FALSE(CallTo("no-such-host.invalid", port, kSoon).has_address);
}

TEST(Lifeline, KeepsNotesOfThoseThatAreGoneAndOfNobodyElse) {
  Lifeline lifeline;
  {
    const Call call = CallTo("127.0.0.1", lifeline.port(), kSoon);
    LeaveNote(call.line, kKey, json::object({{"first", 1}}));
    LeaveNote(call.line, kKey, json::object({{"second", "two\nlines"}}));
    LeaveNote(call.line, "of another run", json::object({{"third", 3}}));
    const std::string junk = "GET / HTTP/1.1\r\n\r\n[1,\n\n{}\n{\"key\": 3}\n";
    EXPECT_GT(::send(call.line.get(), junk.data(), junk.size(), 0), 0);
  }
  const std::vector<json> notes = Notes(lifeline, 2);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].at("first"), 1);
  EXPECT_EQ(notes[1].at("second"), "two\nlines");
  const Call endless = CallTo("127.0.0.1", lifeline.port(), kSoon);
  const std::string text(1 << 20, 'x');
  while (::send(endless.line.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0 &&
         IsOpen(endless.line))
    EXPECT_TRUE(lifeline.TakeNotes(kKey).empty());
}

// Processes that have found each other, and can go one by one.
struct Found {
  explicit Found(std::int64_t size) {
    std::vector<Announcement> all;
    for (std::int64_t rank = 0; rank < size; ++rank) {
      RankPlace place;
      place.rank = rank;
      place.size = size;
      Announcement one = Announce(place, {});
      one.key = kKey;
      one.host = "host" + std::to_string(rank);
      lifelines.push_back(std::make_shared<Lifeline>());
      one.lifeline = lifelines.back()->port();
      all.push_back(one);
    }
    for (std::int64_t rank = 0; rank < size; ++rank)
      peers.push_back(std::make_unique<Peers>(all, rank, lifelines[static_cast<std::size_t>(rank)]));
  }
  void End(std::size_t rank) {
    peers[rank].reset();
    lifelines[rank].reset();
  }

  std::vector<std::shared_ptr<Lifeline>> lifelines;
  std::vector<std::unique_ptr<Peers>> peers;
};

// Whoever learns it late finds the early ones gone as well.
TEST(Peers, AllNameTheOneThatEndedHoweverLateTheyLook) {
  for (std::size_t lost = 0; lost < 4; ++lost) {
    Found found(4);
    found.End(lost);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      if (rank == lost) continue;
      const std::string words = found.peers[rank]->WhoEnded();
      EXPECT_TRUE(words.starts_with("rank " + std::to_string(lost) + " (host host" + std::to_string(lost) +
                                    ", process "))
          << rank << ": " << words;
      EXPECT_TRUE(words.ends_with(") ended")) << words;
      found.End(rank);
    }
  }
}

TEST(Peers, SeveralThatEndedAreNamedAndNobodyWhereAllLive) {
  Found found(4);
  EXPECT_EQ(found.peers[2]->WhoEnded(milliseconds(1)), "");
  found.End(1);
  found.End(3);
  const std::string words = found.peers[0]->WhoEnded();
  EXPECT_TRUE(test::Has(words, "rank 1 (") && test::Has(words, "rank 3 (") && !test::Has(words, "rank 2 ("))
      << words;
}

TEST(Peers, NameTheOneThatDoesNotWaitWithThem) {
  Found found(3);
  std::vector<std::string> words(3);
  {
    std::vector<std::jthread> threads;
    for (const std::size_t rank : {0U, 2U})
      threads.emplace_back([&, rank] { words[rank] = found.peers[rank]->WhoHangs(); });
  }
  for (const std::size_t rank : {0U, 2U})
    EXPECT_TRUE(words[rank].starts_with("rank 1 (host host1") && words[rank].ends_with(" did not answer") &&
                !test::Has(words[rank], "rank " + std::to_string(2 - rank)))
        << words[rank];
}

}  // namespace
}  // namespace medley
