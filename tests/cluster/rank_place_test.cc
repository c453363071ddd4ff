#include <medley/cluster/rank_place.h>

#include <gtest/gtest.h>
#include <medley/base/error.h>

#include <map>
#include <string>

#include "tests/words.h"

namespace medley {
namespace {

using Variables = std::map<std::string, std::string>;

RankPlace PlaceIn(const Variables& variables) {
  return FindRankPlace([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string Refusal(const Variables& variables) {
  try {
    PlaceIn(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29501"},
                             {"TORCHELASTIC_RUN_ID", "job"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Variables With(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

TEST(RankPlace, AloneWhereNobodySaysOtherwise) { EXPECT_EQ(PlaceIn({}), RankPlace()); }

TEST(RankPlace, OfTorchrunWithAStoreThatItKeepsAndAGenerationARestart) {
  const RankPlace place = PlaceIn(kTorchrun);
  EXPECT_EQ(place, (RankPlace{.rank = 3,
                              .size = 4,
                              .local_rank = 1,
                              .local_size = 2,
                              .host = "node1",
                              .port = 29501,
                              .store_is_kept = true,
                              .generation = "job/2",
                              .generation_is_own = true,
                              .starter = "torchrun"}));
  EXPECT_NE(PlaceIn(With(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "3"}})).generation, place.generation);
  EXPECT_EQ(PlaceIn({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
}

TEST(RankPlace, OfSrunButNotOfTheScriptThatSbatchRuns) {
  Variables srun = {{"SLURM_NTASKS", "5"},
                    {"SLURM_PROCID", "4"},
                    {"SLURM_LOCALID", "0"},
                    {"SLURM_NODEID", "2"},
                    {"SLURM_STEP_NUM_TASKS", "5"},
                    {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                    {"SLURM_STEP_NODELIST", "gpu[007-009,11],login"},
                    {"SLURM_JOB_ID", "1234567"},
                    {"SLURM_STEP_ID", "1"}};
  const RankPlace place = PlaceIn(srun);
  EXPECT_EQ(place.rank, 4);
  EXPECT_EQ(place.size, 5);
  EXPECT_EQ(place.local_size, 1);
  EXPECT_EQ(place.host, "gpu007");
  EXPECT_EQ(place.port, 24567);
  EXPECT_EQ(place.generation, "1234567.1/0");
  EXPECT_EQ(PlaceIn(With(srun, {{"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "1"}})).local_size, 2);
  EXPECT_EQ(PlaceIn(With(srun, {{"SLURM_STEP_NODELIST", "a,b"}})).host, "a");
  srun.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(PlaceIn(srun), RankPlace());
}

TEST(RankPlace, OfMpirunOnOneMachine) {
  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"OMPI_MCA_ess_base_jobid", "42"}};
  EXPECT_EQ(PlaceIn(mpi).host, "127.0.0.1");
  EXPECT_EQ(PlaceIn(mpi).port, 20042);
  EXPECT_TRUE(test::Has(Refusal(With(mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}})), "LOCAL_RANK is '1'"));
  EXPECT_TRUE(test::Has(
      Refusal(With(mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})),
      "MASTER_ADDR is not set"));
}

TEST(RankPlace, ATorchrunOnEachOfSrunsMachinesIsNoContradiction) {
  const Variables both = With(kTorchrun, {{"SLURM_STEP_NUM_TASKS", "2"},
                                          {"SLURM_PROCID", "1"},
                                          {"SLURM_LOCALID", "0"},
                                          {"SLURM_STEP_NODELIST", "node[1-2]"},
                                          {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                          {"SLURM_NODEID", "1"}});
  EXPECT_EQ(PlaceIn(both).starter, "torchrun");
}

TEST(RankPlace, RefusesWhatIsHalfOrWrongOrContradicts) {
  for (const auto& [more, words] : std::vector<std::pair<Variables, std::string>>{
           {{{"RANK", "4"}}, "RANK is '4'; expected a whole number from 0 to 3"},
           {{{"RANK", "one"}}, "RANK is 'one'"},
           {{{"WORLD_SIZE", "0"}}, "WORLD_SIZE is '0'"},
           {{{"MASTER_PORT", "70000"}}, "MASTER_PORT is '70000'"},
           {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"MASTER_ADDR", "a"}},
            "torchrun says rank 3 of 4, but mpirun says rank 0 of 3"}})
    EXPECT_TRUE(test::Has(Refusal(With(kTorchrun, more)), words)) << Refusal(With(kTorchrun, more));
  Variables half = kTorchrun;
  half.erase("MASTER_ADDR");
  EXPECT_TRUE(test::Has(Refusal(half), "MASTER_ADDR is not set"));
  EXPECT_TRUE(test::Has(Refusal({{"WORLD_SIZE", "2"}}), "RANK is not set"));
}

}  // namespace
}  // namespace medley
