// What the command sets for the libraries below libtorch, as these libraries say it themselves.
#include <gtest/gtest.h>

#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::CommandResult;
using test::Has;
using test::Shell;

class OpenMp : public ::testing::Test {
 protected:
  // A run of one step, with these variables; OpenMP tells its settings when it is opened.
  CommandResult Train(const std::string& variables, const std::string& before = "") const {
    return Shell("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME OMP_DISPLAY_ENV=verbose " +
                 variables + " " + before + test::PlainMedley() +
                 "train " MEDLEY_SOURCE_DIR "/configs/runs/control.json --out " +
                 (scratch_ / "run").string() + " steps=1 threads=2 plan=false tasks.control.rows=2 2>&1");
  }
  static std::string Spins(const std::string& count) { return "GOMP_SPINCOUNT = '" + count + "'"; }
  static bool IsGnus(const CommandResult& trained) { return Has(trained.out, "GOMP_SPINCOUNT"); }

  ScratchDirectory scratch_;
};

TEST_F(OpenMp, ThreadsThatWaitSleepInARun) {
  const CommandResult trained = Train("");
  EXPECT_EQ(trained.code, 0) << trained.out;
  if (!IsGnus(trained)) GTEST_SKIP() << "this libtorch has another OpenMP than GNU's";
  EXPECT_TRUE(Has(trained.out, Spins("0"))) << trained.out;
  EXPECT_FALSE(Has(trained.out, "Invalid value")) << trained.out;
}

TEST_F(OpenMp, IsAsTheUserWantsIt) {
  const CommandResult counted = Train("GOMP_SPINCOUNT=7");
  EXPECT_EQ(counted.code, 0) << counted.out;
  if (!IsGnus(counted)) GTEST_SKIP() << "this libtorch has another OpenMP than GNU's";
  EXPECT_TRUE(Has(counted.out, Spins("7"))) << counted.out;
  const CommandResult spinning =
      Shell("env -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose OMP_WAIT_POLICY=active " + test::PlainMedley() +
            "sample control --rows 1 --out " + (scratch_ / "rows.png").string() + " 2>&1");
  EXPECT_TRUE(Has(spinning.out, "OMP_WAIT_POLICY = 'ACTIVE'")) << spinning.out;
  EXPECT_FALSE(Has(spinning.out, Spins("0"))) << spinning.out;
}

TEST_F(OpenMp, OfProcessesThatAreLaunchedSleepToo) {
  const CommandResult trained = Train("", test::PlainMedley() + "launch -n 2 -- ");
  EXPECT_EQ(trained.code, 0) << trained.out;
  if (!IsGnus(trained)) GTEST_SKIP() << "this libtorch has another OpenMP than GNU's";
  const std::size_t first = trained.out.find(Spins("0"));
  ASSERT_NE(first, std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find(Spins("0"), first + 1), std::string::npos) << trained.out;
  EXPECT_FALSE(Has(trained.out, Spins("300000"))) << trained.out;
}

}  // namespace
}  // namespace medley
