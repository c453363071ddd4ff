// What an error of libtorch's inside a pass says beside its own words, which name no tensor.
#include <gtest/gtest.h>
#include <medley/step/passes/pass_runner.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// What the last of these passes, each over two rows, ends with.
std::string PassFails(Fixture& fixture, const Model& model) {
  MicroBatch micro({.task = *fixture.task, .model = model, .device = at::kCPU}, fixture.Rows(3, 2));
  return MessageOf([&] {
    for (const PassInfo& pass : fixture.info->variants.front().passes) micro.RunPass(pass);
  });
}

TEST(PassShapes, AnErrorNamesTaskPassColumnsAndOutputs) {
  FixtureModel model;
  const auto run = [](const std::string& pass, PassContext& context) -> Sums {
    const Sums sums = QaPass(pass, context);
    return {{"answer", at::mm(at::ones({2, 3}), at::ones({4, 5})).sum()}};
  };
  Fixture fixture(QaInfo("qa", 1),
                  {.sample = [](const RowRange& rows) { return QaRows(rows, 1); }, .run = run});
  const std::string words = PassFails(fixture, model);
  EXPECT_TRUE(Says(
      words,
      {"plugin 'fixture' (task qa, while running pass q0): mat1 and mat2 shapes",
       "\n  columns: picture [2, 3, 2, 2] Byte, words_q0 [2] Long, targets_q0 of 2 rows [",
       "\n  handed in: images [2, 3, 2, 2] ", ", tokens [2, 4] Double", "\n  outputs: y [2, 5] Double"}));
  EXPECT_EQ(words.find("carries"), std::string::npos) << words;
}

TEST(PassShapes, CarriesAreNamedAndWhatTheModelDidNotGiveIsNot) {
  FixtureModel model;
  Fixture canvas = Canvas();
  const auto run = [](const std::string& pass, PassContext& context) -> Sums {
    if (pass == "second") return {{"error", context.Pixels("picture").matmul(at::ones({7, 7}))}};
    const at::Tensor image = context.Forward({context.Image("picture")}, {"image"}).at("image");
    context.Carry("c1", image);
    return {{"error", image.sum()}};
  };
  Fixture fixture(*canvas.info,
                  {.sample = [&](const RowRange& rows) { return canvas.task->Sample(rows); }, .run = run});
  const std::string words = PassFails(fixture, model);
  EXPECT_TRUE(
      Says(words, {"(task canvas, while running pass second): ", "\n  carries: c1 [2, 3, 2, 2] Double"}));
  EXPECT_EQ(words.find("outputs"), std::string::npos) << words;
  EXPECT_EQ(words.find("handed in"), std::string::npos) << words;
}

// An Error of a task's own says what it wants to say.
TEST(PassShapes, ATasksOwnErrorIsLeftAsItIs) {
  FixtureModel model;
  const auto run = [](const std::string&, PassContext&) -> Sums { throw Error("no such thing"); };
  Fixture fixture(QaInfo("qa", 1),
                  {.sample = [](const RowRange& rows) { return QaRows(rows, 1); }, .run = run});
  EXPECT_EQ(PassFails(fixture, model), "plugin 'fixture' (task qa, while running pass q0): no such thing");
}

}  // namespace
}  // namespace medley
