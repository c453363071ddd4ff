#include <medley/data/jsonl_file.h>

#include <nlohmann/json.hpp>

#include "data_files.h"

namespace medley {
namespace {

class Jsonl : public DataFiles {};

TEST_F(Jsonl, AnItemIsALine) {
  const JsonlFile file(Write("a.jsonl", "{\"x\": 1}\n\n[2, 3]\n"));
  ASSERT_EQ(file.size(), 2);
  EXPECT_EQ(file.Read(0).at("x"), 1);
  EXPECT_EQ(file.Read(1), nlohmann::json({2, 3}));
}

TEST_F(Jsonl, AMistakeIsToldWithItsPlaceAndTheOthersAreRead) {
  const JsonlFile file(Write("a.jsonl", "{\"x\": 1}\n\n{\"x\": nul}\n{\"x\": 1, \"x\": 2}\n4\n"));
  EXPECT_TRUE(Refusal([&] { file.Read(1); }).starts_with("a.jsonl:3:7: ")) << Refusal([&] { file.Read(1); });
  EXPECT_TRUE(Refusal([&] { file.Read(2); }).starts_with("a.jsonl:4:10: ")) << Refusal([&] { file.Read(2); });
  EXPECT_EQ(file.Read(3), 4);
}

}  // namespace
}  // namespace medley
