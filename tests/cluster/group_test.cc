#include <medley/cluster/group.h>

#include <ATen/ATen.h>
#include <medley/cluster/cluster.h>
#include <medley/cluster/local_address.h>
#include <medley/cluster/nccl_group.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cluster/threads_as_ranks.h"
#include "tests/words.h"

namespace medley {
namespace {

using test::AsRanks;

TEST(Group, AddsUpInAllTypesTheSameBitsOnAll) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
    std::vector<at::Tensor> sums(3);
    AsRanks(3, [&](ProcessGroup& group) {
      at::Tensor values = at::arange(5).mul(0.1 + static_cast<double>(group.rank())).to(type);
      group.AllReduce(values);
      sums[static_cast<std::size_t>(group.rank())] = values;
    });
    at::Tensor expected = at::zeros({5}, at::kDouble);
    for (int rank = 0; rank < 3; ++rank) expected += at::arange(5).mul(0.1 + rank).to(type).to(at::kDouble);
    EXPECT_TRUE(at::allclose(sums[0].to(at::kDouble), expected, 1e-2)) << type << sums[0];
    EXPECT_TRUE(at::equal(sums[0], sums[1]) && at::equal(sums[1], sums[2])) << type;
  }
}

TEST(Group, GathersBroadcastsAndScatters) {
  AsRanks(3, [](ProcessGroup& group) {
    const auto rank = static_cast<double>(group.rank());
    at::Tensor all = at::zeros({6}), own = at::full({2}, rank);
    group.AllGather(all, own);
    EXPECT_TRUE(at::equal(all, at::tensor({0.F, 0.F, 1.F, 1.F, 2.F, 2.F})));
    group.Broadcast(own, 2);
    EXPECT_TRUE(at::equal(own, at::full({2}, 2.0)));
    group.ReduceScatter(own, at::arange(6).to(at::kFloat));
    EXPECT_TRUE(
        at::equal(own, at::tensor({6.F * static_cast<float>(rank), 6.F * static_cast<float>(rank) + 3})));
    const auto lists =
        GatherLists(group, std::vector<std::int64_t>(static_cast<std::size_t>(group.rank()), 7));
    EXPECT_EQ(lists, (std::vector<std::vector<std::int64_t>>{{}, {7}, {7, 7}}));
    EXPECT_EQ(GatherMessages(group, std::tuple(rank)), (std::vector<std::tuple<double>>{0, 1, 2}));
    EXPECT_EQ(Broadcast(group, group.rank() == 1 ? std::string("a\0b", 3) : "other", 1),
              std::string("a\0b", 3));
    EXPECT_EQ(Broadcast(group, ""), "");
    EXPECT_EQ(Gather(group, std::string(static_cast<std::size_t>(group.rank()), 'x')),
              (std::vector<std::string>{"", "x", "xx"}));
    Barrier(group);
  });
}

TEST(Group, OneThatDoesNotAnswerIsToldInTime) {
  AsRanks(2, [](ProcessGroup& group) {
    Barrier(group);
    if (group.rank() == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    group.SetTimeout(std::chrono::milliseconds(500));
    try {
      Barrier(group);
      ADD_FAILURE() << "nobody else came";
    } catch (const PeerError& error) {
      EXPECT_EQ(error.code(), ExitCode::kPeerFailed);
      EXPECT_TRUE(test::Has(error.what(), "rank 1 of 2 cannot go on")) << error.what();
    }
  });
}

TEST(Group, OneThatEndsIsToldAtOnce) {
  AsRanks(2, [](ProcessGroup& group) {
    Barrier(group);
    if (group.rank() == 0) return;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(Barrier(group), PeerError);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << "its timeout is 60";
  });
}

TEST(Group, AProcessAloneGetsBackWhatItGave) {
  Cluster cluster;
  EXPECT_TRUE(cluster.alone() && cluster.is_first());
  EXPECT_EQ(Broadcast(cluster.group(), "text"), "text");
  EXPECT_EQ(Gather(cluster.group(), std::string("text")), std::vector<std::string>{"text"});
  int calls = 0;
  cluster.FirstAlone([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

// This process has not opened libtorch_cuda.so, in which NCCL's part of c10d lies.
TEST(Nccl, SaysInASentenceWhyItIsNotThere) {
  const bool built = std::filesystem::exists(MEDLEY_BUILD_DIR "/lib/medley/medley_nccl.so");
  const std::string words = NcclProblem();
  EXPECT_TRUE(test::Has(words, built ? "medley_nccl.so cannot be opened" : "medley_nccl.so is not there"))
      << words;
  EXPECT_EQ(built, test::Has(words, "undefined symbol: _ZN4c10d16ProcessGroupNCCL")) << words;
  EXPECT_FALSE(test::Has(words, "\n")) << words;
  ::setenv("MEDLEY_NCCL", "0", 1);
  EXPECT_EQ(NcclProblem(), "MEDLEY_NCCL is 0");
  ::unsetenv("MEDLEY_NCCL");
}

TEST(LocalAddress, IsOneOfThisMachinesInNumbers) {
  const auto address = [](const std::string& host) -> std::string {
    try {
      return LocalAddress(host, 29500);
    } catch (const InputError& error) {
      return error.what();  // a machine without a network
    }
  };
  const std::string own = address("127.0.0.1");
  EXPECT_TRUE(own.find_first_not_of("0123456789.:abcdef") == std::string::npos ||
              test::Has(own, "has no network"))
      << own;
  EXPECT_TRUE(test::Has(address("no-such-host.invalid"), "has no address"))
      << address("no-such-host.invalid");
}

}  // namespace
}  // namespace medley
