#include <gtest/gtest.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// A task of two passes that does what its spec says, but for what a test changes.
struct Odd {
  TaskInfo info = QaInfo("odd", 2);
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = QaPass};

  std::string Message() const {
    FixtureModel model;
    Fixture fixture(info, script);
    StepExecutor executor(model, at::kCPU);
    const std::string message = MessageOf([&] { executor.CheckContract(*fixture.task, fixture.Rows(1, 1)); });
    for (const Parameter& parameter : model.parameters()) EXPECT_FALSE(parameter.tensor.grad().defined());
    return message;
  }
  // Passes run as before, with something more.
  void Also(std::function<void(const std::string& pass, PassContext&, Sums&)> more) {
    script.run = [more](const std::string& pass, PassContext& context) {
      Sums sums = QaPass(pass, context);
      more(pass, context, sums);
      return sums;
    };
  }
};

TEST(Contract, ATaskThatDoesWhatItsSpecSaysPasses) {
  EXPECT_EQ(Odd().Message(), "nothing was thrown");
  FixtureModel model;
  Fixture canvas = Canvas();
  StepExecutor executor(model, at::kCPU);
  EXPECT_NO_THROW(executor.CheckContract(*canvas.task, canvas.Rows(0, 1)));
}

TEST(Contract, ASecondForwardNamesBothNumbers) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) {
    context.Forward({context.Image("picture")}, {"y"});
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q0'", "2 forwards", "exactly 1"}));
}

TEST(Contract, APassWithoutAForwardIsRefused) {
  Odd odd;
  odd.script.run = [](const std::string& pass, PassContext& context) -> Sums {
    if (pass == "q1") return {};
    return QaPass(pass, context);
  };
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "0 forwards", "exactly 1"}));
}

TEST(Contract, AnUndeclaredConstantIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) { context.Constant("replies"); });
  EXPECT_TRUE(Says(odd.Message(), {"'replies'", "declared: table"}));
}

TEST(Contract, AConstantThatIsNeverUsedIsADifference) {
  Odd odd;
  odd.info.constants.push_back({.name = "spare", .rows = 6, .width = kWords, .dtype = "float32"});
  EXPECT_TRUE(Says(odd.Message(), {"'spare'", "asked for: table"}));
}

TEST(Contract, AnotherPictureThanDeclaredNamesBoth) {
  Odd odd;
  odd.info.variants[0].passes[1].images = {"portrait"};
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "'picture'", "portrait"}));
}

TEST(Contract, ADeclaredPictureThatIsNotReadIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[1].images = {"picture", "second"};
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "picture, second", "but it was picture"}));
}

TEST(Contract, APictureThatIsNoColumnIsADifference) {
  Odd odd;
  odd.script.run = [](const std::string& pass, PassContext& context) -> Sums {
    const at::Tensor words =
        context.Constant("table").index_select(0, context.batch().Column("words_" + pass));
    const at::Tensor y = context
                             .Forward({{.name = "images", .tensor = context.Pixels("picture"), .key = ""},
                                       {.name = "tokens", .tensor = words, .key = ""}},
                                      {"y"})
                             .at("y");
    return {{"answer", y.sum()}, {"size", y.sum()}};
  };
  EXPECT_TRUE(Says(odd.Message(), {"picture", "no column and no carry"}));
}

TEST(Contract, AMissingTermIsADifference) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums.erase("size"); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "returned by no pass"}));
}

TEST(Contract, ATermWithoutAGradientIsADifferenceUnlessItsWeightIs0) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["size"] = sums["size"].detach(); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "with a graph", "weight 0"}));
  odd.info.variants[0].terms[1].weight = 0;
  EXPECT_EQ(odd.Message(), "nothing was thrown");
  Odd half;  // one pass that teaches it is enough
  half.Also([](const std::string& pass, PassContext&, Sums& sums) {
    if (pass == "q0") sums["size"] = sums["size"].detach();
  });
  EXPECT_EQ(half.Message(), "nothing was thrown");
}

TEST(Contract, AnUndeclaredTermIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["extra"] = sums["size"]; });
  EXPECT_TRUE(Says(odd.Message(), {"'extra'", "answer, size"}));
}

TEST(Contract, ATermMustBeOneSum) {
  Odd odd;
  odd.Also([](const std::string&, PassContext&, Sums& sums) { sums["size"] = sums["size"].expand({3}); });
  EXPECT_TRUE(Says(odd.Message(), {"'size'", "[3]", "one floating-point sum"}));
}

TEST(Contract, AnUndeclaredCarryIsRefused) {
  Odd odd;
  odd.Also([](const std::string&, PassContext& context, Sums&) { context.Carry("state", at::ones({1, 2})); });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "declared: none"}));
}

TEST(Contract, ACarryHasRowsFirst) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums&) {
    if (pass == "q0") context.Carry("state", at::ones({4, 2}));
  });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "1 rows", "[4, 2]"}));
}

TEST(Contract, ACarryThatNobodyReadsIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].reshape({1}));
  });
  EXPECT_TRUE(Says(odd.Message(), {"'state'", "read by no pass"}));
}

TEST(Contract, ADetachedCarryIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].detach().reshape({1}));
    if (pass == "q1") sums["size"] = sums["size"] + context.Carried("state").sum();
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1'", "'state'", "no gradient"}));
}

TEST(Contract, ATensorHiddenInAMemberNamesBothPasses) {
  Odd odd;
  auto hidden = std::make_shared<at::Tensor>();
  odd.Also([hidden](const std::string& pass, PassContext&, Sums& sums) {
    if (pass == "q0") *hidden = sums["size"] * 2;
    if (pass == "q1") sums["size"] = sums["size"] + *hidden;
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1' depends on pass 'q0'", "no declared carry"}));
}

TEST(Contract, ACarryDoesNotExcuseAnotherTensorOfThatPass) {
  Odd odd;
  auto hidden = std::make_shared<at::Tensor>();
  odd.info.variants[0].passes[0].carries = {"state"};
  odd.Also([hidden](const std::string& pass, PassContext& context, Sums& sums) {
    if (pass == "q0") context.Carry("state", sums["size"].reshape({1}));
    if (pass == "q0") *hidden = sums["answer"] * 2;
    if (pass == "q1") sums["size"] = sums["size"] + context.Carried("state").sum() + *hidden;
  });
  EXPECT_TRUE(Says(odd.Message(), {"'q1' depends on pass 'q0'"}));
}

TEST(Contract, ATextWiderThanDeclaredIsADifference) {
  Odd odd;
  odd.info.variants[0].passes[0].text_width = kWords - 1;
  EXPECT_TRUE(Says(odd.Message(), {"'q0'", "at most 3", "was 4"}));
}

TEST(Contract, AnUndeclaredModelInputOrOutputIsADifference) {
  Odd odd;
  odd.info.inputs = {"images"};
  EXPECT_TRUE(Says(odd.Message(), {"model inputs", "tokens"}));
  Odd picture;
  picture.info.variants[0].passes[0].decodes_image = true;
  EXPECT_TRUE(Says(picture.Message(), {"asks the model for a picture", "yes", "no"}));
}

TEST(Contract, AnInputThatTheModelLacksListsThoseThatItHas) {
  Odd odd;
  odd.script.run = [](const std::string&, PassContext& context) -> Sums {
    context.Forward({{.name = "frames", .tensor = at::ones({1}), .key = ""}}, {"y"});
    return {};
  };
  EXPECT_TRUE(Says(odd.Message(), {"'frames'", "images, tokens"}));
  odd.script.run = [](const std::string&, PassContext& context) -> Sums {
    context.Forward({context.Image("picture")}, {"logits"});
    return {};
  };
  EXPECT_TRUE(Says(odd.Message(), {"'logits'", "y, image"}));
}

TEST(Contract, ItemsMustBeCountedAndWithinTheSpec) {
  Odd odd;
  odd.script.sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.SetItems("answer", at::ones({rows.count}, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"no items", "'size'"}));
  odd.script.sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.SetItems("answer", at::full({rows.count}, 19, at::kLong));
    batch.SetItems("size", at::ones({rows.count}, at::kLong));
    return batch;
  };
  EXPECT_TRUE(Says(odd.Message(), {"19 items", "0 to 18"}));
}

}  // namespace
}  // namespace medley
