// Runs with adapters, planned by the command. tests/session/adapters_test.cc has the runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Medley;
using test::Shell;

class AdapterRuns : public ::testing::Test {
 protected:
  ScratchDirectory scratch_;
};

// Of one budget: what frozen weights save of gradients, moments and inputs becomes rows.
TEST_F(AdapterRuns, HaveMoreRowsThanFullTraining) {
  const auto rows = [&](const std::string& more) {
    const fs::path out = scratch_ / "plan";
    const CommandResult plan =
        Shell(Medley() +
              "plan " MEDLEY_SOURCE_DIR
              "/configs/runs/quickstart.json --budget 40MiB threads=1 tasks.position_qa.rows=auto "
              "weights=" +
              (scratch_ / "weights.json").string() + " --out " + out.string() + " " + more + " 2>&1");
    EXPECT_EQ(plan.code, 0) << plan.out;
    return json::parse(ReadText(out / "plan.json")).at("tasks").at(0).at("rows").get<int>();
  };
  WriteText(scratch_ / "weights.json", R"({"weights": {"position_qa": 1}})");
  const int full = rows(""), adapted = rows("lora.rank=4");
  EXPECT_GT(adapted, full);
  std::printf("rows at rank 4: %d, of full training: %d\n", adapted, full);
}

}  // namespace
}  // namespace medley
