// Runs of several processes that divide the optimizer's moments.
#include <medley/base/durable_file.h>
#include <medley/checkpoint/divided_state.h>
#include <medley/weights/safetensors.h>

#include <ATen/ATen.h>

#include "tests/cluster/ranks_fixture.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::kSteady;
using test::Shell;

class DividedRuns : public test::Ranks {
 protected:
  // Whole, whatever wrote it.
  static std::map<std::string, at::Tensor> StateIn(const fs::path& checkpoint) {
    auto state = ReadSafetensors(checkpoint / "optim.safetensors");
    JoinParts(checkpoint, state);
    return state;
  }
  void ExpectTheSameCheckpoint(const std::string& run, const std::string& other, std::int64_t step) const {
    const fs::path a = At(run) / CheckpointName(step), b = At(other) / CheckpointName(step);
    EXPECT_TRUE(ReadText(a / "model.safetensors") == ReadText(b / "model.safetensors")) << "weights";
    const auto found = StateIn(a), expected = StateIn(b);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, values] : expected)
      EXPECT_TRUE(at::equal(found.at(name).reshape({-1}), values.reshape({-1}))) << name;
  }
  bool HasPart(const std::string& run, std::int64_t step, std::int64_t rank, std::int64_t ranks) const {
    return fs::exists(At(run) / CheckpointName(step) / PartFile({rank, ranks}));
  }
};

TEST_F(DividedRuns, AreThoseOfWholeMomentsToTheBitAlsoWhereThatChanges) {
  const std::string settings = std::string(kSteady) + "optimizer.moments=8bit ";
  ASSERT_EQ(Train(2, "whole", "steps=6" + settings).code, 0);
  const CommandResult done = Train(2, "run", "steps=2 optimizer.shard=true" + settings);
  ASSERT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(Has(done.out, "each of 2 processes keeps its part of the moments")) << done.out;
  EXPECT_TRUE(HasPart("run", 2, 0, 2) && HasPart("run", 2, 1, 2));
  for (const std::string more : {"steps=4 optimizer.shard=false", "steps=6 optimizer.shard=true"}) {
    const CommandResult resumed = Resume(2, "run", more);
    ASSERT_EQ(resumed.code, 0) << resumed.out;
    ExpectTheSameSumsOnAll("run", 2);
  }
  EXPECT_FALSE(HasPart("run", 4, 0, 2));
  for (const std::int64_t step : {2, 4, 6}) ExpectTheSameCheckpoint("run", "whole", step);
}

TEST_F(DividedRuns, GoOnWithAnotherNumberOfThem) {
  ExpectToGoOnWithAnotherNumber("optimizer.shard=true");
  EXPECT_FALSE(HasPart("straight", 6, 0, 1)) << "a process by itself has all";
}

TEST_F(DividedRuns, PlanWithTheBytesThatEachHas) {
  const CommandResult done =
      Train(2, "run", "plan=true budget=1GiB steps=1 eval.every=0 optimizer.shard=true");
  ASSERT_EQ(done.code, 0) << done.out;
  const auto optimizer = [&](const std::string& run) {
    return nlohmann::json::parse(ReadText(At(run) / "plan.json")).at("floor").at("optimizer").get<double>();
  };
  const CommandResult whole = Shell(test::Medley() + "estimate " + Quickstart() + " --json");
  const double all =
      nlohmann::json::parse(whole.out.substr(whole.out.find('{'))).at("model").at("optimizer").get<double>();
  for (const std::string run : {"run", "run/rank-1"}) EXPECT_NEAR(optimizer(run), all / 2, all / 50) << run;
}

// A checkpoint has the parts of all or is none.
TEST_F(DividedRuns, WhereOneCannotWriteItsPartNothingIsSaved) {
  const std::string settings = std::string("steps=5 optimizer.shard=true") + kSteady;
  ASSERT_EQ(Train(2, "whole", settings).code, 0);
  for (const std::int64_t rank : {0, 1}) {
    const std::string run = "run" + std::to_string(rank);
    const CommandResult ended =
        Train(2, run, settings, "ON_RANK=" + std::to_string(rank) + " AT=4 FAULT=disk");
    EXPECT_EQ(ended.code, 1) << ended.out;
    const std::string whose = rank == 0 ? "" : "rank 1: ";
    EXPECT_TRUE(Has(ended.out, "step 4 was not saved: " + whose + "cannot")) << ended.out;
    EXPECT_TRUE(Has(ended.out, PartFile({rank, 2}))) << ended.out;
    EXPECT_FALSE(Has(ended.out, "did not answer")) << ended.out;
    EXPECT_EQ(ListCheckpoints(At(run)).front().step, 3);
    for (const fs::path& path : ListDirectory(At(run)))
      EXPECT_FALSE(path.filename().string().starts_with(".tmp")) << path;
    EXPECT_EQ(Resume(2, run).code, 0);
    ExpectTheSameCheckpoint(run, "whole", 5);
  }
}

// That one has a part alone, so all must write. What the guard of one says the others know a step later.
TEST_F(DividedRuns, SaveAllWhereOneIsAskedToOrMayEndSoon) {
  const std::string settings = std::string("steps=4 optimizer.shard=true budget=64MiB") + kSteady;
  ASSERT_EQ(Train(2, "whole", settings).code, 0);
  struct Case {
    std::string fault, why;
    std::int64_t step;
  };
  for (const auto& [fault, why, step] :
       {Case{"save", "a signal asked for it", 2}, Case{"hold", "the next step may be the last", 3}}) {
    const CommandResult done =
        Train(2, fault, settings + " checkpoint.every=100", "ON_RANK=1 AT=2 FAULT=" + fault);
    EXPECT_EQ(done.code, 0) << done.out;
    EXPECT_TRUE(Has(done.out, why)) << done.out;
    ExpectTheSameSumsOnAll(fault, 2);
    EXPECT_TRUE(HasPart(fault, step, 0, 2) && HasPart(fault, step, 1, 2)) << done.out;
    for (const std::int64_t saved : {step, std::int64_t{4}}) ExpectTheSameCheckpoint(fault, "whole", saved);
  }
}

}  // namespace
}  // namespace medley
