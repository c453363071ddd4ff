// What a scheduler's signals do to a run: it is saved and goes on, or is saved and ends, and its job is
// requeued.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <fstream>

#include <medley/base/descriptor.h>
#include <medley/checkpoint/checkpoint_files.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/background.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Background;
using test::Has;
using test::Medley;
using test::StepsOf;

class Signals : public ::testing::Test {
 protected:
  Signals() { WriteText(scratch_ / "weights.json", test::kOneTaskWeights); }

  std::string Settings(const std::string& more) const {
    return std::string(test::kOneTask) + (scratch_ / "weights.json").string() + " checkpoint.every=1000000 " +
           more;
  }
  std::string Train(const std::string& more) const {
    return Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + run().string() +
           " " + Settings(more);
  }
  fs::path run() const { return scratch_ / "run"; }
  void Script(const std::string& name, const std::string& text) const {
    WriteText(scratch_ / name, "#!/bin/sh\n" + text);
    fs::permissions(scratch_ / name, fs::perms::owner_all);
  }

  ScratchDirectory scratch_;
};

TEST_F(Signals, Usr1SavesAndGoesOnAndUsr2SavesAndEnds) {
  Background train(Train("steps=1000000"), scratch_ / "words");
  for (int asked = 1; asked <= 2; ++asked) {
    const std::int64_t before = StepsOf(run());
    ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run()) > before + 2; })) << train.words();
    const std::int64_t least = StepsOf(run());
    train.Signal(SIGUSR1);
    ASSERT_TRUE(train.WaitUntil([&] {
      const auto saved =
          fs::exists(run() / "LATEST") ? ListCheckpoints(run()) : std::vector<CheckpointEntry>();
      return !saved.empty() && saved.front().step >= least;
    })) << train.words();
    const std::int64_t saved = ListCheckpoints(run()).front().step;
    EXPECT_TRUE(train.WaitUntil([&] { return StepsOf(run()) > saved + 2; })) << train.words();
    EXPECT_EQ(ListCheckpoints(run()).front().step, saved) << "once for each signal";
  }
  for (int times = 0; times < 3; ++times) train.Signal(SIGUSR2);  // a scheduler may repeat itself
  EXPECT_EQ(train.Wait(), 130) << train.words();
  EXPECT_EQ(ListCheckpoints(run()).front().step, StepsOf(run()));
  EXPECT_TRUE(Has(ReadText(run() / "log.txt"), "saving early: a signal asked for it"));
}

// Which a process without a handler does not survive.
TEST_F(Signals, OnesThatComeBeforeTheFirstStepOrBehindTheLastEndNothing) {
  Background train(Train("steps=3"), scratch_ / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return Has(train.words(), "the run lies in"); })) << train.words();
  while (!train.HasEnded()) {
    train.Signal(SIGUSR1);
    ::usleep(2000);
  }
  EXPECT_EQ(train.Wait(), 0) << train.words();
  EXPECT_EQ(ListCheckpoints(run()).front().step, 3);
}

// The test is whom it calls on, and says nothing. (The other moments: tests/crash/signals.)
TEST_F(Signals, AProcessThatLooksForTheOthersEndsToBeStartedAgain) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) {
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* general = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listening.get(), general, size), 0);
    ASSERT_EQ(::listen(listening.get(), 8), 0);
    ASSERT_EQ(::getsockname(listening.get(), general, &size), 0);
    Background train(
        "env RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" +
            std::to_string(ntohs(address.sin_port)) + " " + Train("steps=2"),
        scratch_ / "words");
    pollfd called{.fd = listening.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&called, 1, 60'000), 1) << train.words();
    train.Signal(SIGUSR1);  // there is no step to be saved, and it goes on looking
    ASSERT_TRUE(train.WaitUntil([&] { return Has(train.words(), "is saved when it is done"); }));
    train.Signal(signal);
    EXPECT_EQ(train.Wait(), 130) << train.words();
    EXPECT_TRUE(Has(train.words(), "nothing was trained, and nothing is saved")) << train.words();
    EXPECT_FALSE(fs::exists(run()));
  }
}

TEST_F(Signals, ASecondTermLeavesAtOnce) {
  Background train(Train("steps=1000000"), scratch_ / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run()) > 2; })) << train.words();
  train.Signal(SIGUSR2);
  ::usleep(1000);
  train.Signal(SIGTERM);
  const int code = train.Wait();
  // Unless the run was saved and over before it came.
  EXPECT_TRUE(code == 1 || code == 130) << code << train.words();
}

// docs/slurm.sbatch with a cluster of two scripts: the job that runs out of time is requeued, and goes on.
TEST_F(Signals, AJobThatRunsOutOfTimeIsRequeuedAndGoesOn) {
  Script("srun", "echo $$ > " + (scratch_ / "step").string() + "\nexec \"$@\"\n");
  Script("scontrol", "echo \"$@\" >> " + (scratch_ / "requeued").string() + "\n");
  const auto job = [&](const std::string& more) {
    return "env PATH=" + scratch_.path().string() + ":$PATH SLURM_JOB_ID=7 MEDLEY=" + Medley() +
           " CONFIG=" + MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json RUN=" + run().string() +
           " bash " MEDLEY_SOURCE_DIR "/docs/slurm.sbatch " + more;
  };
  {
    Background first(job(Settings("steps=1000000")), scratch_ / "first");
    ASSERT_TRUE(first.WaitUntil([&] { return StepsOf(run()) > 2; })) << first.words();
    ::kill(std::stoi(ReadText(scratch_ / "step")), SIGUSR2);
    EXPECT_EQ(first.Wait(), 0) << first.words();
    EXPECT_EQ(ReadText(scratch_ / "requeued"), "requeue 7\n") << first.words();
  }
  const std::int64_t done = StepsOf(run());
  {
    Background second(job(""), scratch_ / "second");
    ASSERT_TRUE(second.WaitUntil([&] { return StepsOf(run()) > done + 2; })) << second.words();
    ::kill(std::stoi(ReadText(scratch_ / "step")), SIGTERM);
    EXPECT_EQ(second.Wait(), 0) << second.words();
  }
  // A job that fails is not tried again and again.
  WriteText(run() / "weights.json", "{");
  Background third(job(""), scratch_ / "third");
  EXPECT_EQ(third.Wait(), 2) << third.words();
  EXPECT_EQ(ReadText(scratch_ / "requeued"), "requeue 7\nrequeue 7\n");
}

}  // namespace
}  // namespace medley
