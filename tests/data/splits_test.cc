#include <medley/data/splits.h>

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <medley/data/csv_file.h>
#include <medley/data/jsonl_file.h>

#include "data_files.h"

namespace medley {
namespace {

class SplitFiles : public DataFiles {};

// As a driver's row is (task/drivers/row.h).
struct AskedRow {
  RowRange range;
  std::int64_t number;
};

TEST_F(SplitFiles, EachSplitShowsTheItemsOfItsFile) {
  const Splits<JsonlFile> lines(Write("train.jsonl", "{\"x\": 1}\n{\"x\": 2}\n\n{\"x\": 3}\n"),
                                Write("valid.jsonl", "{\"x\": 10}\n{\"x\": 20}\n"));
  const auto epoch = [&](Split split, std::int64_t count) {
    std::set<std::int64_t> shown;
    for (std::int64_t row = 0; row < count; ++row)
      shown.insert(lines.Read(AskedRow{{.seed = 5, .split = split}, row}).Integer("x"));
    return shown;
  };
  EXPECT_EQ(epoch(Split::kTraining, 3), (std::set<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(epoch(Split::kHeldOut, 2), (std::set<std::int64_t>{10, 20}));
  EXPECT_EQ(lines.stream().size(Split::kHeldOut), 2);
}

TEST_F(SplitFiles, AMistakeNamesTheFileThatItIsIn) {
  const Splits<JsonlFile> lines(Write("train.jsonl", "{\"x\": 1}\n"),
                                Write("valid.jsonl", "\n{\"wrong\": 1}\n"));
  EXPECT_EQ(Refusal([&] { lines.Read({.split = Split::kHeldOut}, 0).Number("x"); }),
            "valid.jsonl:2: \"x\" is missing (there are: wrong)");
}

TEST_F(SplitFiles, OfOneFileSomeItemsAreHeldOut) {
  const Splits<CsvFile> table(Write("a.csv", "x\n1\n2\n3\n4\n"), 1, "table");
  std::set<std::string> trained, held_out;
  for (std::int64_t row = 0; row < 3; ++row) trained.insert(table.Read({.seed = 1}, row).at(0));
  held_out.insert(table.Read({.seed = 1, .split = Split::kHeldOut}, 0).at(0));
  EXPECT_EQ(trained.size(), 3U);
  EXPECT_EQ(trained.count(*held_out.begin()), 0U);
}

// Given, a file for evaluations is held out whole, and what stands in both files is counted.
TEST_F(SplitFiles, AValidationFileGoesBeforeAShare) {
  const auto train = Write("train.csv", "x\n1\n2\n3\n4\n"), valid = Write("valid.csv", "x\n3\n5\n4\n");
  DataRules rules;
  const HeldOutItems asked{.asked = 0.5, .task = "table", .rules = &rules};
  const Splits<CsvFile> table(train, valid, asked);
  EXPECT_EQ(table.stream().size(Split::kTraining), 4);
  EXPECT_EQ(table.stream().size(Split::kHeldOut), 3);
  std::vector<std::string> all;
  table.ForEach([&](const CsvFile& file, std::int64_t item) { all.push_back(file.Read(item).at(0)); });
  EXPECT_EQ(all, (std::vector<std::string>{"1", "2", "3", "4", "3", "5", "4"}));
  EXPECT_EQ(rules.HeldOutWords("table"), "3 of a file of their own");
  EXPECT_EQ(
      rules.TakeWords(),
      std::vector<std::string>{"'table' is evaluated on 3 items of a file of their own, of which 2 stand in "
                               "the training file too: their scores tell nothing of what is new"});
  const DataRules again = DataRules::Of(rules.Json());
  EXPECT_EQ(again.RowsHeldOut("table"), rules.RowsHeldOut("table"));

  const Splits<CsvFile> share(train, "", asked);
  EXPECT_EQ(share.stream().size(Split::kTraining) + share.stream().size(Split::kHeldOut), 4);
}

TEST_F(SplitFiles, AFileWithoutItemsIsNamed) {
  const auto some = Write("some.jsonl", "1\n"), none = Write("none.jsonl", "\n");
  EXPECT_EQ(Refusal([&] { Splits<JsonlFile>(none, some); }),
            "none.jsonl has no items; expected one at least");
  EXPECT_EQ(Refusal([&] { Splits<JsonlFile>(some, none); }),
            "none.jsonl has no items; expected one at least");
}

}  // namespace
}  // namespace medley
